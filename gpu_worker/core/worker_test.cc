#include "gpu_worker/core/worker.h"

#include <gtest/gtest.h>

#include "core/codec/codec.h"
#include "core/limits.h"

namespace kq::worker {
namespace {

const DeviceInfo kCpu{.kind = DeviceKind::cpu, .model = "test", .uuid = {}, .arch = {}, .memory_bytes = 1};

Lease lease(Sequence seq, Attempt attempt = 1, const std::string& problem = "p") {
  Lease lease;
  lease.id = {seq, attempt};
  lease.device = kCpu;
  lease.submission.problem.hash = sha256(problem);
  return lease;
}

Result passed() {
  return {.verdict = Passed{},
          .device = kCpu,
          .worker = "w",
          .times = {},
          .software = {},
          .sandbox = {},
          .log = {},
          .samples = {}};
}

template <class T>
std::vector<T> all(const WorkerReady& ready) {
  std::vector<T> found;
  for (const WorkerRequest& send : ready.sends) {
    if (const T* body = std::get_if<T>(&send)) found.push_back(*body);
  }
  return found;
}

class WorkerTest : public ::testing::Test {
 protected:
  WorkerReady welcome() { return worker.step(BrokerMessage{Welcome{.heartbeat_ms = 5000, .lease_ms = 30000}}, now); }
  WorkerReady take(std::vector<Lease> leases) {
    return worker.step(BrokerMessage{LeaseBatch{.epoch = 7, .leases = std::move(leases)}}, now);
  }
  // Accepts one lease and ends its build, so that it runs.
  WorkerReady run(Lease one) {
    const LeaseId id = one.id;
    take({std::move(one)});
    return worker.step(BuildDone{id, Built{}}, now);
  }

