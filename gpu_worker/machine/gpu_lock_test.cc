#include "gpu_worker/machine/gpu_lock.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

const DeviceInfo kGpu{
    .kind = DeviceKind::cuda, .model = "NVIDIA H200", .uuid = "GPU-1", .arch = "sm_90", .memory_bytes = 1};
const DeviceInfo kOther{
    .kind = DeviceKind::cuda, .model = "NVIDIA H200", .uuid = "GPU-2", .arch = "sm_90", .memory_bytes = 1};

class GpuLockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  const fs::path root_ = testing::TempDir() + "kq-gpu-lock-" + std::to_string(::getpid());
  const std::vector<std::string> dirs_{root_ / "run", root_ / "tmp"};
};

TEST_F(GpuLockTest, a_gpu_is_locked_until_its_worker_ends) {
  {
    const auto mine = GpuLock::take(dirs_, kGpu, "rack:7");
    ASSERT_TRUE(mine) << mine.error().message;
    const auto theirs = GpuLock::take(dirs_, kGpu, "rack:8");
    ASSERT_FALSE(theirs);
    EXPECT_EQ(theirs.error().kind, ErrorKind::bad_input);
    EXPECT_NE(theirs.error().message.find("NVIDIA H200 GPU-1 is in use by process " + std::to_string(::getpid()) +
                                          ", kq-worker rack:7"),
              std::string::npos)
        << theirs.error().message;
    EXPECT_TRUE(GpuLock::take(dirs_, kOther, "rack:8")) << "another GPU can be locked";
  }
  EXPECT_TRUE(GpuLock::take(dirs_, kGpu, "rack:8"));
}

TEST_F(GpuLockTest, directories_are_shared_and_have_the_sticky_bit) {
  const mode_t before = ::umask(077);
  const auto lock = GpuLock::take(dirs_, kGpu, "rack:7");
  ::umask(before);
  ASSERT_TRUE(lock);
  for (const std::string& dir : dirs_) EXPECT_EQ(fs::status(dir).permissions(), fs::perms(01777));
}

TEST_F(GpuLockTest, one_common_directory_suffices_to_exclude_each_other) {
  const std::vector<std::string> first_only{dirs_[0]}, second_only{dirs_[1]};
  const auto both = GpuLock::take(dirs_, kGpu, "rack:7");
  ASSERT_TRUE(both);
  EXPECT_FALSE(GpuLock::take(first_only, kGpu, "rack:8"));
  EXPECT_FALSE(GpuLock::take(second_only, kGpu, "rack:8"));
}

TEST_F(GpuLockTest, one_usable_directory_suffices_and_without_any_the_lock_fails) {
  std::ofstream(root_ / "file") << "no directory";
  const std::vector<std::string> one_broken{root_ / "file", dirs_[1]},
      all_broken{root_ / "file", root_ / "no" / "such"};
  EXPECT_TRUE(GpuLock::take(one_broken, kGpu, "rack:7"));
  const auto none = GpuLock::take(all_broken, kGpu, "rack:7");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::our_fault);
}

TEST_F(GpuLockTest, slashes_in_a_uuid_are_replaced_in_the_file_name) {
  DeviceInfo part = kGpu;
  part.uuid = "MIG-GPU-1/1/0";
  ASSERT_TRUE(GpuLock::take(dirs_, part, "rack:7"));
  EXPECT_TRUE(fs::exists(fs::path(dirs_[0]) / "MIG-GPU-1_1_0"));
}

}  // namespace
}  // namespace kq::worker
