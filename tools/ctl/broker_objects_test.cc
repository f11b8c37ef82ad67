#include "tools/ctl/broker_objects.h"

#include <gtest/gtest.h>

namespace kq::tools {
namespace {

std::string text(producer::JsonObject object) {
  return producer::to_text(producer::Json{std::move(object)});
}

TEST(BrokerObjects, a_lane_has_its_requirements) {
  EXPECT_EQ(text(lane_object({.needs = {.gpu_model = "NVIDIA H200"}, .submitter = "ada", .queued = 2})),
            R"({"priority": "normal", "submitter": "ada", "needs": {"device": "any", "gpu": "NVIDIA H200", )"
            R"("memory_above_bytes": 0, "backend": "torch", "labels": [], "device_count": 1}, )"
            R"("queued": 2, "oldest_ms": null, "served": false, "paused": false})");
}

TEST(BrokerObjects, a_worker_has_its_devices_and_targets) {
  const WorkerStatus worker{
      .worker = "w",
      .devices = {{.kind = DeviceKind::cuda, .model = "NVIDIA H200", .uuid = "GPU-1", .arch = "sm_90"}},
      .builds_for = {{.kind = DeviceKind::cuda, .model = "", .uuid = "", .arch = "sm_90"},
                     {.kind = DeviceKind::cpu, .model = "", .uuid = "", .arch = ""}}};
  const std::string object = text(worker_object(worker, "busy"));
  EXPECT_NE(object.find(R"("worker": "w", "state": "busy")"), std::string::npos) << object;
  EXPECT_NE(object.find(R"("uuid": "GPU-1")"), std::string::npos) << object;
  EXPECT_NE(object.find(R"("builds_for": ["sm_90", "cpu"])"), std::string::npos) << object;
}

TEST(BrokerObjects, equal_devices_are_counted_in_a_cell) {
  const DeviceInfo gpu{.kind = DeviceKind::cuda, .model = "NVIDIA H200", .uuid = "", .arch = ""};
  EXPECT_EQ(devices_text({.worker = "w", .devices = {gpu, gpu, {.model = "", .uuid = "", .arch = ""}}}),
            "2 x NVIDIA H200, cpu");
  EXPECT_EQ(devices_text({.worker = "w", .devices = {}, .quarantined = {"GPU 0: ECC"}}), "quarantined: GPU 0: ECC");
}

TEST(BrokerObjects, pauses_are_those_of_the_metrics) {
  EXPECT_FALSE(pauses_of({}).is_queue_paused || pauses_of({}).may_have("ann"));
  const Pauses some = pauses_of({{{"kq_queue_paused", {}, 1},
                                  {"kq_submitters_paused", {}, 1},
                                  {"kq_submitter_paused", {{"submitter", "ann"}}, 1}}});
  EXPECT_TRUE(some.is_queue_paused && some.may_have("ann"));
  EXPECT_FALSE(some.may_have("bob"));
  EXPECT_EQ(pauses_text(some), "1 submitter is paused: ann");
  EXPECT_EQ(pause_text(some, "ann"),
            "the queue and its submitter ann are paused; an operator ends the pauses with kq-ctl resume and kq-ctl "
            "resume --submitter ann");
  EXPECT_EQ(pause_text(some, "bob"), "the queue is paused; an operator ends the pause with kq-ctl resume");
  EXPECT_EQ(pause_text({.is_queue_paused = false, .count = 1, .names = {"ann"}}, "ann"),
            "its submitter ann is paused; an operator ends the pause with kq-ctl resume --submitter ann");
  const Pauses unnamed = pauses_of({{{"kq_submitters_paused", {}, 2}}});
  EXPECT_TRUE(unnamed.may_have("bob")) << "a broker of an earlier version names none";
  EXPECT_EQ(pauses_text(unnamed), "2 submitters are paused");
}

}  // namespace
}  // namespace kq::tools
