#include "gpu_worker/child/sandbox/landlock.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "gpu_worker/child/sandbox/sandboxed.h"

namespace kq::sandbox {
namespace {

namespace fs = std::filesystem;

// Runs a child that has only Landlock and resource limits, over the host's files.
class Landlock : public testing::Test {
 protected:
  void SetUp() override {
    abi_ = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1);
    if (abi_ < 1) GTEST_SKIP() << "this kernel has no Landlock: " << std::strerror(errno);
    home_ = fs::temp_directory_path() / ("kq-landlock-" + std::to_string(::getpid()));
    for (const char* name : {"src", "out", "work"}) fs::create_directories(home_ / name);
    std::ofstream(home_ / "secret") << "secret";
    std::ofstream(home_ / "src/a.py") << "source";
  }
  void TearDown() override {
    if (!home_.empty()) fs::remove_all(home_);
  }

  std::string run(const std::function<std::string()>& job) {
    const std::string view = kTestView + "ro\t" + (home_ / "src").string() + "\t/kq/src\nrw\t" +
                             (home_ / "out").string() + "\t/kq/out\nwork\t" + (home_ / "work").string() + "\n";
    const Sandboxed result =
        sandbox::run({.uid = 0, .wanted = kLandlock | kRlimits, .host_bytes = 64u << 20, .view = view}, true, job);
    EXPECT_EQ(result.error, "");
    EXPECT_EQ(to_string(result.layers), "rlimits,landlock");
    return result.said;
  }

  static std::string reads(const fs::path& path) { return std::ifstream(path).get() == EOF ? "no" : "read"; }
  static std::string writes(const fs::path& path) { return std::ofstream(path) ? "written" : "no"; }

  long abi_ = 0;
  fs::path home_;
};

TEST_F(Landlock, reads_only_files_of_the_plan) {
  EXPECT_EQ(run([&] { return reads(home_ / "src/a.py"); }), "read");
  EXPECT_EQ(run([&] { return reads("/etc/passwd"); }), "read");
  EXPECT_EQ(run([&] { return reads(home_ / "secret"); }), "no");
  EXPECT_EQ(run([&] { return reads("/etc/hostname"); }), "no");
}

TEST_F(Landlock, writes_only_to_writable_entries_of_the_plan) {
  EXPECT_EQ(run([&] { return writes(home_ / "out/a") + " " + writes(home_ / "work/b"); }), "written written");
  EXPECT_EQ(
      run([&] { return writes(home_ / "src/b") + " " + writes(home_ / "c") + " " + writes("/tmp/kq-landlock-d"); }),
      "no no no");
  EXPECT_EQ(run([&] { return writes("/dev/null"); }), "written");
}

TEST_F(Landlock, may_name_its_threads_as_the_cuda_driver_does) {
  EXPECT_EQ(run([] { return writes("/proc/self/comm"); }), "written");
}

TEST_F(Landlock, refuses_tcp) {
  if (abi_ < 4) GTEST_SKIP() << "Landlock of version " << abi_ << " does not know TCP";
  EXPECT_EQ(run([] {
              const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
              sockaddr_in address{};
              address.sin_family = AF_INET;
              address.sin_port = htons(9);
              address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
              const int connected = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
              return std::string(connected < 0 && errno == EACCES ? "refused by Landlock" : "no");
            }),
            "refused by Landlock");
}

TEST_F(Landlock, refuses_signals_to_processes_outside) {
  if (abi_ < 6) GTEST_SKIP() << "Landlock of version " << abi_ << " does not know signals";
  const pid_t test = ::getpid();
  EXPECT_EQ(run([&] { return std::string(::kill(test, 0) < 0 && errno == EPERM ? "no" : "yes"); }), "no");
}

}  // namespace
}  // namespace kq::sandbox
