#include "producer/overview/worker_state.h"

#include <gtest/gtest.h>

namespace kq::producer {
namespace {

constexpr std::int64_t kNowMs = 1'000'000;

WorkerStatus worker(const std::string& name) {
  return {.worker = name, .devices = {{.model = "NVIDIA H200", .uuid = "", .arch = ""}}, .last_seen_ms = kNowMs};
}

TEST(WorkerState, is_what_an_operator_must_know_first) {
  WorkerStatus one = worker("w");
  EXPECT_EQ(state_of(one, kNowMs), "idle");
  one.running = 1;
  EXPECT_EQ(state_of(one, kNowMs), "busy");
  one.draining = true;
  EXPECT_EQ(state_of(one, kNowMs), "draining");
  EXPECT_EQ(state_of(one, kNowMs + 60'000), "silent");
  one.devices.clear();
  one.quarantined = {"GPU 0: ECC errors"};
  EXPECT_EQ(state_of(one, kNowMs), "quarantined");
  EXPECT_LT(rank_of(one, kNowMs), rank_of(worker("v"), kNowMs));
}

TEST(WorkerState, a_device_without_a_model_has_the_name_of_its_kind) {
  EXPECT_EQ(model_of({.model = "NVIDIA H200", .uuid = "", .arch = ""}), "NVIDIA H200");
  EXPECT_EQ(model_of({.kind = DeviceKind::cpu, .model = "", .uuid = "", .arch = ""}), "cpu");
  EXPECT_EQ(model_of({.model = "NVIDIA H200", .uuid = "", .arch = "", .device_count = 2}), "lane of 2 NVIDIA H200");
}

}  // namespace
}  // namespace kq::producer
