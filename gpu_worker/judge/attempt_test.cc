#include "gpu_worker/judge/attempt.h"

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "gpu_worker/judge/device/clock.h"
#include "gpu_worker/judge/testing/fake_device.h"
#include "gpu_worker/judge/testing/fake_problem.h"
#include "gpu_worker/judge/timing/calibration.h"

namespace kq::judge {
namespace {

using channel::Command;
using channel::Failure;

TEST(Attempt, a_right_submission_passes_with_figures) {
  JudgeFixture fixture;
  const Report report = fixture.run();
  ASSERT_EQ(outcome_text(report), "passed");
  EXPECT_EQ(report.id, 1u);
  EXPECT_TRUE(report.error.empty());
  EXPECT_TRUE(report.reference_usable);
  const Measurement& measurement = *measurement_of(*report.verdict);
  EXPECT_EQ(measurement.method, "attested");
  EXPECT_EQ(measurement.attested_ns, measurement.submission.median_ns);
  EXPECT_EQ(measurement.event_ns, 0);
  EXPECT_TRUE(report.disagreement.empty());
  EXPECT_EQ(measurement.submission.sample_count, 3u);
  EXPECT_EQ(measurement.reference.sample_count, 3u);
  EXPECT_GE(measurement.submission.min_ns, 1);
  EXPECT_GT(measurement.overhead_ns, 0);
  EXPECT_EQ(report.samples.submission_ns.size(), 3u);
  EXPECT_EQ(correctness_of(*report.verdict)->trials_passed, 7u);  // with a decoy
  EXPECT_EQ(correctness_of(*report.verdict)->max_abs_err, 0);
}

// Where zeros are within the tolerance, the tolerance cannot tell right from wrong.
TEST(Attempt, outputs_within_a_degenerate_tolerance_alone_are_suspect) {
  for (const int honest_calls : {1'000, 1}) {
    JudgeFixture fixture;
    fixture.plan.atol = 1'000;
    int calls = 0;
    const Report report = fixture.run(at(Command::call, [&](FakeTurn& turn) {
      if (++calls > honest_calls) std::fill_n(fake_data<float>(turn, turn.page.outputs[0]), 8, 0.0f);
    }));
    if (honest_calls > 1) {
      EXPECT_EQ(outcome_text(report), "passed");
      continue;
    }
    ASSERT_EQ(outcome_text(report), "suspect/value at judge");
    EXPECT_NE(measurement_of(*report.verdict), nullptr);
    EXPECT_EQ(report.samples.submission_ns.size(), 3u);
    EXPECT_NE(evidence_in(report).message.find("zeros are within the tolerance"), std::string::npos)
        << evidence_in(report).message;
    EXPECT_NE(evidence_in(report).message.find("in trial 1 "), std::string::npos) << evidence_in(report).message;
  }
}

TEST(Attempt, a_call_quicker_than_the_memory_is_suspect) {
  JudgeFixture fixture;
  auto device = std::make_unique<FakeDevice>();
  device->floor_ns = 3'600e9;
  fixture.use(std::move(device));
  const Report report = fixture.run();
  ASSERT_EQ(outcome_text(report), "suspect/floor at judge");
  EXPECT_NE(evidence_in(report).message.find(" us, but writing an output of "), std::string::npos)
      << evidence_in(report).message;
  EXPECT_EQ(report.samples.submission_ns.size(), 3u);
  fixture.plan.trials.timed = 0;
  EXPECT_EQ(outcome_text(fixture.run()), "passed") << "nothing was timed";
}

TEST(Attempt, each_calibrator_of_a_plan_is_kept_separately) {
  JudgeFixture fixture;
  const std::int64_t start_ns = clock_ns();
  int calls[2] = {};
  fixture.calibrator_script = [&](FakeTurn& turn) { calls[0] += turn.command == Command::null_call; };
  ASSERT_EQ(outcome_text(fixture.run()), "passed");
  const int at_first = calls[0];
  EXPECT_GT(at_first, 0);
  auto first = std::move(fixture.calibrator);
  fixture.plan.calibrator = 1;
  fixture.calibrator_script = [&](FakeTurn& turn) { calls[1] += turn.command == Command::null_call; };
  ASSERT_EQ(outcome_text(fixture.run()), "passed");
  EXPECT_EQ(calls[0], at_first);
  EXPECT_EQ(calls[1], at_first);
  std::swap(first, fixture.calibrator);
  fixture.plan.calibrator = 0;
  ASSERT_EQ(outcome_text(fixture.run()), "passed");
  EXPECT_GE(calls[0], at_first + kNullCalls);
  const bool is_reusable = clock_ns() - start_ns < kCalibrationAgeMaxNs;  // false on a very slow host
  EXPECT_TRUE(!is_reusable || calls[0] == at_first + kNullCalls) << "the calibration before the attempt is reused";
  EXPECT_EQ(calls[1], at_first);
}

TEST(Attempt, the_reported_time_of_trials_excludes_loading) {
  constexpr std::int64_t kLoadUs = 300'000;
  JudgeFixture fixture;
  const std::int64_t start_ns = clock_ns();
  const Report report = fixture.run([&](FakeTurn& turn) {
    if (turn.command == Command::load) ::usleep(kLoadUs);
    if (turn.command == Command::call) ::usleep(2'000);
  });
  EXPECT_EQ(outcome_text(report), "passed");
  EXPECT_GE(report.trials_us, 7 * 2'000);
  EXPECT_LE(report.trials_us, (clock_ns() - start_ns) / 1'000 - kLoadUs * 9 / 10);
  const Report wrong =
      fixture.run(at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.outputs[0]) = 1e9f; }));
  EXPECT_EQ(outcome_text(wrong), "wrong_answer/value at judge");
  EXPECT_GT(wrong.trials_us, 0);
  const Report unloaded = fixture.run(at(Command::load, [](FakeTurn& turn) { turn.fail(Failure::load_failed, "no"); }));
  EXPECT_EQ(unloaded.trials_us, 0) << outcome_text(unloaded);
}

TEST(Attempt, every_trial_has_its_own_inputs_and_seed) {
  JudgeFixture fixture;
  std::set<std::uint64_t> seeds;
  std::set<float> inputs;
  const Report report = fixture.run(at(Command::call, [&](FakeTurn& turn) {
    seeds.insert(turn.seed);
    inputs.insert(*fake_data<float>(turn, turn.page.inputs[0]));
  }));
  EXPECT_EQ(outcome_text(report), "passed");
  EXPECT_EQ(seeds.size(), 7u);
  EXPECT_GE(inputs.size(), 6u);
}

TEST(Attempt, both_sides_get_the_same_seeds) {
  JudgeFixture fixture;
  std::vector<std::uint64_t> submission;
  std::vector<std::uint64_t> reference;
  std::vector<std::uint64_t> answered;
  fixture.run(
      [&](FakeTurn& turn) {
        if (turn.command == Command::load || turn.command == Command::call) submission.push_back(turn.seed);
      },
      [&](FakeTurn& turn) {
        if (turn.command == Command::load || turn.command == Command::call) reference.push_back(turn.seed);
        if (turn.command != Command::answer) return;
        for (const Seeds& asked : fake_answer_seeds(turn)) answered.push_back(asked.calls);
      });
  EXPECT_EQ(submission.front(), reference.front());  // the seeds of the constructors
  reference.insert(reference.end(), answered.begin(), answered.end());
  EXPECT_EQ(std::set(submission.begin(), submission.end()), std::set(reference.begin(), reference.end()));
}

TEST(Attempt, a_submission_never_learns_the_seed_of_its_inputs) {
  JudgeFixture fixture;
  std::set<std::uint64_t> known, inputs;
  fixture.run([&](FakeTurn& turn) { known.insert(turn.seed); },
              [&](FakeTurn& turn) {
                if (turn.command == Command::make_inputs) inputs.insert(turn.seed);
                if (turn.command != Command::answer) return;
                for (const Seeds& asked : fake_answer_seeds(turn)) inputs.insert(asked.inputs);
              });
  EXPECT_EQ(inputs.size(), 7u);
  for (const std::uint64_t seed : inputs) EXPECT_FALSE(known.contains(seed));
}

TEST(Attempt, without_timed_trials_there_are_no_statistics) {
  JudgeFixture fixture;
  fixture.plan.trials = {.correctness = 1, .warmup = 0, .timed = 0};
  const Report report = fixture.run();
  ASSERT_EQ(outcome_text(report), "passed");
  EXPECT_EQ(measurement_of(*report.verdict)->submission, Statistics{});
  EXPECT_EQ(correctness_of(*report.verdict)->trials_passed, 1u);
}

TEST(Attempt, slow_calls_are_timed_until_their_budget_is_spent) {
  JudgeFixture fixture;
  fixture.plan.trials = {.correctness = 1, .warmup = 0, .timed = 20};
  // The judge subtracts the overhead, so the calls are much longer than the overhead on a busy host.
  const Twist slow = at(Command::call, [](FakeTurn&) { ::usleep(50'000); });
  fixture.plan.limits.timed_budget_ms = 300;
  const Report report = fixture.run(slow);
  ASSERT_EQ(outcome_text(report), "passed");
  EXPECT_GE(report.samples.submission_ns.size(), kTimedSamplesMin);
  EXPECT_LT(report.samples.submission_ns.size(), 20u);
  fixture.plan.limits.timed_budget_ms = 0;
  EXPECT_EQ(fixture.run(slow).samples.submission_ns.size(), kTimedSamplesMin);
  fixture.plan.limits.timed_budget_ms = 1'000;
  int calls = 0;
  EXPECT_EQ(fixture.run(at(Command::call, [&](FakeTurn&) { ::usleep(++calls == 8 ? 1'100'000 : 0); }))
                .samples.submission_ns.size(),
            20u)
      << "one that sleeps ends nothing";
}

TEST(Attempt, nothing_passes_unchecked) {
  JudgeFixture fixture;
  fixture.plan.trials = {.correctness = 0, .warmup = 0, .timed = 0};
  const Report report =
      fixture.run(at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.outputs[0]) = 1e9f; }));
  EXPECT_EQ(outcome_text(report), "wrong_answer/value at judge");
}

TEST(Attempt, small_errors_are_within_the_tolerance_and_reported) {
  JudgeFixture fixture;
  const Report report =
      fixture.run(at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.outputs[0]) += 5e-5f; }));
  ASSERT_EQ(outcome_text(report), "passed");
  EXPECT_GT(correctness_of(*report.verdict)->max_abs_err, 0);
}

