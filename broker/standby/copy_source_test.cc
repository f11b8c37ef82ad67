#include "broker/standby/copy_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "broker/standby/copy_target.h"
#include "store/temporary_directory.h"

namespace kq::broker {
namespace {

namespace fs = std::filesystem;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CopyTest, files_arrive_as_they_were_and_the_old_store_is_kept) {
  const store::TemporaryDirectory directory;
  const std::string from = directory.path() + "/checkpoint";
  const std::string to = directory.path() + "/store";
  fs::create_directory(from);
  fs::create_directory(to);
  std::ofstream(to + "/CURRENT") << "old";
  std::ofstream(from + "/CURRENT") << "new";
  std::ofstream(from + "/000001.log");
  std::ofstream(from + "/000002.sst") << std::string(2'000, 'x') << "end";
  {
    auto source = CopySource::open(from);
    auto target = CopyTarget::begin(to);
    ASSERT_TRUE(source && target);
    for (;;) {
      const auto part = source->next(1'000);
      ASSERT_TRUE(part);
      if (!*part) break;
      ASSERT_TRUE(target->write((*part)->name, (*part)->offset, (*part)->bytes));
    }
    ASSERT_TRUE(target->finish());
  }
  EXPECT_EQ(content(to + "/CURRENT"), "new");
  EXPECT_EQ(content(to + "/000001.log"), "");
  EXPECT_EQ(content(to + "/000002.sst"), std::string(2'000, 'x') + "end");
  EXPECT_EQ(content(to + ".replaced/CURRENT"), "old");
  EXPECT_FALSE(fs::exists(from)) << "the checkpoint is removed";
}

TEST(CopyTest, a_missing_part_and_a_strange_name_are_refused) {
  const store::TemporaryDirectory directory;
  auto target = CopyTarget::begin(directory.path() + "/store");
  ASSERT_TRUE(target);
  EXPECT_TRUE(target->write("a", 0, "x"));
  EXPECT_FALSE(target->write("a", 2, "z"));
  for (const char* name : {"", "../a", "a/b", ".hidden"}) EXPECT_FALSE(target->write(name, 0, "x")) << name;
}

}  // namespace
}  // namespace kq::broker
