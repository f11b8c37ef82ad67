#include "broker/shell/lock_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

namespace kq::broker {
namespace {

class LockFileTest : public testing::Test {
 protected:
  LockFileTest() { std::filesystem::create_directories(dir); }
  ~LockFileTest() override { std::filesystem::remove_all(dir); }

  const std::filesystem::path dir =
      std::filesystem::temp_directory_path() / ("kq_lock_file_test." + std::to_string(getpid()));
  const std::string path = dir / "store.lock";
};

TEST_F(LockFileTest, one_holder_at_a_time) {
  {
    const auto first = LockFile::take(path, "store s");
    ASSERT_TRUE(first);
    const auto second = LockFile::take(path, "store s");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error(),
              (Error{ErrorKind::bad_input, "store s is in use by another kq-broker; " + path + " is locked"}));
  }
  EXPECT_TRUE(LockFile::take(path, "store s"));
}

TEST_F(LockFileTest, a_place_that_cannot_be_written_is_said_so) {
  const auto lock = LockFile::take(dir / "no" / "such", "store s");
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace kq::broker