TEST(Attempt, the_problem_may_be_stricter) {
  JudgeFixture fixture;
  fixture.plan.atol = 1e-6;
  fixture.plan.rtol = 0;
  const Report report =
      fixture.run(at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.outputs[0]) += 5e-5f; }));
  EXPECT_EQ(outcome_text(report), "wrong_answer/value at judge");
}

TEST(Attempt, a_wrong_value_is_named) {
  JudgeFixture fixture;
  const Report report =
      fixture.run(at(Command::call, [](FakeTurn& turn) { fake_data<float>(turn, turn.page.outputs[0])[3] = -77; }));
  ASSERT_EQ(outcome_text(report), "wrong_answer/value at judge");
  const Mismatch& mismatch = *evidence_in(report).mismatch;
  EXPECT_EQ(mismatch.trial, 0u);
  EXPECT_EQ(mismatch.output, 0u);
  EXPECT_EQ(mismatch.element, 3u);
  EXPECT_EQ(mismatch.got, -77);
  EXPECT_EQ(mismatch.mismatched, 1u);
  EXPECT_EQ(mismatch.total, 8u);
  EXPECT_TRUE(evidence_in(report).message.starts_with(
      "output 0, float32[8]: 1 of 8 elements differs, in trial 0; the worst is at [3]: expected "));
  EXPECT_EQ(mismatch.worst_place, "[3]");
  EXPECT_EQ(mismatch.worst_got, -77);
  EXPECT_EQ(mismatch.worst_error, std::abs(-77 - mismatch.worst_expected));
  EXPECT_EQ(mismatch.rtol, 1e-4);
  EXPECT_EQ(mismatch.atol, 1e-4);
  EXPECT_TRUE(report.reference_usable);
  EXPECT_TRUE(report.samples.submission_ns.empty());
}

