#include "gpu_worker/inventory.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kq::worker {
namespace {

TEST(Inventory, says_what_there_is_and_what_is_missing) {
  const Inventory inventory{
      .devices =
          {{.kind = DeviceKind::cuda, .model = "NVIDIA H200", .uuid = "GPU-1", .arch = "sm_90", .memory_bytes = 5}},
      .failures = {"no second one"},
      .software = {.kq = "", .python = "3.11.2", .torch = "2.11.0", .triton = "3.6.0", .cuda = "13.0"},
      .sandbox = "uid,user,pid,mount,ipc,net,uts,rlimits,seccomp",
      .backends = {Backend::torch, Backend::triton}};
  const auto said = nlohmann::json::parse(to_json(inventory));
  EXPECT_EQ(said["devices"][0]["model"], "NVIDIA H200");
  EXPECT_EQ(said["failures"], nlohmann::json({"no second one"}));
  EXPECT_EQ(said["software"]["torch"], "2.11.0");
  EXPECT_EQ(said["sandbox"].size(), 9u);
  EXPECT_EQ(said["sandbox_missing"], nlohmann::json({"landlock", "cgroup"}));
  EXPECT_EQ(said["backends"], nlohmann::json({"torch", "triton"}));
}

TEST(Inventory, limits_alone_are_no_sandbox) {
  EXPECT_TRUE(is_without_sandbox("rlimits"));
  EXPECT_TRUE(is_without_sandbox("rlimits,watchdog"));
  EXPECT_TRUE(is_without_sandbox(""));
  EXPECT_FALSE(is_without_sandbox("rlimits,seccomp"));
}

TEST(Inventory, what_could_not_be_started_is_the_complaint_and_not_a_sandbox_that_nobody_looked_at) {
  const auto complaint = [](std::vector<std::string> failures, const std::string& sandbox, bool is_insecure = false) {
    return complaint_of(
               {.devices = {}, .failures = std::move(failures), .software = {}, .sandbox = sandbox, .backends = {}},
               is_insecure)
        .value_or("none");
  };
  EXPECT_EQ(complaint({"no cuda device 0 here"}, ""), "no cuda device 0 here");
  EXPECT_EQ(complaint({}, "uid,seccomp"), "none");
  EXPECT_EQ(complaint({"a way out"}, "uid,seccomp"), "a way out");
  EXPECT_EQ(complaint({"a way out"}, "rlimits"), kNoSandbox);
  EXPECT_EQ(complaint({}, "rlimits", true), "none");
}

TEST(Inventory, a_lane_that_cannot_be_opened_is_a_sentence) {
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
