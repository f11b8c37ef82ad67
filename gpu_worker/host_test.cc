#include "gpu_worker/host.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>

namespace kq {
namespace {

namespace fs = std::filesystem;

class HostTest : public ::testing::Test {
 protected:
  HostTest() : root_(fs::temp_directory_path() / ("kq-host-" + std::to_string(::getpid()))) { fs::create_directories(root_); }
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

TEST_F(HostTest, is_read_from_where_linux_tells) {
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

TEST_F(HostTest, the_driver_tells_its_version_in_a_container_as_well) {
  put("proc/driver/nvidia/version",
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (dvs)  Sun Jul 27 2025\nGCC version:  gcc version 12.2.0\n");
  EXPECT_EQ(host().driver, "580.65.06");
}

TEST_F(HostTest, what_is_not_there_stays_empty) {
  EXPECT_EQ(host(), Host{});
}

TEST_F(HostTest, knows_who_started_it_and_in_what) {
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

}  // namespace
}  // namespace kq