  std::int64_t now = 1000;
  Worker worker{{.name = "w", .epoch = 7, .devices = {kCpu}}};
};

TEST_F(WorkerTest, sends_hello_until_it_is_welcome) {
  EXPECT_EQ(all<Hello>(worker.step(Tick{}, now)).size(), 1u);
  EXPECT_EQ(all<Hello>(worker.step(Tick{}, now + 500)).size(), 0u);
  EXPECT_EQ(all<Hello>(worker.step(Tick{}, now + 1000)).size(), 1u);
  now += 1001;
  EXPECT_EQ(all<Heartbeat>(welcome()).size(), 1u);
  EXPECT_EQ(all<Hello>(worker.step(Tick{}, now + 10'000)).size(), 0u);
}

TEST_F(WorkerTest, tells_once_that_no_broker_answers_and_once_that_one_does) {
  EXPECT_FALSE(worker.step(Tick{}, now).unanswered);
  EXPECT_FALSE(worker.step(Tick{}, now += 1'000).unanswered);
  EXPECT_TRUE(worker.step(Tick{}, now += kSilenceToldMs).unanswered);
  EXPECT_FALSE(worker.step(Tick{}, now += kSilenceToldMs).unanswered);
  EXPECT_TRUE(welcome().connected);
  worker.step(BrokerMessage{Unknown{}}, now += 1'000);
  EXPECT_FALSE(welcome().connected) << "the broker forgot the session for a moment";
  worker.step(BrokerMessage{Unknown{}}, now += 1'000);
  EXPECT_TRUE(worker.step(Tick{}, now += kSilenceToldMs).unanswered);
  EXPECT_TRUE(welcome().connected);
}

TEST_F(WorkerTest, sends_hello_again_and_lists_its_leases_if_the_broker_does_not_know_it) {
  worker.step(Tick{}, now);
  welcome();
  run(lease(1));
  now += 2000;
  EXPECT_EQ(all<Hello>(worker.step(BrokerMessage{Unknown{}}, now)).size(), 1u);
  const auto heartbeats = all<Heartbeat>(welcome());
  ASSERT_EQ(heartbeats.size(), 1u);
  EXPECT_EQ(heartbeats[0].leases, (std::vector<LeaseId>{{1, 1}}));
}

TEST_F(WorkerTest, tells_a_refusal_once_until_the_broker_accepts_it) {
  worker.step(Tick{}, now);
  welcome();
  const auto notes = [&] {
    return worker.step(BrokerMessage{Refused{"its key has been revoked"}}, now += 1'000).notes;
  };
  EXPECT_EQ(notes(), std::vector<std::string>{"the broker refuses this worker: its key has been revoked"});
  EXPECT_TRUE(notes().empty());
  welcome();
  EXPECT_EQ(notes().size(), 1u);
}

// Two GPUs of one model and one of another.
class LostDeviceTest : public WorkerTest {
 protected:
  static DeviceInfo gpu(const std::string& uuid, const std::string& model = "H200") {
    return {.kind = DeviceKind::cuda, .model = model, .uuid = uuid, .arch = "sm_90", .memory_bytes = 1};
  }
  static Lease lease_on(Sequence seq, const DeviceInfo& device) {
    Lease meant = lease(seq);
    meant.device = device;
    return meant;
  }
  WorkerReady take(std::vector<Lease> leases) {
    return three.step(BrokerMessage{LeaseBatch{.epoch = 7, .leases = std::move(leases)}}, now);
  }
  WorkerReady built(Sequence seq) { return three.step(BuildDone{{seq, 1}, Built{}}, now); }
  WorkerReady ran(Sequence seq) { return three.step(RunDone{{seq, 1}, passed()}, now); }
  WorkerReady acknowledged(Sequence seq) { return three.step(BrokerMessage{ResultAck{{{seq, 1}}}}, now); }
  void SetUp() override {
    three.step(Tick{}, now);
    three.step(BrokerMessage{Welcome{.heartbeat_ms = 5000, .lease_ms = 30000}}, now);
  }

  const DeviceInfo first = gpu("GPU-1"), second = gpu("GPU-2"), other = gpu("GPU-3", "A100");
  Worker three{{.name = "w", .epoch = 7, .devices = {first, second, other}}};
};

TEST_F(LostDeviceTest, is_not_offered_any_more_and_reported_once) {
  const auto ready = three.step(DeviceLost{0, "H200 GPU-1: 2 processes are left"}, now);
  ASSERT_EQ(ready.notes.size(), 1u);
  const auto hello = all<Hello>(ready);
  ASSERT_EQ(hello.size(), 1u);
  EXPECT_EQ(hello[0].devices, (std::vector{second, other}));
  EXPECT_EQ(hello[0].quarantined, std::vector<std::string>{"H200 GPU-1: 2 processes are left"});
  three.step(BrokerMessage{Welcome{.heartbeat_ms = 5000, .lease_ms = 30000}}, now);
  EXPECT_TRUE(all<Hello>(three.step(DeviceLost{0, "again"}, now)).empty());
}

TEST_F(LostDeviceTest, its_waiting_leases_move_to_an_equal_device) {
  take({lease_on(1, first), lease_on(2, first), lease_on(3, second)});
  built(1), built(2), built(3);
  const auto ready = three.step(DeviceLost{0, "lost"}, now);
  EXPECT_TRUE(all<Goodbye>(ready).empty());
  const auto failed = all<ResultBatch>(three.step(RunDone{{1, 1}, our_fault("not clean")}, now));
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].errors.size(), 1u) << "lease 2 has not failed";
  const auto next = ran(3);
  ASSERT_EQ(next.runs.size(), 1u);
  EXPECT_EQ(std::pair(next.runs[0].lease->id.seq, next.runs[0].device), std::pair(Sequence{2}, std::size_t{1}));
}

TEST_F(LostDeviceTest, leases_without_another_device_are_returned_without_a_failure) {
  take({lease_on(1, other), lease_on(2, other), lease_on(3, first), lease_on(4, first)});
  built(1), built(2), built(3);  // 1 runs and 2 waits for the same device; 3 runs and 4 is being built
  auto ready = three.step(DeviceLost{2, "lost"}, now);
  three.step(RunDone{{1, 1}, our_fault("not clean")}, now);
  EXPECT_TRUE(all<Goodbye>(ready).empty()) << "3 still runs, and 1 is not acknowledged";
  EXPECT_TRUE(acknowledged(1).runs.empty());
  EXPECT_TRUE(built(4).runs.empty()) << "nothing starts meanwhile";
  three.step(BrokerMessage{Welcome{.heartbeat_ms = 5000, .lease_ms = 30000}}, now);
  now += 5000;
  EXPECT_EQ(all<Heartbeat>(three.step(Tick{}, now)).at(0).leases, (std::vector<LeaseId>{{2, 1}, {3, 1}, {4, 1}}))
      << "heartbeats list all leases until Goodbye";
  ran(3);
  ready = acknowledged(3);
  ASSERT_EQ(ready.sends.size(), 2u) << "Goodbye comes before Hello";
  EXPECT_TRUE(std::holds_alternative<Goodbye>(ready.sends[0]));
  ASSERT_TRUE(std::holds_alternative<Hello>(ready.sends[1]));
  EXPECT_EQ(std::get<Hello>(ready.sends[1]).devices, (std::vector{first, second}));
  EXPECT_FALSE(ready.finished);
  take({lease_on(5, first)});
  EXPECT_EQ(built(5).runs.size(), 1u) << "the remaining devices go on";
}

TEST_F(LostDeviceTest, builds_for_it_are_stopped) {
  take({lease_on(1, other), lease_on(2, other)});
  const auto ready = three.step(DeviceLost{2, "lost"}, now);  // 1 is being built, 2 waits for the build slot
  EXPECT_EQ(ready.stops, (std::vector<LeaseId>{{1, 1}}));
  EXPECT_EQ(all<Goodbye>(ready).size(), 1u);
  EXPECT_TRUE(all<ResultBatch>(three.step(BuildDone{{1, 1}, our_fault("stopped")}, now)).empty());
  EXPECT_EQ(take({lease_on(3, first)}).builds.size(), 1u);
}

TEST_F(WorkerTest, a_lease_that_arrives_for_a_lost_device_is_returned) {
  worker.step(DeviceLost{0, "cpu: lost"}, now);
  const auto ready = take({lease(4)});
  EXPECT_TRUE(all<ResultBatch>(ready).empty());
  EXPECT_EQ(all<Goodbye>(ready).size(), 1u);
  EXPECT_EQ(all<Hello>(ready).at(0).credit, 0u);
}

TEST_F(WorkerTest, unopened_and_lost_devices_are_reported_as_quarantined) {
  Worker two{{.name = "w", .epoch = 7, .devices = {kCpu}, .unopened = {std::string(kMessageTextMax + 1, 'x')}}};
  auto hello = all<Hello>(two.step(Tick{}, now)).at(0);
  EXPECT_EQ(hello.devices.size(), 1u);
  EXPECT_EQ(hello.quarantined, std::vector<std::string>{std::string(kMessageTextMax, 'x')})
      << "the broker accepts no longer text";
  hello = all<Hello>(two.step(DeviceLost{0, "cpu: dirty"}, now)).at(0);
  EXPECT_EQ(hello.quarantined.size(), 2u);
}

TEST_F(WorkerTest, every_result_names_the_machine_and_the_evaluator) {
  Worker mine{{.name = "w", .epoch = 7, .devices = {kCpu}, .host = {.name = "rack-7"}}};
  mine.step(BrokerMessage{Welcome{.heartbeat_ms = 5000, .lease_ms = 30000}}, now);
  mine.step(BrokerMessage{LeaseBatch{.epoch = 7, .leases = {lease(1), lease(2)}}}, now);
  const auto unbuilt = all<ResultBatch>(
      mine.step(BuildDone{{1, 1}, Built{.verdict = ended(VerdictName::build_failed, {}), .dir = {}}}, now));
  mine.step(BuildDone{{2, 1}, Built{}}, now);
  const auto run = all<ResultBatch>(mine.step(RunDone{{2, 1}, passed()}, now));
  for (const auto& batches : {unbuilt, run}) {
    ASSERT_EQ(batches.size(), 1u);
    EXPECT_EQ(batches[0].results[0].result.host.name, "rack-7");
    EXPECT_EQ(batches[0].results[0].result.software.evaluator, kEvaluatorVersion);
  }
}

TEST_F(WorkerTest, builds_ahead_while_the_device_is_busy) {
  auto ready = take({lease(1), lease(2), lease(3)});
  ASSERT_EQ(ready.builds.size(), 1u);
  EXPECT_EQ(ready.builds[0].lease->id.seq, 1u);
  ready = worker.step(BuildDone{{1, 1}, Built{}}, now);
  ASSERT_EQ(ready.runs.size(), 1u);
  ASSERT_EQ(ready.builds.size(), 1u);
  EXPECT_EQ(ready.builds[0].lease->id.seq, 2u);
  ready = worker.step(BuildDone{{2, 1}, Built{}}, now);
  EXPECT_TRUE(ready.runs.empty()) << "one job at a time on a device";
}

TEST_F(WorkerTest, prefers_the_problem_whose_reference_is_kept) {
  run(lease(1, 1, "a"));
  run(lease(2, 1, "b"));
  run(lease(3, 1, "a"));
  const auto ready = worker.step(RunDone{{1, 1}, passed()}, now);
  ASSERT_EQ(ready.runs.size(), 1u);
  EXPECT_EQ(ready.runs[0].lease->id.seq, 3u);
}

TEST_F(WorkerTest, a_lease_of_another_problem_is_passed_over_only_so_often) {
  run(lease(1, 1, "a"));
  run(lease(2, 1, "b"));
  Sequence running = 1;
  for (Sequence next = 3; running != 2 && next < 100; ++next) {
    run(lease(next, 1, "a"));
    const auto ready = worker.step(RunDone{{running, 1}, passed()}, now);
    ASSERT_EQ(ready.runs.size(), 1u);
    running = ready.runs[0].lease->id.seq;
  }
  EXPECT_EQ(running, 2u);
}

TEST_F(WorkerTest, resends_a_result_until_it_is_acknowledged) {
  run(lease(1));
  ASSERT_EQ(all<ResultBatch>(worker.step(RunDone{{1, 1}, passed()}, now)).size(), 1u);
  EXPECT_EQ(all<ResultBatch>(worker.step(Tick{}, now + 500)).size(), 0u);
  EXPECT_EQ(all<ResultBatch>(worker.step(Tick{}, now + 1000)).size(), 1u);
  worker.step(BrokerMessage{ResultAck{{{1, 1}}}}, now + 1001);
  EXPECT_EQ(all<ResultBatch>(worker.step(Tick{}, now + 5000)).size(), 0u);
}

// While no broker answered, many results of problems with many workloads may have gathered.
TEST_F(WorkerTest, results_that_do_not_fit_into_one_message_are_sent_in_several) {
  Result large = passed();
  large.cases.resize(128);
  for (CaseResult& one : large.cases) one.samples.submission_ns.resize(1'000, 1);
  constexpr Sequence kResults = 9;
  for (Sequence seq = 1; seq <= kResults; ++seq) {
    run(lease(seq));
    worker.step(RunDone{{seq, 1}, large}, now);
  }
  const auto batches = all<ResultBatch>(worker.step(Tick{}, now + 1'000));
  EXPECT_GT(batches.size(), 1u);
  std::size_t results = 0;
  for (const ResultBatch& batch : batches) {
    results += batch.results.size();
    EXPECT_TRUE(decode_message<WorkerRequest>(encode_message<WorkerRequest>({1, batch})));
  }
  EXPECT_EQ(results, kResults);
}

TEST_F(WorkerTest, a_verdict_of_the_build_lane_is_a_result_without_a_run) {
  take({lease(1)});
  const auto ready =
      worker.step(BuildDone{{1, 1}, Built{.verdict = ended(VerdictName::build_failed, {}), .dir = {}}}, now);
  EXPECT_TRUE(ready.runs.empty());
  const auto batches = all<ResultBatch>(ready);
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(name_of(batches[0].results.at(0).result.verdict), VerdictName::build_failed);
}

TEST_F(WorkerTest, a_fault_of_ours_is_an_error_and_not_a_verdict) {
  run(lease(1));
  const auto batches = all<ResultBatch>(worker.step(RunDone{{1, 1}, our_fault("the judge is gone")}, now));
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_TRUE(batches[0].results.empty());
  EXPECT_EQ(batches[0].errors.at(0).message, "the judge is gone");
}

TEST_F(WorkerTest, ignores_leases_of_another_epoch_and_a_lease_sent_twice) {
  EXPECT_TRUE(worker.step(BrokerMessage{LeaseBatch{.epoch = 6, .leases = {lease(1)}}}, now).builds.empty());
  EXPECT_EQ(take({lease(2)}).builds.size(), 1u);
  EXPECT_TRUE(take({lease(2)}).builds.empty());
}

TEST_F(WorkerTest, a_lease_for_a_device_it_does_not_have_is_answered_with_an_error) {
  Lease wrong = lease(1);
  wrong.device.model = "another";
  const auto batches = all<ResultBatch>(take({wrong}));
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].errors.size(), 1u);
}

TEST_F(WorkerTest, hello_has_the_labels_and_backends) {
  Worker labelled({.name = "w", .epoch = 7, .devices = {kCpu}, .labels = {"big", "lab"}, .backends = {Backend::torch}});
  const auto hello = all<Hello>(labelled.step(Tick{}, now)).at(0);
  EXPECT_EQ(hello.labels, (std::vector<std::string>{"big", "lab"}));
  EXPECT_EQ(hello.backends, std::vector<Backend>{Backend::torch});
}

TEST_F(WorkerTest, a_revoked_lease_that_waits_is_dropped) {
  run(lease(1));
  run(lease(2));               // waits for the device
  take({lease(3), lease(4)});  // 3 is being built, 4 waits for the build slot
  const auto ready = worker.step(BrokerMessage{Revoke{{{2, 1}, {4, 1}, {9, 1}}}}, now);
  EXPECT_TRUE(ready.stops.empty());
  now += 10'000;
  EXPECT_EQ(all<Heartbeat>(welcome())[0].leases, (std::vector<LeaseId>{{1, 1}, {3, 1}}));
  EXPECT_TRUE(worker.step(RunDone{{1, 1}, passed()}, now).runs.empty());
  EXPECT_TRUE(worker.step(BuildDone{{3, 1}, Built{}}, now).builds.empty());
}

TEST_F(WorkerTest, a_revoked_run_is_stopped_and_the_next_one_starts_after_it) {
  run(lease(1));
  run(lease(2));
  const auto stopping = worker.step(BrokerMessage{Revoke{{{1, 1}}}}, now);
  EXPECT_EQ(stopping.stops, (std::vector<LeaseId>{{1, 1}}));
  EXPECT_TRUE(stopping.runs.empty()) << "the device is busy until the run has ended";
  EXPECT_TRUE(worker.step(BrokerMessage{Revoke{{{1, 1}}}}, now).stops.empty()) << "a run is stopped once";
  EXPECT_EQ(all<Heartbeat>(welcome())[0].leases, (std::vector<LeaseId>{{2, 1}}));
  const auto ready = worker.step(RunDone{{1, 1}, our_fault("stopped")}, now);
  EXPECT_TRUE(all<ResultBatch>(ready).empty());
  ASSERT_EQ(ready.runs.size(), 1u);
  EXPECT_EQ(ready.runs[0].lease->id.seq, 2u);
}

TEST_F(WorkerTest, a_revoked_build_is_stopped_and_not_reported) {
  take({lease(1)});
  EXPECT_EQ(worker.step(BrokerMessage{Revoke{{{1, 1}}}}, now).stops, (std::vector<LeaseId>{{1, 1}}));
  const auto ready = worker.step(BuildDone{{1, 1}, Built{}}, now);
  EXPECT_TRUE(ready.runs.empty());
  EXPECT_TRUE(all<ResultBatch>(ready).empty());
}

TEST_F(WorkerTest, a_revoked_result_is_not_sent_again) {
  run(lease(1));
  worker.step(RunDone{{1, 1}, passed()}, now);
  worker.step(BrokerMessage{Revoke{{{1, 1}}}}, now);
  EXPECT_TRUE(all<ResultBatch>(worker.step(Tick{}, now + 5000)).empty());
}

// Returns a lease whose submission calls load_inline.
Lease lease_with_extension(Sequence seq) {
  const std::string text = "from torch.utils.cpp_extension import load_inline\n";
  Lease slow = lease(seq);
  slow.submission.files = {{"k.py", sha256(text)}};
  slow.blobs = {{.hash = sha256(text), .bytes = text}};
  return slow;
}

TEST_F(WorkerTest, a_quick_build_does_not_wait_for_builds_of_extensions) {
  const auto started = take({lease_with_extension(1), lease_with_extension(2), lease(3), lease(4)}).builds;
  ASSERT_EQ(started.size(), 2u) << "one build slot, and one more for quick builds";
  EXPECT_EQ(started[0].lease->id.seq, 1u);
  EXPECT_EQ(started[1].lease->id.seq, 3u) << "lease 2 has an extension too, and waits";
  auto next = worker.step(BuildDone{{3, 1}, Built{}}, now).builds;
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].lease->id.seq, 4u);
  next = worker.step(BuildDone{{1, 1}, Built{}}, now).builds;
  EXPECT_TRUE(next.empty()) << "the quick build has the only slot";
  EXPECT_EQ(worker.step(BuildDone{{4, 1}, Built{}}, now).builds.size(), 1u);
}

TEST_F(WorkerTest, quick_builds_alone_take_the_build_slots_only) {
  EXPECT_EQ(take({lease(1), lease(2), lease(3)}).builds.size(), 1u);
}

TEST_F(WorkerTest, more_builds_run_while_no_device_has_a_job) {
  Worker wide({.name = "w", .epoch = 7, .devices = {kCpu}, .build_slots = 1, .build_slots_without_jobs = 3});
  std::vector<Lease> leases;
  for (Sequence seq = 1; seq <= 6; ++seq) leases.push_back(lease_with_extension(seq));
  const auto taken = BrokerMessage{LeaseBatch{.epoch = 7, .leases = std::move(leases)}};
  const auto started = wide.step(taken, now).builds;
  ASSERT_EQ(started.size(), 3u);
  EXPECT_FALSE(started.front().is_beside_jobs);
  const auto busy = wide.step(BuildDone{{1, 1}, Built{}}, now);
  EXPECT_EQ(busy.runs.size(), 1u);
  EXPECT_TRUE(busy.builds.empty()) << "the device has a job, and two builds run, of which one was to run beside it";
  EXPECT_TRUE(wide.step(BuildDone{{2, 1}, Built{}}, now).builds.empty());
  const auto next = wide.step(BuildDone{{3, 1}, Built{}}, now).builds;
  ASSERT_EQ(next.size(), 1u);
  EXPECT_TRUE(next.front().is_beside_jobs);
  EXPECT_TRUE(wide.step(RunDone{{1, 1}, passed()}, now).builds.empty()) << "another job runs";
  wide.step(RunDone{{2, 1}, passed()}, now);
  EXPECT_EQ(wide.step(RunDone{{3, 1}, passed()}, now).builds.size(), 2u);
}

TEST_F(WorkerTest, one_job_on_any_device_keeps_builds_to_their_slots) {
  const DeviceInfo gpu{.kind = DeviceKind::cuda, .model = "H200", .uuid = "1", .arch = "sm_90", .memory_bytes = 1};
  Worker wide({.name = "w", .epoch = 7, .devices = {kCpu, gpu}, .build_slots = 1, .build_slots_without_jobs = 3});
  const auto take = [&](std::vector<Lease> leases) {
    return wide.step(BrokerMessage{LeaseBatch{.epoch = 7, .leases = std::move(leases)}}, now);
  };
  take({lease(1)});
  EXPECT_EQ(wide.step(BuildDone{{1, 1}, Built{}}, now).runs.size(), 1u);
  EXPECT_EQ(take({lease_with_extension(2), lease_with_extension(3), lease_with_extension(4)}).builds.size(), 1u);
}

TEST_F(WorkerTest, the_credit_is_enough_for_the_builds_while_no_device_has_a_job) {
  Worker wide({.name = "w", .epoch = 7, .devices = {kCpu}, .build_slots = 1, .build_slots_without_jobs = 3});
  const auto hellos = all<Hello>(wide.step(Tick{}, now));
  ASSERT_EQ(hellos.size(), 1u);
  EXPECT_EQ(hellos[0].credit, 1 + WorkerOptions().leases_ahead + 2 + kQuickSlots);
}

// Returns "seq/ms" of each build in a heartbeat, with "!" for a build of extensions.
std::string builds_of(const Heartbeat& heartbeat) {
  std::string text;
  for (const BuildInProgress& build : heartbeat.builds) {
    text += (text.empty() ? "" : " ") + std::to_string(build.lease.seq) + "/" + std::to_string(build.ms) +
            (build.extensions ? "!" : "");
  }
  return text;
}

TEST_F(WorkerTest, heartbeats_name_the_builds_in_progress_the_longest_first) {
  worker.step(Tick{}, now);
  welcome();
  take({lease_with_extension(2)});
  now += 400;
  take({lease(1)});
  now += 4'600;
  const auto heartbeats = all<Heartbeat>(worker.step(Tick{}, now));
  ASSERT_EQ(heartbeats.size(), 1u);
  EXPECT_FALSE(heartbeats[0].early);
  EXPECT_EQ(builds_of(heartbeats[0]), "2/5000! 1/4600");
}

TEST_F(WorkerTest, a_long_build_and_its_end_are_told_early) {
  worker.step(Tick{}, now);
  welcome();
  const std::int64_t start = now;
  EXPECT_EQ(take({lease(1)}).wake_at_ms, start + kLongBuildMs);
  EXPECT_TRUE(all<Heartbeat>(worker.step(Tick{}, start + kLongBuildMs - 1)).empty());
  auto heartbeats = all<Heartbeat>(worker.step(Tick{}, start + kLongBuildMs));
  ASSERT_EQ(heartbeats.size(), 1u);
  EXPECT_TRUE(heartbeats[0].early);
  EXPECT_EQ(builds_of(heartbeats[0]), "1/1000");
  EXPECT_TRUE(all<Heartbeat>(worker.step(Tick{}, start + 3'000)).empty()) << "the build is known";
  heartbeats = all<Heartbeat>(worker.step(BuildDone{{1, 1}, Built{}}, start + 3'500));
  ASSERT_EQ(heartbeats.size(), 1u);
  EXPECT_TRUE(heartbeats[0].early);
  EXPECT_EQ(builds_of(heartbeats[0]), "");
  const auto ready = worker.step(Tick{}, start + 5'000);
  ASSERT_EQ(all<Heartbeat>(ready).size(), 1u) << "the other heartbeats keep their interval";
  EXPECT_FALSE(all<Heartbeat>(ready)[0].early);
}

TEST_F(WorkerTest, early_heartbeats_are_apart) {
  worker.step(Tick{}, now);
  welcome();
  take({lease(1)});
  ASSERT_EQ(all<Heartbeat>(worker.step(Tick{}, now + kLongBuildMs)).size(), 1u);
  const auto ended = worker.step(BuildDone{{1, 1}, Built{}}, now + kLongBuildMs + 10);
  EXPECT_TRUE(all<Heartbeat>(ended).empty());
  EXPECT_EQ(ended.wake_at_ms, now + 2 * kLongBuildMs);
}

TEST_F(WorkerTest, a_heartbeat_names_a_limited_number_of_builds) {
  Worker many({.name = "w", .epoch = 7, .devices = {kCpu}, .build_slots = 100});
  std::vector<Lease> leases;
  for (Sequence seq = 1; seq <= 100; ++seq) leases.push_back(lease(seq));
  many.step(BrokerMessage{LeaseBatch{.epoch = 7, .leases = std::move(leases)}}, now);
  const auto heartbeats =
      all<Heartbeat>(many.step(BrokerMessage{Welcome{.heartbeat_ms = 5000, .lease_ms = 30000}}, now));
  ASSERT_EQ(heartbeats.size(), 1u);
  EXPECT_EQ(heartbeats[0].leases.size(), 100u);
  EXPECT_EQ(heartbeats[0].builds.size(), kHeartbeatBuildsMax);
}

TEST_F(WorkerTest, leases_for_equal_devices_are_spread_over_them) {
  Worker twins({.name = "w", .epoch = 7, .devices = {kCpu, kCpu}});
  twins.step(BrokerMessage{LeaseBatch{.epoch = 7, .leases = {lease(1), lease(2)}}}, now);
  EXPECT_EQ(twins.step(BuildDone{{1, 1}, Built{}}, now).runs.at(0).device, 0u);
  EXPECT_EQ(twins.step(BuildDone{{2, 1}, Built{}}, now).runs.at(0).device, 1u);
}

TEST_F(WorkerTest, an_idle_device_takes_the_newest_lease_that_waits_for_an_equal_device) {
  DeviceInfo first = kCpu, second = kCpu, other = kCpu;
  first.uuid = "GPU-1", second.uuid = "GPU-2", other.uuid = "GPU-3", other.model = "another";
  Worker three({.name = "w", .epoch = 7, .devices = {first, second, other}, .build_slots = 4});
  const auto on = [](Lease lease, const DeviceInfo& device) { return lease.device = device, lease; };
  const auto built = [&](Sequence seq) { return three.step(BuildDone{{seq, 1}, Built{}}, now).runs; };
  three.step(BrokerMessage{LeaseBatch{.epoch = 7,
                                      .leases = {on(lease(1), first), on(lease(2), first), on(lease(3), first),
                                                 on(lease(4), first), on(lease(5), second)}}},
             now);
  EXPECT_EQ(built(1).size(), 1u);
  EXPECT_EQ(built(2).size(), 0u) << "the second device has a lease of its own that is being built";
  EXPECT_EQ(built(3).size(), 0u);
  auto taken = built(4);
  ASSERT_EQ(taken.size(), 1u) << "more than kBacklogMin leases wait";
  EXPECT_EQ(std::pair(taken[0].lease->id.seq, taken[0].device), std::pair(Sequence{4}, std::size_t{1}));
  EXPECT_EQ(built(5).size(), 0u);
  const auto done = [&](Sequence seq) { return three.step(RunDone{{seq, 1}, passed()}, now).runs; };
  EXPECT_EQ(done(4).at(0).lease->id.seq, 5u) << "the device's own lease comes first";
  taken = done(5);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(std::pair(taken[0].lease->id.seq, taken[0].device), std::pair(Sequence{3}, std::size_t{1}));
  EXPECT_EQ(done(1).at(0).device, 0u);
}

TEST_F(WorkerTest, an_idle_device_takes_nothing_from_an_idle_equal_device) {
  DeviceInfo first = kCpu, second = kCpu;
  first.uuid = "GPU-1", second.uuid = "GPU-2";
  Worker two({.name = "w", .epoch = 7, .devices = {first, second}});
  Lease its = lease(1);
  its.device = second;
  two.step(BrokerMessage{LeaseBatch{.epoch = 7, .leases = {its}}}, now);
  const auto runs = two.step(BuildDone{{1, 1}, Built{}}, now).runs;
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].device, 1u);
}

TEST_F(WorkerTest, drain_finishes_what_runs_returns_what_waits_and_ends) {
  run(lease(1));
  run(lease(2));
  auto ready = worker.step(DrainRequested{}, now);
  EXPECT_FALSE(ready.finished);
  ASSERT_EQ(all<Hello>(ready).size(), 1u);
  EXPECT_EQ(all<Hello>(ready)[0].credit, 0u);
  EXPECT_EQ(all<Heartbeat>(welcome())[0].leases.size(), 2u) << "heartbeats list all leases until Goodbye";
  worker.step(RunDone{{1, 1}, passed()}, now);
  ready = worker.step(BrokerMessage{ResultAck{{{1, 1}}}}, now);
  EXPECT_TRUE(ready.finished);
  EXPECT_EQ(all<Goodbye>(ready).size(), 1u);
}

// A worker without devices, which builds for other workers.
class CompileOnlyTest : public ::testing::Test {
 protected:
  static Lease build(Sequence seq) {
    Lease build = lease(seq, 0);
    build.device = kTarget;
    return build;
  }
  WorkerReady take(std::vector<Lease> builds) {
    return worker.step(BrokerMessage{BuildBatch{.epoch = 7, .builds = std::move(builds)}}, now);
  }
  static Built with_object() {
    Built built;
    built.object = BuildObject{
        .kind = DeviceKind::cuda, .arch = "sm_90", .key = sha256("key"), .hash = sha256("object"), .bytes = "object"};
    return built;
  }

  static inline const DeviceInfo kTarget{.kind = DeviceKind::cuda, .model = {}, .uuid = {}, .arch = "sm_90"};
  std::int64_t now = 1000;
  Worker worker{{.name = "b", .epoch = 7, .devices = {}, .build_slots = 2, .leases_ahead = 1, .builds_for = {kTarget}}};
};

TEST_F(CompileOnlyTest, hello_has_the_targets_and_a_credit_for_builds) {
  const auto hello = all<Hello>(worker.step(Tick{}, now));
  ASSERT_EQ(hello.size(), 1u);
  EXPECT_TRUE(hello[0].devices.empty());
  EXPECT_EQ(hello[0].builds_for, std::vector<DeviceInfo>{kTarget});
  EXPECT_EQ(hello[0].credit, 3u);
}

TEST_F(CompileOnlyTest, sends_each_object_until_it_is_acknowledged) {
  auto ready = take({build(1), build(2), build(3)});
  ASSERT_EQ(ready.builds.size(), 2u) << "one per build slot";
  EXPECT_TRUE(take({build(1)}).builds.empty()) << "sent twice";
  ready = worker.step(BuildDone{{1, 0}, with_object()}, now);
  auto results = all<BuildResult>(ready);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].epoch, 7u);
  EXPECT_EQ(results[0].build, (LeaseId{1, 0}));
  EXPECT_EQ(results[0].object->bytes, "object");
  EXPECT_TRUE(ready.runs.empty());
  EXPECT_EQ(ready.builds.size(), 1u);
  EXPECT_TRUE(all<BuildResult>(worker.step(Tick{}, now + 1000)).empty()) << "a large object is sent again less often";
  EXPECT_EQ(all<BuildResult>(worker.step(Tick{}, now + 10'000)).size(), 1u);
  worker.step(BrokerMessage{ResultAck{.leases = {{1, 0}}}}, now);
  EXPECT_TRUE(all<BuildResult>(worker.step(Tick{}, now + 30'000)).empty());
}

TEST_F(CompileOnlyTest, a_build_without_an_object_has_a_message) {
  take({build(1), build(2)});
  auto results = all<BuildResult>(
      worker.step(BuildDone{{1, 0}, Built{.verdict = ended(VerdictName::build_failed, {}), .dir = {}}}, now));
  ASSERT_EQ(results.size(), 1u);
  EXPECT_FALSE(results[0].object);
  EXPECT_EQ(results[0].message, "it ended as build_failed");
  results = all<BuildResult>(worker.step(BuildDone{{2, 0}, our_fault("no room")}, now));
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].message, "no room");
}

TEST_F(CompileOnlyTest, lists_its_builds_in_heartbeats_and_stops_revoked_ones) {
  take({build(1), build(2), build(3)});
  auto ready = worker.step(BrokerMessage{Welcome{.heartbeat_ms = 5000, .lease_ms = 30000}}, now);
  EXPECT_EQ(all<Heartbeat>(ready)[0].leases, (std::vector<LeaseId>{{1, 0}, {2, 0}, {3, 0}}));
  ready = worker.step(BrokerMessage{Revoke{.leases = {{1, 0}, {3, 0}}}}, now);
  EXPECT_EQ(ready.stops, (std::vector<LeaseId>{{1, 0}}));
  ready = worker.step(BuildDone{{1, 0}, our_fault("stopped")}, now);
  EXPECT_TRUE(all<BuildResult>(ready).empty()) << "a revoked build is not reported";
  EXPECT_TRUE(ready.builds.empty());
}

TEST_F(CompileOnlyTest, a_lease_for_a_run_is_answered_with_an_error) {
  const auto ready = worker.step(BrokerMessage{LeaseBatch{.epoch = 7, .leases = {lease(1)}}}, now);
  ASSERT_EQ(all<ResultBatch>(ready).size(), 1u);
  EXPECT_EQ(all<ResultBatch>(ready)[0].errors[0].lease, (LeaseId{1, 1}));
}

TEST_F(CompileOnlyTest, drain_finishes_the_builds_in_progress) {
  take({build(1), build(2), build(3)});
  auto ready = worker.step(DrainRequested{}, now);
  EXPECT_EQ(all<Hello>(ready)[0].credit, 0u);
  EXPECT_FALSE(ready.finished);
  worker.step(BuildDone{{1, 0}, with_object()}, now);
  worker.step(BuildDone{{2, 0}, our_fault("no room")}, now);
  ready = worker.step(BrokerMessage{ResultAck{.leases = {{1, 0}, {2, 0}}}}, now);
  EXPECT_TRUE(ready.finished);
  EXPECT_EQ(all<Goodbye>(ready).size(), 1u);
}

}  // namespace
}  // namespace kq::worker
