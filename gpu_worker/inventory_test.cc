#include "gpu_worker/inventory.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kq::worker {
namespace {

TEST(Inventory, is_written_as_json) {
  const Inventory inventory{
      .devices =
          {{.kind = DeviceKind::cuda, .model = "NVIDIA H200", .uuid = "GPU-1", .arch = "sm_90", .memory_bytes = 5}},
      .failures = {"no second one"},
      .software = {.kq = "", .python = "3.11.2", .torch = "2.11.0", .triton = "3.6.0", .cuda = "13.0"},
      .sandbox = "uid,user,pid,mount,ipc,net,uts,rlimits,seccomp",
      .backends = {Backend::torch, Backend::triton}};
  const auto written = nlohmann::json::parse(to_json(inventory));
  EXPECT_EQ(written["devices"][0]["model"], "NVIDIA H200");
  EXPECT_EQ(written["failures"], nlohmann::json({"no second one"}));
  EXPECT_EQ(written["software"]["torch"], "2.11.0");
  EXPECT_EQ(written["sandbox"].size(), 9u);
  EXPECT_EQ(written["sandbox_missing"], nlohmann::json({"landlock", "cgroup"}));
  EXPECT_EQ(written["backends"], nlohmann::json({"torch", "triton"}));
}

TEST(Inventory, resource_limits_alone_are_no_sandbox) {
  EXPECT_TRUE(lacks_sandbox("rlimits"));
  EXPECT_TRUE(lacks_sandbox("rlimits,watchdog"));
  EXPECT_TRUE(lacks_sandbox(""));
  EXPECT_FALSE(lacks_sandbox("rlimits,seccomp"));
}

TEST(Inventory, a_start_fails_for_the_first_failure_or_a_missing_sandbox) {
  const auto failure = [](std::vector<std::string> failures, const std::string& sandbox, bool is_insecure = false) {
    return startup_failure(
               {.devices = {}, .failures = std::move(failures), .software = {}, .sandbox = sandbox, .backends = {}},
               is_insecure)
        .value_or("none");
  };
  EXPECT_EQ(failure({"no cuda device 0 here"}, ""), "no cuda device 0 here");
  EXPECT_EQ(failure({}, "uid,seccomp"), "none");
  EXPECT_EQ(failure({"a way out"}, "uid,seccomp"), "a way out");
  EXPECT_EQ(failure({"a way out"}, "rlimits"), kNoSandbox);
  EXPECT_EQ(failure({}, "rlimits", true), "none");
}

TEST(Inventory, a_lane_that_cannot_be_opened_is_a_failure) {
  const Inventory inventory = take_inventory({{.device = DeviceKind::cpu,
                                               .index = 0,
                                               .worker = "w",
                                               .judge_program = "/nonsense/kq-judge",
                                               .zygote = {.python = "/nonsense/python",
                                                          .harness = "/nonsense",
                                                          .stub = "/nonsense",
                                                          .device = DeviceKind::cpu},
                                               .scratch = testing::TempDir() + "kq-self-test",
                                               .first_uid = 0,
                                               .limits = {}}});
  EXPECT_TRUE(inventory.devices.empty());
  ASSERT_EQ(inventory.failures.size(), 1u);
  EXPECT_EQ(inventory.sandbox, "");
}

}  // namespace
}  // namespace kq::worker
