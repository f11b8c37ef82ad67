#include "gpu_worker/machine/host.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

class HostTest : public ::testing::Test {
 protected:
  HostTest() : root_(fs::temp_directory_path() / ("kq-host-" + std::to_string(::getpid()))) {
    fs::create_directories(root_);
  }
  ~HostTest() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  Host host() {
    return host_below(root_, [this](const char* name) { return environment_[name]; });
  }

  fs::path root_;
  std::map<std::string, std::string> environment_;
};

TEST_F(HostTest, is_read_from_proc_sys_and_etc) {
  put("proc/cpuinfo", "processor\t: 0\nmodel name\t: Fast 9000\n");
  put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  put("etc/os-release", "NAME=Some\nPRETTY_NAME=\"Some Linux 12 (late)\"\n");
  put("sys/module/nvidia/version", "580.65.06\n");
  const Host host = this->host();
  EXPECT_EQ(host.cpu, "Fast 9000");
  EXPECT_EQ(host.governor, "performance");
  EXPECT_EQ(host.distro, "Some Linux 12 (late)");
  EXPECT_EQ(host.driver, "580.65.06");
}

TEST_F(HostTest, the_drivers_version_is_read_from_proc_in_a_container) {
  put("proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (dvs)  Sun Jul 27 2025\nGCC "
      "version:  gcc version 12.2.0\n");
  EXPECT_EQ(host().driver, "580.65.06");
}

TEST_F(HostTest, missing_facts_stay_empty) {
  EXPECT_EQ(host(), Host{});
}

TEST_F(HostTest, has_the_scheduler_and_the_container) {
  environment_ = {{"SLURM_JOB_ID", "4711"}, {"container", "lxc"}};
  EXPECT_EQ(host(), (Host{.container = "lxc", .scheduler = "slurm", .scheduled_as = "4711"}));
  environment_ = {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"HOSTNAME", "kq-worker-7"}};
  EXPECT_EQ(host(), (Host{.container = "kubernetes", .scheduler = "kubernetes", .scheduled_as = "kq-worker-7"}));
  environment_ = {};
  put(".dockerenv", "");
  EXPECT_EQ(host().container, "docker");
}

TEST(this_host, has_a_name_cores_and_a_kernel) {
  const Host host = this_host();
  EXPECT_NE(host.name, "");
  EXPECT_GT(host.cores, 0u);
  EXPECT_NE(host.kernel, "");
  EXPECT_TRUE(host.libc.starts_with("glibc ")) << host.libc;
}

// ---- memory ----

constexpr std::uint64_t kGiB = 1ull << 30;

TEST_F(HostTest, has_the_memory_of_its_machine_without_a_limit) {
  put("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\n");
  EXPECT_EQ(usable_memory_bytes(root_), 16 * kGiB);
  put("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(usable_memory_bytes(root_), 16 * kGiB) << "the root group has no limit";
  put("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(usable_memory_bytes(root_), 16 * kGiB);
  EXPECT_GT(usable_memory_bytes(), 0u) << "this machine has memory";
}

TEST_F(HostTest, has_the_smallest_limit_of_its_control_group_and_those_above_it) {
  put("proc/meminfo", "MemTotal:       16777216 kB\n");
  put("proc/self/cgroup", "0::/pod/worker\n");
  put("sys/fs/cgroup/pod/worker/memory.max", "max\n");
  put("sys/fs/cgroup/pod/memory.max", "4294967296\n");
  EXPECT_EQ(usable_memory_bytes(root_), 4 * kGiB);
  put("sys/fs/cgroup/pod/worker/memory.max", "2147483648\n");
  EXPECT_EQ(usable_memory_bytes(root_), 2 * kGiB);
  put("sys/fs/cgroup/pod/worker/memory.max", "1099511627776\n");
  EXPECT_EQ(usable_memory_bytes(root_), 4 * kGiB) << "a larger limit has no effect";
}

TEST_F(HostTest, has_the_limit_of_its_group_of_version_1) {
  put("proc/meminfo", "MemTotal:       16777216 kB\n");
  put("proc/self/cgroup", "12:pids:/docker/7\n4:cpu,memory:/docker/7\n0::/\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes",
      "3221225472\n");  // a container's own group, which /proc shows by its path on the host
  EXPECT_EQ(usable_memory_bytes(root_), 3 * kGiB);
  put("sys/fs/cgroup/memory/docker/7/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(usable_memory_bytes(root_), 3 * kGiB);
}

TEST_F(HostTest, a_group_outside_of_the_visible_hierarchy_has_no_limit) {
  put("proc/meminfo", "MemTotal:       16777216 kB\n");
  put("proc/self/cgroup", "0::/../../other\nnonsense\n");
  put("sys/fs/cgroup/memory.max", "1073741824\n");
  EXPECT_EQ(usable_memory_bytes(root_), kGiB);
}

}  // namespace
}  // namespace kq::worker
