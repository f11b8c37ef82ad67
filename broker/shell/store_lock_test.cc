#include "broker/shell/store_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace kq::broker {
namespace {

class StoreLockTest : public testing::Test {
 protected:
  StoreLockTest() { std::filesystem::create_directories(dir); }
  ~StoreLockTest() override { std::filesystem::remove_all(dir); }

  const std::filesystem::path dir =
      std::filesystem::temp_directory_path() / ("kq_store_lock_test." + std::to_string(getpid()));
  const std::string store = dir / "s";
};

TEST_F(StoreLockTest, a_store_has_one_broker_at_a_time) {
  {
    const auto first = lock_store(store);
    ASSERT_TRUE(first);
    const auto second = lock_store(store + "/");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error(), (Error{ErrorKind::bad_input, "store " + store + "/ is in use by another kq-broker; " +
                                                               store + ".lock is locked"}));
  }
  EXPECT_TRUE(lock_store(store));
}

TEST_F(StoreLockTest, parent_directories_are_created) {
  EXPECT_TRUE(lock_store(dir / "new" / "s"));
}

TEST_F(StoreLockTest, a_parent_that_is_a_file_is_reported) {
  std::ofstream(dir / "file") << "";
  const auto lock = lock_store(dir / "file" / "s");
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().kind, ErrorKind::bad_input);
}

TEST_F(StoreLockTest, an_ipc_address_has_one_broker_at_a_time) {
  const std::string url = "ipc://" + (dir / "broker").string();
  const auto first = lock_address(url);
  ASSERT_TRUE(first && *first);
  const auto second = lock_address(url);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, url + " is in use by another kq-broker; " + url.substr(6) + ".lock is locked");
}

TEST_F(StoreLockTest, a_lock_that_cannot_be_written_is_reported) {
  const auto lock = lock_address("ipc://" + (dir / "no" / "broker").string());
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().kind, ErrorKind::bad_input);
  EXPECT_TRUE(
      lock.error().message.ends_with("; the lock of ipc://" + (dir / "no" / "broker").string() + " must be writable"))
      << lock.error().message;
}

TEST_F(StoreLockTest, a_tcp_address_needs_no_lock) {
  const auto lock = lock_address("tcp://127.0.0.1:5570");
  ASSERT_TRUE(lock);
  EXPECT_FALSE(*lock);
}

}  // namespace
}  // namespace kq::broker
