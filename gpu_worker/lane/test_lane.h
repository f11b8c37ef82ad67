// One lane on the CPU that all tests of a program share, with a real judge, zygote and children. Opening it takes
// seconds, because its zygote imports torch.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "gpu_worker/lane/lane.h"
#include "sys/process.h"

namespace kq::worker {

class TestLane {
 public:
  // Opens the lane at the first call. It is closed when the program ends.
  static Expected<TestLane*> get() {
    static TestLane tests;
    if (!tests.lane_) {
      std::filesystem::create_directories(root() / "built");
      ::setenv("KQ_TEST_SECRET", "of the worker", 1);
      KQ_TRY_VALUE(auto opened, Lane::open(options()));
      tests.lane_ = std::move(opened);
    }
    return &tests;
  }
  static std::filesystem::path root() {
    return std::filesystem::temp_directory_path() / ("kq-lane-" + std::to_string(::getpid()));
  }
  static LaneOptions options() {
    const std::string programs = sys::program_directory();
    const char* named = std::getenv("KQ_PYTHON");
    Limits limits;
    limits.first_launch_limit_ms = 0;
    limits.call_limit_ms = 4'000;
    limits.load_limit_ms = 20'000;
    return {.device = DeviceKind::cpu,
            .index = 0,
            .worker = "test",
            .judge_program = programs + "/kq-judge",
            .zygote = {.python = named != nullptr ? named : KQ_TEST_PYTHON,
                       .harness = programs + "/../share/kq/harness",
                       .stub = programs + "/../lib/kq/libkqstub.so",
                       .device = DeviceKind::cpu,
                       .device_index = 0},
            .scratch = root() / "scratch",
            .first_uid = ::geteuid() == 0 ? 61100u : 0u,
            .limits = limits,
            .certificates = root() / "certificates"};
  }
  Lane& lane() { return *lane_; }

  // Returns the process that forks the zygote's children. Under the shared Python of tests/warm_python.py the process
  // that the lane started only waits for a fork of that Python, and the fork is the zygote.
  static int forking_process(const Zygote& zygote) {
    const std::filesystem::path python = options().zygote.python;
    const auto link = python.parent_path().parent_path() / "forks" / std::to_string(zygote.process());
    std::error_code no_link;
    const auto fork = std::filesystem::read_symlink(link, no_link);
    return no_link ? zygote.process() : std::stoi(fork.string());
  }

  ~TestLane() {
    lane_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(root(), ignored);
  }

 private:
  std::unique_ptr<Lane> lane_;
};

}  // namespace kq::worker
