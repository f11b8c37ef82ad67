#include "gpu_worker/machine/whole_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

class WholeFileTest : public testing::Test {
 protected:
  WholeFileTest() { fs::create_directories(dir_); }
  ~WholeFileTest() override {
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }
  const fs::path dir_ = fs::temp_directory_path() / ("kq-whole-file-" + std::to_string(::getpid()));
};

TEST_F(WholeFileTest, replaces_a_file_and_has_the_wanted_mode) {
  const mode_t kept = ::umask(077);
  ASSERT_TRUE(write_whole_file(dir_ / "a", "old", 0644));
  ASSERT_TRUE(write_whole_file(dir_ / "a", "new", 0644));
  ::umask(kept);
  std::ifstream file(dir_ / "a");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "new");
  EXPECT_EQ(fs::status(dir_ / "a").permissions(), fs::perms(0644));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), {}), 1) << "nothing else is left";
}

TEST_F(WholeFileTest, leaves_nothing_where_it_fails) {
  fs::create_directories(dir_ / "a" / "full");
  EXPECT_FALSE(write_whole_file(dir_ / "a", "text", 0644)) << "a directory is in the way";
  EXPECT_FALSE(write_whole_file(dir_ / "gone" / "a", "text", 0644));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), {}), 1);
}

}  // namespace
}  // namespace kq::worker
