#include "producer/gateway/job_id.h"

#include <gtest/gtest.h>

namespace kq::gateway {
namespace {

TEST(JobId, an_id_names_number_run_and_label) {
  for (const JobId& id :
       {JobId{1, "r", "l"}, JobId{987654321, "sweep/1", "level_1_problem_3"}, JobId{7, "lauf ä", "x"}}) {
    const auto parsed = JobId::parse(id.text());
    ASSERT_TRUE(parsed) << id.text();
    EXPECT_EQ(*parsed, id);
  }
  EXPECT_EQ((JobId{17, "evaluate", "abc"}.text()), "17.ZXZhbHVhdGUAYWJj");
}

TEST(JobId, other_texts_are_no_ids) {
  const std::string good = JobId{17, "evaluate", "ab"}.text();
  for (const std::string& text :
       {std::string(), std::string("17"), std::string("17."), std::string(".ZXZhbHVhdGUAYWJj"), "0" + good, "-" + good,
        good + "=", good + "!", std::string("17.AAAA"), std::string("99999999999999999999.cgBs"),
        std::string("17.cgBt_w")})
    EXPECT_FALSE(JobId::parse(text)) << text;
  EXPECT_EQ(JobId::parse("17").error().message,
            "the number of a job is no id; GET /api/v1/search?q=17 has the ids of job 17");
}

// The last digit of base64 may hold bits that no byte has; only one of the spellings is an id.
TEST(JobId, one_job_has_one_id) {
  const std::string good = JobId{17, "r", "ab"}.text();
  std::size_t count = 0;
  for (const char digit : std::string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")) {
    const auto parsed = JobId::parse(good.substr(0, good.size() - 1) + digit);
    if (parsed && *parsed == JobId{17, "r", "ab"}) ++count;
  }
  EXPECT_EQ(count, 1u);
}

}  // namespace
}  // namespace kq::gateway
