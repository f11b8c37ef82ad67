#include "broker/tables/scheduler.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace kq::broker {
namespace {

constexpr std::uint64_t kRelu = 1;
constexpr std::uint64_t kGelu = 2;

DeviceInfo device(DeviceKind kind, const std::string& model, std::uint64_t memory_bytes = 80) {
  DeviceInfo info;
  info.kind = kind;
  info.model = model;
  info.memory_bytes = memory_bytes;
  return info;
}

const std::vector<DeviceInfo> kCpu{device(DeviceKind::cpu, "cpu")};
const std::vector<DeviceInfo> kH200{device(DeviceKind::cuda, "H200")};

class SchedulerTest : public testing::Test {
 protected:
  store::LaneId lane(const Requirements& needs, const std::string& submitter = "",
                     Priority priority = Priority::normal) {
    return {.needs = number(scheduler.classes, needs),
            .priority = priority,
            .submitter = number(scheduler.submitters, submitter)};
  }

  template <class Name>
  static std::uint32_t number(Numbering<Name>& names, const Name& name) {
    const auto known = names.find(name);
    return known ? *known : names.add(name);
  }

  void add(const store::LaneId& id, Sequence seq, std::uint64_t problem = kRelu) {
    scheduler.add(id, {.seq = seq, .problem = problem, .submitted_at_ms = static_cast<std::int64_t>(seq)});
  }

  std::optional<Sequence> chosen(const Offer& offer, const Warmth& warmth = {}) {
    const auto place = scheduler.choose(offer, [&](const Requirements&) { return warmth; });
    if (!place) return std::nullopt;
    return place->seq;
  }

  // Leases one job after another, and returns the names of their submitters.
  std::string lease_order(std::size_t n, const std::vector<DeviceInfo>& devices = kCpu) {
    std::string names;
    for (std::size_t i = 0; i < n; ++i) {
      const auto place = scheduler.choose({.devices = devices});
      if (!place) break;
      scheduler.remove(place->lane, place->seq);
      scheduler.charge(place->lane.submitter);
      names += *scheduler.submitters.name(place->lane.submitter);
    }
    return names;
  }

