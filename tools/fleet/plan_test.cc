#include "tools/fleet/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::tools {
namespace {

using Kind = FleetAction::Kind;
using State = FleetJob::State;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kNowMs = 1'795'284'000'000;

// Builds a view, plans, and returns the actions as short texts.
struct Try {
  FleetView view{.pools = {{}}};
  FleetLimits limits{.workers_max = 4, .idle_ms = 60'000};
  FleetMemory memory;
  std::int64_t now_ms = kNowMs;

  void queue(std::uint64_t jobs, Requirements needs = {}, bool served = true) {
    LaneRow lane;
    lane.needs = std::move(needs);
    lane.queued = jobs;
    lane.served = served;
    view.lanes.push_back(lane);
  }
  void job(const std::string& id, State state, std::size_t pool = 0, std::int64_t age_ms = 1'000) {
    view.jobs.push_back(
        {.id = id, .pool = pool, .state = state, .submitted_ms = now_ms - age_ms, .ended_ms = now_ms - age_ms});
  }
  // A running job whose worker is connected.
  void worker(const std::string& id, std::uint32_t running, std::size_t pool = 0, DeviceInfo device = {}) {
    job(id, State::running, pool);
    WorkerStatus status;
    status.worker = "host:" + id;
    status.devices = {std::move(device)};
    status.running = running;
    status.labels = {"other", "slurm-" + id};
    view.workers.push_back(status);
  }
  std::vector<FleetAction> actions() { return plan(view, limits, memory, now_ms); }
  std::vector<std::string> texts() {
    std::vector<std::string> texts;
    for (const FleetAction& action : actions()) {
      switch (action.kind) {
        case Kind::start:
          texts.push_back("start " + std::to_string(action.count) + " " + name_of(view.pools[action.pool]));
          break;
        case Kind::cancel:
          texts.push_back("cancel " + action.job);
          break;
        case Kind::drain:
          texts.push_back("drain " + action.job);
          break;
        case Kind::say:
          texts.push_back("say " + action.reason);
          break;
      }
    }
    return texts;
  }
};

Requirements on_gpu(const std::string& model = "") {
  return {.wish = DeviceWish::cuda, .gpu_model = model};
}
DeviceInfo gpu(const std::string& model) {
  DeviceInfo device;
  device.kind = DeviceKind::cuda;
  device.model = model;
  return device;
}

TEST(plan, empty_queue_needs_no_worker) {
  EXPECT_THAT(Try().texts(), IsEmpty());
}

TEST(plan, workers_follow_the_number_of_unfinished_jobs) {
  for (const auto& [jobs, wanted] : std::vector<std::pair<std::uint64_t, std::string>>{
           {1, "start 1 any"}, {10, "start 1 any"}, {11, "start 2 any"}, {1'000'000'000, "start 4 any"}}) {
    Try one;
    one.queue(jobs);
    EXPECT_THAT(one.texts(), ElementsAre(wanted)) << jobs;
  }
}

TEST(plan, jobs_that_workers_have_count_as_unfinished) {
  Try one;
  one.queue(5);
  one.worker("1", 6);
  EXPECT_THAT(one.texts(), ElementsAre("start 1 any"));
}

TEST(plan, pending_and_starting_jobs_count_as_workers) {
  Try one;
  one.queue(40);
  one.job("1_0", State::pending);
  one.job("1_1", State::running);
  EXPECT_THAT(one.texts(), ElementsAre("start 2 any"));
}

TEST(plan, worker_that_ends_keeps_its_place_until_it_has_ended) {
  Try one;
  one.queue(40);
  one.job("1", State::ending);
  one.worker("2", 1);
  one.memory.drained = {"2"};
  one.job("3", State::ended);
  EXPECT_THAT(one.texts(), ElementsAre("start 2 any"));
}

TEST(plan, paused_lanes_need_no_worker) {
  Try one;
  one.queue(40);
  one.view.lanes[0].paused = true;
  EXPECT_THAT(one.texts(), IsEmpty());
}

TEST(plan, minimum_is_kept_without_jobs) {
  Try one;
  one.limits.workers_min = 2;
  one.worker("1", 0);
  one.memory.idle_since_ms = {{"1", 0}};
  EXPECT_THAT(one.texts(), ElementsAre("start 1 any"));
}

TEST(plan, surplus_jobs_that_have_not_started_are_cancelled_newest_first) {
  Try one;
  one.queue(20);
  one.job("1", State::pending, 0, 9'000);
  one.job("2", State::pending, 0, 1'000);
  one.job("3", State::pending, 0, 5'000);
  EXPECT_THAT(one.texts(), ElementsAre("cancel 2"));
}

TEST(plan, idle_worker_is_drained_once_it_was_idle_for_the_limit) {
  Try one;
  one.worker("1", 0);
  EXPECT_THAT(one.texts(), IsEmpty());
  one.now_ms += 59'999;
  EXPECT_THAT(one.texts(), IsEmpty());
  one.now_ms += 1;
  EXPECT_THAT(one.texts(), ElementsAre("drain 1"));
}

TEST(plan, job_between_two_rounds_starts_the_idle_time_again) {
  Try one;
  one.worker("1", 0);
  EXPECT_THAT(one.texts(), IsEmpty());
  one.now_ms += 50'000;
  one.view.workers[0].running = 1;
  EXPECT_THAT(one.texts(), IsEmpty());
  one.now_ms += 20'000;
  one.view.workers[0].running = 0;
  EXPECT_THAT(one.texts(), IsEmpty());
  EXPECT_EQ(one.memory.idle_since_ms["1"], one.now_ms);
}

TEST(plan, busy_surplus_worker_is_never_drained) {
  Try one;
  for (const std::string id : {"1", "2", "3"}) one.worker(id, 1);
  one.memory.idle_since_ms = {{"1", 0}};
  EXPECT_THAT(one.texts(), IsEmpty());
  EXPECT_THAT(one.memory.idle_since_ms, IsEmpty());
}

TEST(plan, building_worker_is_not_idle) {
  Try one;
  one.worker("1", 0);
  one.view.workers[0].building = 1;
  one.now_ms += 100'000;
  EXPECT_THAT(one.texts(), IsEmpty());
  EXPECT_THAT(one.memory.idle_since_ms, IsEmpty());
}

TEST(plan, drained_worker_is_drained_once) {
  Try one;
  one.worker("1", 0);
  one.memory.idle_since_ms = {{"1", 0}};
  EXPECT_THAT(one.texts(), ElementsAre("drain 1"));
  one.memory.drained.insert("1");
  EXPECT_THAT(one.texts(), IsEmpty());
  one.view.jobs.clear();
  EXPECT_THAT(one.texts(), IsEmpty());
  EXPECT_THAT(one.memory.drained, IsEmpty());
}

TEST(plan, workers_beyond_a_lowered_maximum_are_drained_least_busy_first) {
  Try one;
  one.queue(1'000);
  one.worker("1", 3);
  one.worker("2", 1);
  one.worker("3", 2);
  one.limits.workers_max = 1;
  EXPECT_THAT(one.texts(), ElementsAre("drain 2", "drain 3"));
}

TEST(plan, job_without_a_worker_is_drained_after_the_start_limit) {
  Try one;
  one.queue(20);
  one.job("1", State::running);
  one.job("2", State::pending);
  EXPECT_THAT(one.texts(), IsEmpty());
  one.now_ms += kFleetStartLimitMs;
  EXPECT_THAT(one.texts(), ElementsAre("drain 1"));
}

TEST(plan, later_worker_of_a_requeued_job_counts) {
  Try one;
  one.worker("1", 0);
  one.view.workers.push_back(one.view.workers[0]);
  one.view.workers[0].last_seen_ms = 1;
  one.view.workers[0].running = 15;
  one.view.workers[1].last_seen_ms = 2;
  EXPECT_THAT(one.texts(), IsEmpty());
}

TEST(plan, nothing_starts_while_workers_fail) {
  Try one;
  one.queue(10);
  for (const std::string id : {"1", "2", "3"}) one.job(id, State::failed);
  const auto texts = one.texts();
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_THAT(texts[0], HasSubstr("say no worker is started, because 3 Slurm jobs of the fleet failed in 5 minutes"));
  one.now_ms += kFleetFailureWindowMs;
  EXPECT_THAT(one.texts(), ElementsAre("start 1 any"));
}

TEST(plan, pool_is_found_by_label_model_and_device) {
  Try one;
  one.view.pools = {{.gpu = "h100"}, {.gpu = "a100"}, {}};
  one.queue(1, on_gpu("NVIDIA A100-SXM4-80GB"));
  one.queue(1, {.wish = DeviceWish::cpu});
  EXPECT_THAT(one.texts(), ElementsAre("start 1 a100:1", "start 1 any"));
  one.view.lanes.clear();
  one.queue(1, on_gpu());
  EXPECT_THAT(one.texts(), ElementsAre("start 1 h100:1"));
  one.view.lanes.clear();
  one.queue(1, {.wish = DeviceWish::any, .labels = {"a100"}});
  EXPECT_THAT(one.texts(), ElementsAre("start 1 a100:1"));
}

TEST(plan, devices_of_connected_workers_count_more_than_the_name_of_the_pool) {
  Try one;
  one.view.pools = {{.gpu = "gpu-small"}, {.gpu = "gpu-large"}};
  one.worker("1", 0, 1, gpu("NVIDIA H200"));
  one.queue(11, on_gpu("NVIDIA H200"));
  EXPECT_THAT(one.texts(), ElementsAre("start 1 gpu-large:1"));
}

TEST(plan, workers_with_several_gpus_take_more_jobs) {
  Try one;
  one.view.pools = {{.gpu = "h100", .gpus = 8}};
  one.queue(81, on_gpu());
  EXPECT_THAT(one.texts(), ElementsAre("start 2 h100:8"));
}

TEST(plan, pools_share_the_maximum) {
  Try one;
  one.view.pools = {{.gpu = "h100"}, {.gpu = "a100"}};
  one.queue(1'000, {.wish = DeviceWish::cuda, .labels = {"h100"}});
  one.queue(1'000, {.wish = DeviceWish::cuda, .labels = {"a100"}});
  EXPECT_THAT(one.texts(), ElementsAre("start 2 h100:1", "start 2 a100:1"));
}

TEST(plan, jobs_that_no_pool_can_run_are_named) {
  Try one;
  one.view.pools = {{.gpu = "h100"}};
  one.queue(3, on_gpu("NVIDIA H200"), false);
  const auto texts = one.texts();
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_THAT(texts[0], HasSubstr("say 3 queued jobs cannot run on any pool of this fleet; one needs"));
  EXPECT_THAT(texts[0], HasSubstr("H200"));
}

TEST(plan, pool_of_an_earlier_fleet_ends) {
  Try one;
  one.view.pools = {{.gpu = "h100"}, {.gpu = "a100", .is_wanted = false}};
  one.queue(1, {.wish = DeviceWish::cuda, .labels = {"a100"}}, true);
  one.job("1", State::pending, 1);
  one.worker("2", 0, 1);
  one.memory.idle_since_ms = {{"2", 0}};
  EXPECT_THAT(one.texts(), ElementsAre("cancel 1", "drain 2"));
}

TEST(pool, name_and_text_agree) {
  for (const std::string text : {"any", "h100:1", "nvidia_a100_80gb-pcie.1g:64"})
    EXPECT_EQ(name_of(parse_pool(text).value()), text);
  EXPECT_EQ(parse_pool("h100").value(), (FleetPool{.gpu = "h100", .gpus = 1}));
  for (const std::string wrong : {"", ":1", "h100:", "h100:0", "h100:65", "h100:x", "h 100", "gpu:h100:2"})
    EXPECT_EQ(parse_pool(wrong).error().kind, ErrorKind::bad_input) << wrong;
}

}  // namespace
}  // namespace kq::tools
