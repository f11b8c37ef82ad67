#include "tools/report/jobs/job_details.h"

#include <gmock/gmock.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

TEST(JobDetails, reads_each_file_of_a_group_once) {
  std::vector<Hash> asked;
  const ReadSource read = [&](const RunRow&, const Hash& hash) {
    asked.push_back(hash);
    return Expected<std::optional<std::string>>("x = 1\n");
  };
  JobGroup group;
  ASSERT_TRUE(group.add(passed_row("relu/a", 1'000, 2'000, 1), read));
  ASSERT_TRUE(group.add(passed_row("relu/b", 1'000, 2'000, 2), read));
  EXPECT_EQ(group.size(), 2u);
  EXPECT_EQ(asked.size(), 3u) << "two kernels and their problem";
  EXPECT_FALSE(group.json().empty());
}

TEST(JobDetails, a_file_that_cannot_be_read_ends_the_report) {
  JobGroup group;
  const auto added = group.add(
      passed_row("relu/a", 1'000, 2'000),
      [](const RunRow&, const Hash&) -> Expected<std::optional<std::string>> { return our_fault("damaged"); });
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().message, "damaged");
}

TEST(JobDetails, long_texts_are_cut) {
  RunRow row = passed_row("relu/a", 1'000, 2'000);
  for (std::size_t i = 0; i < 10 * kShownLogBytesMax; ++i) row.result->log += static_cast<char>('!' + i * i % 83);
  JobGroup group;
  ASSERT_TRUE(
      group.add(row, [](const RunRow&, const Hash&) { return Expected<std::optional<std::string>>(std::nullopt); }));
  EXPECT_LT(group.json().size(), 2 * kShownLogBytesMax);
}

}  // namespace
}  // namespace kq::tools