  Scheduler scheduler;
};

TEST_F(SchedulerTest, takes_the_oldest_of_all_lanes_that_fit) {
  add(lane({.wish = DeviceWish::cuda}), 5);
  add(lane({.wish = DeviceWish::any}), 7);
  add(lane({.wish = DeviceWish::any, .gpu_model = "H200"}), 3);
  add(lane({.wish = DeviceWish::any, .gpu_model = "A100"}), 1);
  EXPECT_EQ(chosen({.devices = kH200}), Sequence{3});
  EXPECT_EQ(chosen({.devices = kCpu}), Sequence{7});
}

TEST_F(SchedulerTest, leaves_jobs_for_any_device_to_a_free_gpu) {
  add(lane({.wish = DeviceWish::any}), 1);
  add(lane({.wish = DeviceWish::cpu}), 2);
  EXPECT_EQ(chosen({.devices = kCpu, .cpu_takes_any = false}), Sequence{2});
  EXPECT_EQ(chosen({.devices = kCpu, .cpu_takes_any = true}), Sequence{1});
}

TEST_F(SchedulerTest, a_job_that_was_too_large_needs_more_memory) {
  add(lane({.memory_above_bytes = 80}), 1);
  EXPECT_EQ(chosen({.devices = kH200}), std::nullopt);
  EXPECT_EQ(chosen({.devices = std::vector{device(DeviceKind::cuda, "H200", 81)}}), Sequence{1});
}

TEST_F(SchedulerTest, a_worker_gets_jobs_that_its_labels_and_backends_allow) {
  add(lane({.labels = {"b"}}), 1);
  add(lane({.backend = Backend::triton}), 2);
  const std::vector<std::string> none, some{"a", "b", "c"};
  const std::vector<Backend> torch{Backend::torch};
  EXPECT_EQ(chosen({.devices = kCpu, .labels = none, .backends = torch}), std::nullopt);
  EXPECT_EQ(chosen({.devices = kCpu, .labels = none}), Sequence{2});
  EXPECT_EQ(chosen({.devices = kCpu, .labels = some}), Sequence{1});
}

TEST_F(SchedulerTest, a_worker_with_enough_slow_builds_gets_quick_jobs_of_the_same_priority_first) {
  add(lane({.backend = Backend::torch_cuda}), 1);
  add(lane({.backend = Backend::torch}), 2);
  add(lane({.backend = Backend::torch_cuda}, "", Priority::high), 3);
  EXPECT_EQ(chosen({.devices = kCpu, .prefers_quick = true}), Sequence{3});
  scheduler.remove(lane({.backend = Backend::torch_cuda}, "", Priority::high), 3);
  EXPECT_EQ(chosen({.devices = kCpu}), Sequence{1});
  EXPECT_EQ(chosen({.devices = kCpu, .prefers_quick = true}), Sequence{2});
  scheduler.remove(lane({.backend = Backend::torch}), 2);
  EXPECT_EQ(chosen({.devices = kCpu, .prefers_quick = true}), Sequence{1});
}

TEST_F(SchedulerTest, submitters_take_turns) {
  for (Sequence seq = 1; seq <= 6; ++seq) add(lane({}, "a"), seq);
  for (Sequence seq = 7; seq <= 9; ++seq) add(lane({}, "b"), seq);
  EXPECT_EQ(lease_order(20), "abababaaa");
}

TEST_F(SchedulerTest, turns_are_counted_over_all_lanes_of_a_submitter) {
  for (Sequence seq = 1; seq <= 3; ++seq) add(lane({}, "a"), seq);
  for (Sequence seq = 4; seq <= 6; ++seq) add(lane({.wish = DeviceWish::cpu}, "a"), seq);
  for (Sequence seq = 7; seq <= 12; ++seq) add(lane({}, "b"), seq);
  EXPECT_EQ(lease_order(20), "abababababab");
}

TEST_F(SchedulerTest, a_submitter_that_returns_has_no_claim_for_its_absence) {
  for (Sequence seq = 1; seq <= 9; ++seq) add(lane({}, "a"), seq);
  EXPECT_EQ(lease_order(5), "aaaaa");
  for (Sequence seq = 10; seq <= 12; ++seq) add(lane({}, "b"), seq);
  EXPECT_EQ(lease_order(20), "bababaa");
}

TEST_F(SchedulerTest, leases_on_other_devices_delay_no_submitter) {
  for (Sequence seq = 1; seq <= 100; ++seq) {
    add(lane({.wish = DeviceWish::cuda}, "a"), seq);
    add(lane({.wish = DeviceWish::cpu}, "b"), 100 + seq);
  }
  EXPECT_EQ(lease_order(60, kH200), std::string(60, 'a'));
  EXPECT_EQ(lease_order(3), "bbb");
  add(lane({.wish = DeviceWish::cpu}, "c"), 201);
  add(lane({.wish = DeviceWish::cpu}, "c"), 202);
  EXPECT_EQ(lease_order(4), "bbcb");
  // The same holds for two submitters that both got more leases on other devices.
  add(lane({.wish = DeviceWish::cuda}, "b"), 203);
  add(lane({.wish = DeviceWish::cuda}, "b"), 204);
  EXPECT_EQ(lease_order(4, kH200), "baba");
}

TEST_F(SchedulerTest, a_paused_submitter_has_no_claim_for_the_pause) {
  for (Sequence seq = 1; seq <= 100; ++seq) {
    add(lane({.wish = DeviceWish::cpu}, "a"), seq);
    add(lane({.wish = DeviceWish::cpu}, "b"), 100 + seq);
  }
  scheduler.pause(*scheduler.submitters.find("a"), true);
  EXPECT_EQ(lease_order(50), std::string(50, 'b'));
  scheduler.pause(*scheduler.submitters.find("a"), false);
  EXPECT_EQ(lease_order(6), "aababa");
}

TEST_F(SchedulerTest, a_priority_is_a_head_start_and_no_more) {
  const std::int64_t late_ms = 5 + Scheduler::kHeadStartMs;
  scheduler.add(lane({}, "", Priority::normal), {.seq = 1, .submitted_at_ms = 5});
  scheduler.add(lane({}, "", Priority::high), {.seq = 2, .submitted_at_ms = late_ms});
  EXPECT_EQ(chosen({.devices = kCpu}), Sequence{2}) << "of two equal times the higher priority wins";
  scheduler.remove(lane({}, "", Priority::high), 2);
  scheduler.add(lane({}, "", Priority::high), {.seq = 3, .submitted_at_ms = late_ms + 1});
  EXPECT_EQ(chosen({.devices = kCpu}), Sequence{1});
}

TEST_F(SchedulerTest, a_paused_submitter_keeps_its_place) {
  add(lane({}, "a"), 1);
  add(lane({}, "b"), 2);
  scheduler.pause(lane({}, "a").submitter, true);
  add(lane({}, "a"), 3);
  EXPECT_EQ(lease_order(5), "b");
  scheduler.pause(lane({}, "a").submitter, false);
  EXPECT_EQ(chosen({.devices = kCpu}), Sequence{1});
}

TEST_F(SchedulerTest, prefers_the_warm_problem_a_limited_number_of_times) {
  add(lane({}), 1, kGelu);
  for (Sequence seq = 2; seq < 100; ++seq) add(lane({}), seq, kRelu);
  std::uint32_t overtaken_count = 0;
  for (;; ++overtaken_count) {
    const auto seq = chosen({.devices = kCpu}, {.own = kRelu});
    scheduler.remove(lane({}), *seq);
    if (seq == Sequence{1}) break;
  }
  EXPECT_EQ(overtaken_count, Lane::kOvertakenMax);
}

TEST_F(SchedulerTest, a_job_that_is_queued_again_takes_its_old_place) {
  add(lane({}), 1);
  add(lane({}), 2);
  scheduler.remove(lane({}), 1);
  EXPECT_EQ(chosen({.devices = kCpu}), Sequence{2});
  add(lane({}), 1);
  EXPECT_EQ(chosen({.devices = kCpu}), Sequence{1});
}

TEST_F(SchedulerTest, a_job_that_is_queued_again_does_not_hide_the_age_of_those_behind_it) {
  const std::int64_t late_ms = 2 * Scheduler::kHeadStartMs;
  scheduler.add(lane({}, "", Priority::normal), {.seq = 2, .submitted_at_ms = 5});
  scheduler.add(lane({}, "", Priority::normal), {.seq = 1, .submitted_at_ms = late_ms});
  scheduler.add(lane({}, "", Priority::high), {.seq = 3, .submitted_at_ms = late_ms});
  EXPECT_EQ(chosen({.devices = kCpu}), Sequence{1});
}

TEST_F(SchedulerTest, an_empty_lane_is_removed) {
  add(lane({}), 1);
  EXPECT_NE(scheduler.find(lane({})), nullptr);
  EXPECT_EQ(scheduler.size(), 1u);
  scheduler.remove(lane({}), 1);
  EXPECT_EQ(scheduler.find(lane({})), nullptr);
  EXPECT_TRUE(scheduler.empty());
  EXPECT_EQ(chosen({.devices = kCpu}), std::nullopt);
}

TEST_F(SchedulerTest, lists_the_lanes_to_refill) {
  const store::LaneId id = lane({});
  for (Sequence seq = 1; seq <= 2 * Lane::kWindowMax; ++seq) add(id, seq);
  EXPECT_TRUE(scheduler.lanes_to_refill().empty());
  for (Sequence seq = 1; seq <= Lane::kWindowMax; ++seq) scheduler.remove(id, seq);
  EXPECT_EQ(scheduler.lanes_to_refill(), std::set<store::LaneId>{id});
  EXPECT_EQ(chosen({.devices = kCpu}), std::nullopt) << "the rest is not in memory yet";
  const std::vector<Lane::QueuedJob> more{{.seq = Lane::kWindowMax + 1}, {.seq = Lane::kWindowMax + 2}};
  scheduler.refill(id, more, false);
  EXPECT_EQ(chosen({.devices = kCpu}), Lane::kWindowMax + 1);
}

}  // namespace
}  // namespace kq::broker
