#include "sys/file_lock.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>

namespace kq::sys {
namespace {

namespace fs = std::filesystem;

class FileLockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }

  const fs::path dir_ = testing::TempDir() + "kq-file-lock-" + std::to_string(::getpid());
  const std::string path_ = dir_ / "lock";
};

TEST_F(FileLockTest, has_one_holder_at_a_time_and_names_the_holder) {
  {
    const auto first = FileLock::take(path_, "first\n");
    ASSERT_TRUE(first) << first.error().message;
    ASSERT_TRUE(*first);
    const auto second = FileLock::take(path_, "second\n");
    ASSERT_TRUE(second);
    EXPECT_FALSE(*second);
    EXPECT_EQ(FileLock::holder_of(path_), "first");
  }
  const auto third = FileLock::take(path_, "3\n");
  ASSERT_TRUE(third && *third);
  EXPECT_EQ(FileLock::holder_of(path_), "3");
}

TEST_F(FileLockTest, the_umask_does_not_keep_other_users_from_taking_the_lock) {
  const mode_t before = ::umask(077);
  const auto lock = FileLock::take(path_, "first\n");
  ::umask(before);
  ASSERT_TRUE(lock && *lock);
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms(0666));
}

TEST_F(FileLockTest, the_caller_chooses_the_mode_of_the_file) {
  const auto lock = FileLock::take(path_, "first\n", 0644);
  ASSERT_TRUE(lock && *lock);
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms(0644));
}

TEST_F(FileLockTest, refuses_links_and_pipes_and_does_not_write_through_them) {
  const fs::path precious = dir_ / "precious";
  ASSERT_TRUE(FileLock::take(precious, "precious\n"));
  fs::create_symlink(precious, path_);
  EXPECT_FALSE(FileLock::take(path_, "no\n"));
  fs::remove(path_);
  fs::create_hard_link(precious, path_);
  EXPECT_FALSE(FileLock::take(path_, "no\n"));
  EXPECT_EQ(FileLock::holder_of(precious), "precious");
  fs::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0666), 0);
  EXPECT_FALSE(FileLock::take(path_, "no\n")) << "a pipe is refused without waiting";
}

TEST_F(FileLockTest, the_name_of_the_holder_is_untrusted_text) {
  const auto lock = FileLock::take(path_, "a\x1b[2J name\nsecond line");
  ASSERT_TRUE(lock && *lock);
  EXPECT_EQ(FileLock::holder_of(path_).find('\x1b'), std::string::npos);
  EXPECT_EQ(FileLock::holder_of(path_).find("second"), std::string::npos);
  EXPECT_EQ(FileLock::holder_of(dir_ / "none"), "");
}

}  // namespace
}  // namespace kq::sys