TEST(Attempt, the_last_trial_is_checked_like_the_first) {
  JudgeFixture fixture;
  int calls = 0;
  const Report report = fixture.run(at(Command::call, [&](FakeTurn& turn) {
    if (++calls == 7) *fake_data<std::int32_t>(turn, turn.page.outputs[1]) += 1;
  }));
  ASSERT_EQ(outcome_text(report), "wrong_answer/value at judge");
  EXPECT_EQ(evidence_in(report).mismatch->trial, 6u);
  EXPECT_EQ(evidence_in(report).mismatch->output, 1u);
}

TEST(Attempt, nan_where_the_reference_is_finite) {
  JudgeFixture fixture;
  const Report report =
      fixture.run(at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.outputs[0]) = NAN; }));
  EXPECT_EQ(outcome_text(report), "wrong_answer/nan at judge");
  EXPECT_TRUE(evidence_in(report).hint.empty());
}

TEST(Attempt, an_unwritten_output_is_named_in_the_hint) {
  JudgeFixture fixture;
  std::vector<float> poison(8);
  const Report report = fixture.run([&](FakeTurn& turn) {
    float* y = turn.command == Command::call ? fake_data<float>(turn, turn.page.outputs[0]) : nullptr;
    if (y == nullptr) return;
    std::memcpy(y, turn.window + turn.page.outputs[0].offset - 256,
                32);  // the gap was filled with the same word
  });
  EXPECT_EQ(outcome_text(report), "wrong_answer/nan at judge");
  EXPECT_EQ(evidence_in(report).hint,
            "all 8 wrong elements still hold the value that the judge wrote before the call, so the call has not "
            "written them");
  EXPECT_EQ(evidence_in(report).mismatch->looks_like, "unwritten");
  EXPECT_EQ(evidence_in(report).mismatch->not_finite, 8u);
}

