#include "gpu_worker/machine/scratch_root.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

class ScratchRootTest : public ::testing::Test {
 protected:
  void SetUp() override { fs::remove_all(state_); }
  void TearDown() override { fs::remove_all(state_); }
  std::ptrdiff_t entries() const { return std::distance(fs::directory_iterator(state_), fs::directory_iterator()); }

  const fs::path state_ = testing::TempDir() + "kq-scratch-root-" + std::to_string(::getpid());
};

TEST_F(ScratchRootTest, is_removed_by_its_destructor_and_unique) {
  {
    const auto one = ScratchRoot::make(state_), other = ScratchRoot::make(state_);
    ASSERT_TRUE(one) << one.error().message;
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_NE(one->dir(), other->dir());
    EXPECT_TRUE(fs::exists(one->dir())) << "the second worker does not remove it";
    EXPECT_EQ(fs::status(one->dir()).permissions(), fs::perms(0755));
  }
  EXPECT_EQ(entries(), 0);
}

TEST_F(ScratchRootTest, the_directory_of_a_killed_worker_is_removed_by_the_next_one) {
  const int worker = ::fork();
  if (worker == 0) {
    const auto root = ScratchRoot::make(state_);
    fs::create_directories(fs::path(root->dir()) / "lane0" / "child1");
    std::_Exit(root ? 0 : 1);  // without destructors, like a killed process
  }
  int status = 0;
  ASSERT_EQ(::waitpid(worker, &status, 0), worker);
  ASSERT_EQ(status, 0);
  fs::create_directories(state_ / "build-cache");
  fs::create_directories(state_ / "scratch-1");  // it has no lock file
  ASSERT_EQ(entries(), 3);
  const auto next = ScratchRoot::make(state_);
  ASSERT_TRUE(next);
  EXPECT_EQ(entries(), 3) << "the new one, the cache and the directory without a lock file";
  EXPECT_TRUE(fs::exists(state_ / "build-cache"));
}

TEST_F(ScratchRootTest, an_unusable_state_directory_is_bad_input_and_names_the_flag) {
  std::ofstream(state_.string()) << "a file";
  const auto none = ScratchRoot::make(state_);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::bad_input);
  EXPECT_NE(none.error().message.find("--state"), std::string::npos);
}

}  // namespace
}  // namespace kq::worker
