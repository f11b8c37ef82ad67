#include "broker/scheduler.h"

#include <gtest/gtest.h>

#include <vector>

namespace kq {
namespace {

const Hash kRelu = sha256("relu");
const Hash kGelu = sha256("gelu");

DeviceInfo device(DeviceKind kind, const std::string& model, std::uint64_t memory_bytes = 80) {
  DeviceInfo info;
  info.kind = kind;
  info.model = model;
  info.memory_bytes = memory_bytes;
  return info;
}

const std::vector<DeviceInfo> kCpu{device(DeviceKind::cpu, "cpu")};
const std::vector<DeviceInfo> kH200{device(DeviceKind::cuda, "H200")};

TEST(Scheduler, takes_the_oldest_of_all_lanes_that_fit) {
  Scheduler scheduler;
  scheduler.add({DeviceWish::cuda, ""}, 5, kRelu);
  scheduler.add({DeviceWish::any, ""}, 7, kRelu);
  scheduler.add({DeviceWish::any, "H200"}, 3, kRelu);
  scheduler.add({DeviceWish::any, "A100"}, 1, kRelu);
  EXPECT_EQ(scheduler.choose({.devices = kH200}), Sequence{3});
  EXPECT_EQ(scheduler.choose({.devices = kCpu}), Sequence{7});
}

TEST(Scheduler, leaves_what_runs_anywhere_to_a_free_gpu) {
  Scheduler scheduler;
  scheduler.add({DeviceWish::any, ""}, 1, kRelu);
  scheduler.add({DeviceWish::cpu, ""}, 2, kRelu);
  EXPECT_EQ(scheduler.choose({.devices = kCpu, .cpu_takes_any = false}), Sequence{2});
  EXPECT_EQ(scheduler.choose({.devices = kCpu, .cpu_takes_any = true}), Sequence{1});
}

TEST(Scheduler, a_job_that_was_too_large_waits_for_more_memory) {
  Scheduler scheduler;
  scheduler.add({DeviceWish::any, "", 80}, 1, kRelu);
  EXPECT_EQ(scheduler.choose({.devices = kH200}), std::nullopt);
  EXPECT_EQ(scheduler.choose({.devices = std::vector{device(DeviceKind::cuda, "H200", 81)}}), Sequence{1});
}

TEST(Scheduler, prefers_the_warm_problem_but_never_for_long) {
  Scheduler scheduler;
  const Requirements lane;
  scheduler.add(lane, 1, kGelu);
  for (Sequence seq = 2; seq < 100; ++seq) scheduler.add(lane, seq, kRelu);
  std::uint32_t passed_by = 0;
  for (;; ++passed_by) {
    const auto seq = scheduler.choose({.devices = kCpu, .warm_problem = kRelu});
    scheduler.remove(lane, *seq);
    if (seq == Sequence{1}) break;
  }
  EXPECT_EQ(passed_by, Scheduler::kPassedByMax);
}

TEST(Scheduler, does_not_search_far_for_the_warm_problem) {
  Scheduler scheduler;
  for (Sequence seq = 1; seq <= Scheduler::kWarmWindow; ++seq) scheduler.add({}, seq, kGelu);
  scheduler.add({}, 1000, kRelu);
  EXPECT_EQ(scheduler.choose({.devices = kCpu, .warm_problem = kRelu}), Sequence{1});
}

TEST(Scheduler, a_job_that_comes_back_takes_its_old_place) {
  Scheduler scheduler;
  scheduler.add({}, 1, kRelu);
  scheduler.add({}, 2, kRelu);
  scheduler.remove({}, 1);
  EXPECT_EQ(scheduler.choose({.devices = kCpu}), Sequence{2});
  scheduler.add({}, 1, kRelu);
  EXPECT_EQ(scheduler.choose({.devices = kCpu}), Sequence{1});
}

TEST(Scheduler, is_empty_when_its_last_job_is_taken) {
  Scheduler scheduler;
  scheduler.add({}, 1, kRelu);
  EXPECT_TRUE(scheduler.contains({}, 1));
  EXPECT_EQ(scheduler.size(), 1u);
  scheduler.remove({}, 1);
  EXPECT_TRUE(scheduler.empty());
  EXPECT_EQ(scheduler.choose({.devices = kCpu}), std::nullopt);
}

}  // namespace
}  // namespace kq