TEST(Attempt, shape_dtype_and_count_of_outputs_matter) {
  JudgeFixture fixture;
  EXPECT_EQ(outcome_text(fixture.run(at(Command::call, [](FakeTurn& turn) { turn.page.outputs[0].shape[0] = 7; }))),
            "wrong_answer/shape at judge");
  const Report dtype =
      fixture.run(at(Command::call, [](FakeTurn& turn) { turn.page.outputs[1].dtype = channel::Dtype::float32; }));
  EXPECT_EQ(outcome_text(dtype), "wrong_answer/dtype at judge");
  EXPECT_EQ(evidence_in(dtype).message, "output 1 is float32[1], must be int32[1], in trial 0");
  EXPECT_EQ(outcome_text(fixture.run(at(Command::call, [](FakeTurn& turn) { turn.page.output_count = 1; }))),
            "wrong_answer/shape at judge");
}

TEST(Attempt, an_offset_that_the_child_reports_is_ignored_in_the_window) {
  JudgeFixture fixture;
  const Report report =
      fixture.run(at(Command::call, [](FakeTurn& turn) { turn.page.outputs[0].offset = 1ull << 60; }));
  EXPECT_EQ(outcome_text(report), "passed");
}

TEST(Attempt, an_output_outside_of_memory_is_tampering) {
  JudgeFixture fixture;
  const Report report =
      fixture.run(at(Command::call, [](FakeTurn& turn) { turn.page.outputs[0].place = channel::Place::arena; }));
  ASSERT_EQ(outcome_text(report), "rejected/tamper at judge");
  EXPECT_EQ(evidence_in(report).rule, "channel");
  EXPECT_EQ(outcome_text(fixture.run(at(
                Command::call, [](FakeTurn& turn) { turn.page.outputs[0].place = static_cast<channel::Place>(3); }))),
            "rejected/tamper at run");
}

TEST(Attempt, a_mutated_input_is_noticed) {
  JudgeFixture fixture;
  const Report report =
      fixture.run(at(Command::call, [](FakeTurn& turn) { fake_data<float>(turn, turn.page.inputs[0])[7] = 0.5f; }));
  ASSERT_EQ(outcome_text(report), "wrong_answer/mutated_input at judge");
  EXPECT_NE(evidence_in(report).message.find("the submission changed its input 0 (x) at [7]"), std::string::npos)
      << evidence_in(report).message;
}

TEST(Attempt, a_wrong_value_of_a_submission_that_changed_an_input_says_both) {
  JudgeFixture fixture;
  const Report report = fixture.run(at(Command::call, [](FakeTurn& turn) {
    fake_data<float>(turn, turn.page.inputs[0])[7] = 0.5f;
    fake_data<float>(turn, turn.page.outputs[0])[3] += 1;
  }));
  ASSERT_EQ(outcome_text(report), "wrong_answer/value at judge");
  EXPECT_NE(evidence_in(report).message.find("; also, the submission changed its input 0 (x) at [7]"),
            std::string::npos)
      << evidence_in(report).message;
}

TEST(Attempt, an_input_that_the_reference_mutates_may_be_mutated) {
  JudgeFixture fixture;
  const Twist mutate = at(Command::call, [](FakeTurn& turn) { fake_data<float>(turn, turn.page.inputs[0])[7] = 99; });
  EXPECT_EQ(outcome_text(fixture.run(mutate, mutate)), "passed");
}

