#include "producer/gateway/live/overview_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::gateway {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kNowMs = 1'000'000;

WorkerStatus worker(const std::string& name) {
  return {.worker = name, .devices = {{.model = "NVIDIA H200", .uuid = "", .arch = ""}}, .last_seen_ms = kNowMs};
}

TEST(OverviewJson, a_heartbeat_alone_changes_nothing) {
  WorkerStatus one = worker("w");
  const std::string before = producer::to_text(worker_object(one, kNowMs, LastSeen::of_silent).json());
  one.last_seen_ms += 5'000;
  EXPECT_EQ(producer::to_text(worker_object(one, kNowMs + 5'000, LastSeen::of_silent).json()), before);
  EXPECT_NE(producer::to_text(worker_object(one, kNowMs + 5'000, LastSeen::of_all).json()), before);
}

TEST(OverviewJson, workers_and_devices_are_counted_by_state_and_model) {
  BrokerReply broker{.version = "1", .workers = {worker("a"), worker("b")}};
  broker.workers[0].devices.resize(2, broker.workers[0].devices[0]);
  broker.workers[1].running = 1;
  EXPECT_EQ(producer::to_text(worker_counts(broker, kNowMs).json()),
            R"({"count": 2, "states": {"busy": 1, "idle": 1}, "models": [{"model": "NVIDIA H200", "devices": 3, )"
            R"("workers": 2, "memory_bytes": 0}]})");
}

TEST(OverviewJson, a_submitter_sees_no_other_submitters) {
  QueueReply queue;
  queue.lanes.push_back({.needs = {}, .submitter = "web/ada", .queued = 3});
  queue.lanes.push_back({.needs = {}, .submitter = "bob", .queued = 2});
  const std::string all = producer::to_text(queue_json({}, queue, {}));
  EXPECT_THAT(all, HasSubstr(R"("submitter": "bob", "needs": "any device")"));
  const std::string own = producer::to_text(queue_json({}, queue, {.name = "ada"}));
  EXPECT_THAT(own, HasSubstr("web/ada"));
  EXPECT_THAT(own, Not(HasSubstr("bob")));
}

TEST(OverviewJson, a_gpu_shows_what_its_last_job_saw) {
  const DeviceInfo device{.kind = DeviceKind::cuda, .model = "NVIDIA H200", .uuid = "GPU-1", .arch = "sm_90"};
  EXPECT_THAT(producer::to_text(device_state_json(device, nullptr)), Not(HasSubstr("clock")));
  const Conditions conditions{.sm_clock_mhz = 1'980, .memory_clock_mhz = 3'201, .temperature_c = 41};
  EXPECT_THAT(producer::to_text(device_state_json(device, &conditions)), HasSubstr(R"("sm_clock_mhz": 1980)"));
}

}  // namespace
}  // namespace kq::gateway