TEST(Attempt, writing_past_an_output_or_input_is_noticed) {
  JudgeFixture fixture;
  const Report output =
      fixture.run(at(Command::call, [](FakeTurn& turn) { fake_data<float>(turn, turn.page.outputs[0])[8] = 1; }));
  EXPECT_EQ(outcome_text(output), "wrong_answer/mutated_input at judge");
  EXPECT_NE(evidence_in(output).message.find("outside of its outputs"), std::string::npos);
  const Report input =
      fixture.run(at(Command::call, [](FakeTurn& turn) { fake_data<float>(turn, turn.page.inputs[0])[-1] = 1; }));
  EXPECT_NE(evidence_in(input).message.find("outside of its inputs"), std::string::npos);
}

TEST(Attempt, the_state_of_the_reference_reaches_the_submission) {
  JudgeFixture fixture;
  float w = 0;
  fixture.run(at(Command::load, [&](FakeTurn& turn) { w = *fake_data<float>(turn, turn.page.states[0]); }));
  EXPECT_GE(w, 1);
}

TEST(Attempt, a_slow_call_has_a_larger_sample) {
  JudgeFixture fixture;
  fixture.plan.trials.timed = 5;
  const Report report = fixture.run(at(Command::call, [](FakeTurn&) { ::usleep(3'000); }));
  ASSERT_EQ(outcome_text(report), "passed");
  const Measurement& measurement = *measurement_of(*report.verdict);
  EXPECT_GE(measurement.submission.min_ns + measurement.overhead_ns, 3e6 - 1);
}

TEST(Attempt, the_reference_is_timed_on_the_same_clock) {
  JudgeFixture fixture;
  const Report report = fixture.run({}, at(Command::call, [](FakeTurn&) { ::usleep(3'000); }));
  ASSERT_EQ(outcome_text(report), "passed");
  const Measurement& measurement = *measurement_of(*report.verdict);
  EXPECT_GE(measurement.reference.min_ns + measurement.overhead_ns, 3e6 - 1);
}

// Returns a twist that reports `ns` by the child's own clock in every call.
Twist says(std::int64_t ns) {
  return [ns](FakeTurn& turn) { turn.page.event_ns = turn.command == Command::call ? ns : 0; };
}

TEST(Attempt, the_childs_own_clock_gains_the_slack_at_most) {
  JudgeFixture fixture;
  const Twist forged = [](FakeTurn& turn) {
    if (turn.command == Command::call) ::usleep(1'000);
    says(1)(turn);
  };
  EXPECT_TRUE(fixture.run(forged).disagreement.empty()) << "a judge that sleeps cannot say";
  fixture.use(std::move(*open_cpu_device()), WaitMode::spin);
  fixture.calibrator.reset();
  const Report report = fixture.run(forged);
  ASSERT_EQ(outcome_text(report), "passed");
  const Measurement& measurement = *measurement_of(*report.verdict);
  EXPECT_EQ(measurement.event_ns, 1);
  EXPECT_LT(measurement.submission.median_ns, measurement.attested_ns);
  EXPECT_GE(measurement.submission.median_ns, measurement.attested_ns * 0.98 - 2'000);
  EXPECT_NE(report.disagreement.find("the clock inside of the submission's process 0.0 us"), std::string::npos);
}

TEST(Attempt, a_calibrator_that_slows_down_is_reported_as_drift) {
  JudgeFixture fixture;
  bool is_slow = false;
  fixture.calibrator_script = [&](FakeTurn&) {
    ::usleep(is_slow ? 100'000 : 100);
  };  // on a busy machine both may take some milliseconds longer
  const Report report = fixture.run(at(Command::load, [&](FakeTurn&) { is_slow = true; }));
  ASSERT_EQ(outcome_text(report), "passed");
  EXPECT_GT(measurement_of(*report.verdict)->drift_ns, 1e6);
}

TEST(Attempt, the_overhead_on_a_busy_machine_is_limited) {
  JudgeFixture fixture;
  fixture.calibrator_script = [&](FakeTurn&) { ::usleep(3'000); };
  const Report report = fixture.run(at(Command::null_call, [](FakeTurn&) { ::usleep(3'000); }));
  ASSERT_EQ(outcome_text(report), "passed");
  EXPECT_EQ(measurement_of(*report.verdict)->overhead_ns, kOverheadMaxNs);
}

TEST(Attempt, a_calibrator_that_fails_is_our_fault_and_replaced) {
  JudgeFixture fixture;
  fixture.calibrator_script = [](FakeTurn& turn) { turn.fail(Failure::gpu_fault, "lost"); };
  EXPECT_EQ(outcome_text(fixture.run()), "error: a fresh calibrator child could not be set up: lost");
  fixture.calibrator_script = [](FakeTurn&) {};
  EXPECT_EQ(outcome_text(fixture.run()), "passed");
}

// A device on which another process works for this long before each call.
std::unique_ptr<Device> busy_device(std::function<std::int64_t()> occupancy_gap) {
  auto device = std::make_unique<FakeDevice>();
  device->occupancy_gap = std::move(occupancy_gap);
  return device;
}

TEST(Attempt, a_trial_during_other_work_on_the_device_is_repeated) {
  JudgeFixture fixture;
  int calls = 0;
  std::int64_t occupancy_gap_ns = 40'000;
  fixture.use(busy_device([&] { return occupancy_gap_ns; }));
  const Report report = fixture.run(
      at(Command::call, [&](FakeTurn&) { occupancy_gap_ns = ++calls % 3 == 0 ? 40'000 + kForeignGapNs + 1 : 40'000; }));
  ASSERT_EQ(outcome_text(report), "passed");
  EXPECT_EQ(report.samples.submission_ns.size(), 3u);
  EXPECT_GE(calls, 9);
}

TEST(Attempt, work_between_the_calls_is_rejected) {
  JudgeFixture fixture;
  std::int64_t occupancy_gap_ns = 0;
  fixture.use(busy_device([&] { return occupancy_gap_ns; }));
  const Report report = fixture.run(at(Command::load, [&](FakeTurn&) { occupancy_gap_ns = 2'390'000; }));
  ASSERT_EQ(outcome_text(report), "rejected/async at judge");
  EXPECT_EQ(evidence_in(report).rule, "quiet");
  EXPECT_NE(evidence_in(report).message.find("for 2390 us before a call"), std::string::npos);
}

Twist report_failure(JudgeFixture& fixture, Command command, int wait_status, ChildRole role = ChildRole::submission) {
  return at(command, [&fixture, wait_status, role](FakeTurn& turn) {
    fixture.exits.tell(role, wait_status);
    turn.ends = true;
  });
}

TEST(Attempt, each_kind_of_exit_has_its_own_message) {
  JudgeFixture fixture;
  const Report segv = fixture.run(report_failure(fixture, Command::call, 11));
  EXPECT_EQ(outcome_text(segv), "crashed/signal 11 at run");
  EXPECT_EQ(evidence_in(segv).message, "its process died of signal 11 (Segmentation fault)");
  EXPECT_TRUE(segv.reference_usable);
  const Report killed = fixture.run(report_failure(fixture, Command::load, 9));
  EXPECT_EQ(outcome_text(killed), "crashed/signal 9 at load");
  EXPECT_NE(evidence_in(killed).hint.find("no more memory"), std::string::npos);
  const Report hog = fixture.run(report_failure(fixture, Command::call, 9 | kKilledForMemory));
  EXPECT_EQ(outcome_text(hog), "out_of_memory/host at run");
  const Report exit = fixture.run(report_failure(fixture, Command::call, 3 << 8));
  EXPECT_EQ(outcome_text(exit), "runtime_error at run");
  EXPECT_EQ(evidence_in(exit).message, "it ended its process with status 3");
}

TEST(Attempt, a_failure_that_a_submission_reports_is_its_verdict) {
  struct Row {
    Command command;
    Failure failure;
    const char* outcome_text;
  };
  const Row rows[] = {
      {Command::load, Failure::load_failed, "load_failed at load"},
      {Command::load, Failure::runtime_error, "load_failed at load"},
      {Command::load, Failure::unsupported_here, "unsupported_here at load"},
      {Command::load, Failure::out_of_host_memory, "out_of_memory/host at load"},
      {Command::call, Failure::runtime_error, "runtime_error at run"},
      {Command::call, Failure::out_of_gpu_memory, "out_of_memory/gpu at run"},
      {Command::call, Failure::gpu_fault, "gpu_fault at run"},
      {Command::call, Failure::problem_invalid, "runtime_error at run"},
      {Command::call, Failure::none, "runtime_error at run"},
  };
  JudgeFixture fixture;
  for (const Row& row : rows) {
    const Report report = fixture.run(at(row.command, [&](FakeTurn& turn) { turn.fail(row.failure, "because \x1b"); }));
    EXPECT_EQ(outcome_text(report), row.outcome_text);
    EXPECT_EQ(evidence_in(report).message, "because ?");
    EXPECT_TRUE(report.reference_usable);
  }
}

TEST(Attempt, a_malformed_page_is_tampering) {
  JudgeFixture fixture;
  const Report report = fixture.run(at(Command::call, [](FakeTurn& turn) { turn.page.output_count = 9999; }));
  ASSERT_EQ(outcome_text(report), "rejected/tamper at run");
  EXPECT_EQ(evidence_in(report).rule, "channel");
}

TEST(Attempt, a_child_that_breaks_before_its_own_code_runs_is_our_fault) {
  JudgeFixture fixture;
  const Report attach =
      fixture.run(at(Command::attach, [](FakeTurn& turn) { turn.fail(Failure::runtime_error, "no memory to map"); }));
  EXPECT_EQ(outcome_text(attach), "error: a fresh submission child could not be set up: no memory to map");
  EXPECT_FALSE(attach.reference_usable);
  const Report null_call =
      fixture.run({}, at(Command::null_call, [](FakeTurn& turn) { turn.fail(Failure::problem_invalid, "no CUDA"); }));
  EXPECT_EQ(outcome_text(null_call), "error: a fresh reference child could not be set up: no CUDA");
}

TEST(Attempt, a_failing_reference_makes_the_problem_invalid) {
  JudgeFixture fixture;
  const Report load =
      fixture.run({}, at(Command::load, [](FakeTurn& turn) { turn.fail(Failure::problem_invalid, "no get_inputs"); }));
  EXPECT_EQ(outcome_text(load), "problem_invalid at load");
  EXPECT_EQ(evidence_in(load).message, "the reference: no get_inputs");
  EXPECT_FALSE(load.reference_usable);
  EXPECT_EQ(outcome_text(fixture.run({}, report_failure(fixture, Command::call, 11, ChildRole::reference))),
            "problem_invalid at run");
  EXPECT_EQ(outcome_text(fixture.run({}, at(Command::answer, [](FakeTurn& turn) { turn.page.input_count = 65; }))),
            "problem_invalid at run");
  fixture.plan.limits.load_limit_ms = 2'000;  // also the limit of honest commands before the load
  EXPECT_EQ(outcome_text(fixture.run({}, at(Command::load, [](FakeTurn& turn) { turn.answers = false; }))),
            "problem_invalid at load");
}

TEST(Attempt, a_reference_out_of_memory_is_too_large) {
  JudgeFixture fixture;
  EXPECT_EQ(outcome_text(fixture.run(
                {}, at(Command::load, [](FakeTurn& turn) { turn.fail(Failure::out_of_gpu_memory, "40 GiB"); }))),
            "too_large/gpu at load");
}

TEST(Attempt, a_nondeterministic_reference_makes_the_problem_invalid) {
  JudgeFixture fixture;
  int calls = 0;
  const Report report = fixture.run({}, at(Command::call, [&](FakeTurn& turn) {
                                      *fake_data<float>(turn, turn.page.outputs[0]) += static_cast<float>(++calls);
                                    }));
  ASSERT_EQ(outcome_text(report), "problem_invalid/nondeterministic at judge");
  EXPECT_NE(evidence_in(report).message.find("disagrees with itself"), std::string::npos);
}

TEST(Attempt, shapes_that_change_with_the_seed_make_the_problem_invalid) {
  JudgeFixture fixture;
  for (const Command command : {Command::answer, Command::make_inputs}) {
    const Twist slowly = [command](FakeTurn& turn) {
      if (turn.command == command) turn.page.inputs[0].shape[0] = 9;
      if (turn.command == Command::answer)
        ::usleep(kCommandNsMax / 1'000);  // so that the timed reference draws its own inputs
    };
    EXPECT_EQ(outcome_text(fixture.run({}, slowly)), "problem_invalid at judge");
  }
  EXPECT_EQ(outcome_text(fixture.run({}, at(Command::call, [](FakeTurn& turn) { turn.page.outputs[0].shape[0] = 9; }))),
            "problem_invalid at judge");
}

TEST(Attempt, more_than_the_window_limit_is_too_large) {
  JudgeFixture fixture;
  fixture.plan.limits.window_bytes_max = 1024;
  const Report report = fixture.run();
  ASSERT_EQ(outcome_text(report), "too_large at load");
  EXPECT_EQ(evidence_in(report).message,
            "inputs, outputs and state need 3.0 KiB, but the window may have only 1.0 KiB");
  EXPECT_FALSE(report.reference_usable) << "a second attempt with this reference would be an error of the worker";
}

TEST(Attempt, a_problem_beyond_the_machine_is_too_large) {
  JudgeFixture fixture;
  fixture.plan.limits.window_bytes_max = ~0ull;
  EXPECT_EQ(outcome_text(
                fixture.run({}, at(Command::load, [](FakeTurn& turn) { turn.page.inputs[0].shape[0] = 1ll << 45; }))),
            "too_large/host at load");
}

TEST(Attempt, the_reference_serves_one_attempt_after_another) {
  JudgeFixture fixture;
  std::set<std::uint64_t> model_seeds;
  const Twist reference = at(Command::load, [&](FakeTurn& turn) { model_seeds.insert(turn.seed); });
  ASSERT_EQ(outcome_text(fixture.run({}, reference)), "passed");
  EXPECT_EQ(outcome_text(fixture.run_again(
                at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.outputs[0]) = 1e6f; }))),
            "wrong_answer/value at judge");
  EXPECT_EQ(outcome_text(fixture.run_again()), "passed");
  EXPECT_EQ(model_seeds.size(), 3u);
}

TEST(Attempt, a_kept_reference_may_describe_another_layout) {
  JudgeFixture fixture;
  int loads = 0;
  const Report first =
      fixture.run({}, at(Command::load, [&](FakeTurn& turn) { turn.page.states[0].shape[0] = 4 + loads++; }));
  ASSERT_EQ(outcome_text(first), "passed");
  EXPECT_EQ(outcome_text(fixture.run_again()), "passed");
}

TEST(Attempt, a_kept_reference_that_fails_is_an_error_and_is_replaced) {
  for (const Failure failure :
       {Failure::problem_invalid, Failure::out_of_gpu_memory}) {  // the latter where a model keeps too much memory
    JudgeFixture fixture;
    ASSERT_EQ(outcome_text(fixture.run({}, at(Command::load,
                                              [&, loads = 0](FakeTurn& turn) mutable {
                                                if (++loads == 2) turn.fail(failure, "tired");
                                              }))),
              "passed");
    const Report report = fixture.run_again();
    EXPECT_EQ(outcome_text(report), "error: a kept reference child failed: the reference: tired");
    EXPECT_FALSE(report.reference_usable);
    EXPECT_EQ(outcome_text(fixture.run_again()),
              "error: the plan needs a reference child that the judge does not have");
    EXPECT_EQ(outcome_text(fixture.run()), "passed");
  }
}

TEST(Attempt, the_report_includes_the_time_waited_for_a_processor) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  const int cpu = ::sched_getcpu();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  JudgeFixture fixture;
  fixture.plan.trials.timed = 50;
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  std::atomic<bool> is_over = false;
  std::thread rival([&] {
    while (!is_over) {
    }
  });
  const Report report = fixture.run(at(Command::call, [](FakeTurn&) { ::usleep(1'000); }));
  is_over = true;
  rival.join();
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  ASSERT_EQ(outcome_text(report), "passed");
  EXPECT_GT(report.waited_us, 0);
  EXPECT_LE(report.waited_us, report.trials_us);
}

TEST(Attempt, lost_control_is_an_error) {
  JudgeFixture fixture;
  fixture.exits.is_control_gone = true;
  const Report report = fixture.run(at(Command::load, [](FakeTurn& turn) { turn.answers = false; }));
  EXPECT_EQ(outcome_text(report), "error: control is gone");
}

// A hostile submission writes anything wherever it can. Every attempt must still end in a verdict about the submission,
// and the reference must stay usable.
TEST(Attempt, a_submission_that_writes_anywhere_ends_in_a_verdict) {
  JudgeFixture fixture;
  std::mt19937_64 random(11);
  ASSERT_EQ(outcome_text(fixture.run()), "passed");
  fixture.plan.limits.call_limit_ms = 50;  // for submissions that destroy their answer; an honest call may need longer
  for (int round = 0; round < 40; ++round) {
    const Report report = fixture.run_again(at(Command::call, [&](FakeTurn& turn) {
      auto* page = reinterpret_cast<unsigned char*>(&turn.page);
      for (int i = 0; i < 3'000; ++i)
        page[random() % sizeof(channel::Page)] = static_cast<unsigned char>(random() % (round % 2 == 0 ? 256 : 3));
      for (int i = 0; i < 500; ++i) turn.window[random() % turn.window_bytes] = static_cast<char>(random());
    }));
    ASSERT_TRUE(report.verdict) << report.error;
    ASSERT_NE(outcome_text(report), "passed");
    ASSERT_TRUE(report.reference_usable);
  }
}

}  // namespace
}  // namespace kq::judge
