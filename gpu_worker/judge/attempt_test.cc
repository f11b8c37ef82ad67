#include "gpu_worker/judge/attempt.h"

#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_device.h"
#include "gpu_worker/judge/testing/fake_problem.h"

namespace kq::judge {
namespace {

using channel::Command;
using channel::Failure;

TEST(Attempt, a_right_submission_passes_with_figures) {
  FakeHouse house;
  const Report report = house.run();
  ASSERT_EQ(ending(report), "passed");
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

// A tolerance that takes zeros for right tells nothing of them: not who is right, and so not who is wrong.
TEST(Attempt, who_is_right_by_the_tolerance_alone_is_suspect) {
  for (const int honest_calls : {1'000, 1}) {
    FakeHouse house;
    house.plan.atol = 1'000;
    int calls = 0;
    const Report report = house.run(at(Command::call, [&](FakeTurn& turn) {
      if (++calls > honest_calls) std::fill_n(fake_data<float>(turn, turn.page.outputs[0]), 8, 0.0f);
    }));
    if (honest_calls > 1) {
      EXPECT_EQ(ending(report), "passed");
      continue;
    }
    ASSERT_EQ(ending(report), "suspect/value at judge");
    EXPECT_NE(measurement_of(*report.verdict), nullptr);
    EXPECT_EQ(report.samples.submission_ns.size(), 3u);
    EXPECT_NE(evidence_in(report).message.find("zeros are within the tolerance"), std::string::npos)
        << evidence_in(report).message;
    EXPECT_NE(evidence_in(report).message.find("in trial 1 "), std::string::npos) << evidence_in(report).message;
  }
}

TEST(Attempt, who_is_quicker_than_the_memory_is_suspect) {
  FakeHouse house;
  auto device = std::make_unique<FakeDevice>();
  device->floor_ns = 3'600e9;
  house.use(std::move(device));
  const Report report = house.run();
  ASSERT_EQ(ending(report), "suspect/floor at judge");
  EXPECT_NE(evidence_in(report).message.find(" us a call, and to write an output of "), std::string::npos)
      << evidence_in(report).message;
  EXPECT_EQ(report.samples.submission_ns.size(), 3u);
  house.plan.trials.timed = 0;
  EXPECT_EQ(ending(house.run()), "passed") << "nothing was timed";
}

TEST(Attempt, each_kind_of_children_keeps_a_calibrator_of_its_own) {
  FakeHouse house;
  int calls[2] = {};
  house.calibrator_script = [&](FakeTurn& turn) { calls[0] += turn.command == Command::null_call; };
  ASSERT_EQ(ending(house.run()), "passed");
  const int at_first = calls[0];
  EXPECT_GT(at_first, 0);
  auto first = std::move(house.calibrator);
  house.plan.calibrator = 1;
  house.calibrator_script = [&](FakeTurn& turn) { calls[1] += turn.command == Command::null_call; };
  ASSERT_EQ(ending(house.run()), "passed");
  EXPECT_EQ(calls[0], at_first);
  EXPECT_EQ(calls[1], at_first);
  std::swap(first, house.calibrator);
  house.plan.calibrator = 0;
  ASSERT_EQ(ending(house.run()), "passed");
  EXPECT_EQ(calls[0], at_first + kNullCalls);  // those before are remembered
  EXPECT_EQ(calls[1], at_first);
}

TEST(Attempt, the_time_of_the_trials_is_that_of_calls_and_not_of_loading) {
  constexpr std::int64_t kLoadUs = 300'000;
  FakeHouse house;
  const Report report = house.run([&](FakeTurn& turn) {
    if (turn.command == Command::load) ::usleep(kLoadUs);
    if (turn.command == Command::call) ::usleep(2'000);
  });
  EXPECT_EQ(ending(report), "passed");
  EXPECT_GE(report.trials_us, 7 * 2'000);
  EXPECT_LT(report.trials_us, kLoadUs);
  const Report wrong =
      house.run(at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.outputs[0]) = 1e9f; }));
  EXPECT_EQ(ending(wrong), "wrong_answer/value at judge");
  EXPECT_GT(wrong.trials_us, 0);
  const Report unloaded = house.run(at(Command::load, [](FakeTurn& turn) { turn.fail(Failure::load_failed, "no"); }));
  EXPECT_EQ(unloaded.trials_us, 0) << ending(unloaded);
}

TEST(Attempt, every_trial_has_inputs_and_a_seed_of_its_own) {
  FakeHouse house;
  std::set<std::uint64_t> seeds;
  std::set<float> inputs;
  const Report report = house.run(at(Command::call, [&](FakeTurn& turn) {
    seeds.insert(turn.seed);
    inputs.insert(*fake_data<float>(turn, turn.page.inputs[0]));
  }));
  EXPECT_EQ(ending(report), "passed");
  EXPECT_EQ(seeds.size(), 7u);
  EXPECT_GE(inputs.size(), 6u);
}

TEST(Attempt, both_sides_get_the_same_seeds) {
  FakeHouse house;
  std::vector<std::uint64_t> submission;
  std::vector<std::uint64_t> reference;
  std::vector<std::uint64_t> answered;
  house.run(
      [&](FakeTurn& turn) {
        if (turn.command == Command::load || turn.command == Command::call) submission.push_back(turn.seed);
      },
      [&](FakeTurn& turn) {
        if (turn.command == Command::load || turn.command == Command::call) reference.push_back(turn.seed);
        if (turn.command != Command::answer) return;
        for (const Seeds& asked : fake_asked(turn)) answered.push_back(asked.calls);
      });
  EXPECT_EQ(submission.front(), reference.front());  // of the constructors
  reference.insert(reference.end(), answered.begin(), answered.end());
  EXPECT_EQ(std::set(submission.begin(), submission.end()), std::set(reference.begin(), reference.end()));
}

TEST(Attempt, the_seed_of_the_inputs_is_no_submissions_to_know) {
  FakeHouse house;
  std::set<std::uint64_t> known, inputs;
  house.run([&](FakeTurn& turn) { known.insert(turn.seed); },
            [&](FakeTurn& turn) {
              if (turn.command == Command::make_inputs) inputs.insert(turn.seed);
              if (turn.command != Command::answer) return;
              for (const Seeds& asked : fake_asked(turn)) inputs.insert(asked.inputs);
            });
  EXPECT_EQ(inputs.size(), 7u);
  for (const std::uint64_t seed : inputs) EXPECT_FALSE(known.contains(seed));
}

TEST(Attempt, without_timed_trials_there_are_no_statistics) {
  FakeHouse house;
  house.plan.trials = {.correctness = 1, .warmup = 0, .timed = 0};
  const Report report = house.run();
  ASSERT_EQ(ending(report), "passed");
  EXPECT_EQ(measurement_of(*report.verdict)->submission, Statistics{});
  EXPECT_EQ(correctness_of(*report.verdict)->trials_passed, 1u);
}

TEST(Attempt, slow_calls_are_timed_until_their_budget_is_spent) {
  FakeHouse house;
  house.plan.trials = {.correctness = 1, .warmup = 0, .timed = 20};
  house.plan.limits.timed_budget_ms = 12;
  const Report report = house.run(at(Command::call, [](FakeTurn&) { ::usleep(2'000); }));
  ASSERT_EQ(ending(report), "passed");
  EXPECT_GE(report.samples.submission_ns.size(), kTimedSamplesMin);
  EXPECT_LE(report.samples.submission_ns.size(), 8u);
  house.plan.limits.timed_budget_ms = 0;
  EXPECT_EQ(house.run(at(Command::call, [](FakeTurn&) { ::usleep(2'000); })).samples.submission_ns.size(),
            kTimedSamplesMin);
  house.plan.limits.timed_budget_ms = 200;
  int calls = 0;
  EXPECT_EQ(house.run(at(Command::call, [&](FakeTurn&) { ::usleep(++calls == 8 ? 250'000 : 0); }))
                .samples.submission_ns.size(),
            20u)
      << "one that sleeps ends nothing";
}

TEST(Attempt, nothing_passes_unchecked) {
  FakeHouse house;
  house.plan.trials = {.correctness = 0, .warmup = 0, .timed = 0};
  const Report report =
      house.run(at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.outputs[0]) = 1e9f; }));
  EXPECT_EQ(ending(report), "wrong_answer/value at judge");
}

TEST(Attempt, small_errors_are_within_the_tolerance_and_told) {
  FakeHouse house;
  const Report report =
      house.run(at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.outputs[0]) += 5e-5f; }));
  ASSERT_EQ(ending(report), "passed");
  EXPECT_GT(correctness_of(*report.verdict)->max_abs_err, 0);
}

TEST(Attempt, the_problem_may_be_stricter) {
  FakeHouse house;
  house.plan.atol = 1e-6;
  house.plan.rtol = 0;
  const Report report =
      house.run(at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.outputs[0]) += 5e-5f; }));
  EXPECT_EQ(ending(report), "wrong_answer/value at judge");
}

TEST(Attempt, a_wrong_value_is_named) {
  FakeHouse house;
  const Report report =
      house.run(at(Command::call, [](FakeTurn& turn) { fake_data<float>(turn, turn.page.outputs[0])[3] = -77; }));
  ASSERT_EQ(ending(report), "wrong_answer/value at judge");
  const Mismatch& mismatch = *evidence_in(report).mismatch;
  EXPECT_EQ(mismatch.trial, 0u);
  EXPECT_EQ(mismatch.output, 0u);
  EXPECT_EQ(mismatch.element, 3u);
  EXPECT_EQ(mismatch.got, -77);
  EXPECT_EQ(mismatch.mismatched, 1u);
  EXPECT_EQ(mismatch.total, 8u);
  EXPECT_EQ(evidence_in(report).message, "output 0, float32[8]: 1 of 8 elements differ, in trial 0");
  EXPECT_TRUE(report.reference_usable);
  EXPECT_TRUE(report.samples.submission_ns.empty());
}

TEST(Attempt, the_last_trial_is_checked_like_the_first) {
  FakeHouse house;
  int calls = 0;
  const Report report = house.run(at(Command::call, [&](FakeTurn& turn) {
    if (++calls == 7) *fake_data<std::int32_t>(turn, turn.page.outputs[1]) += 1;
  }));
  ASSERT_EQ(ending(report), "wrong_answer/value at judge");
  EXPECT_EQ(evidence_in(report).mismatch->trial, 6u);
  EXPECT_EQ(evidence_in(report).mismatch->output, 1u);
}

TEST(Attempt, nan_where_the_reference_is_finite) {
  FakeHouse house;
  const Report report =
      house.run(at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.outputs[0]) = NAN; }));
  EXPECT_EQ(ending(report), "wrong_answer/nan at judge");
  EXPECT_TRUE(evidence_in(report).hint.empty());
}

TEST(Attempt, an_output_left_unwritten_is_recognised) {
  FakeHouse house;
  std::vector<float> poison(8);
  const Report report = house.run([&](FakeTurn& turn) {
    float* y = turn.command == Command::call ? fake_data<float>(turn, turn.page.outputs[0]) : nullptr;
    if (y == nullptr) return;
    std::memcpy(y, turn.window + turn.page.outputs[0].offset - 256,
                32);  // what lies in the gap was written by the same fill
  });
  EXPECT_EQ(ending(report), "wrong_answer/nan at judge");
  EXPECT_EQ(evidence_in(report).hint,
            "the first of them holds what the judge wrote there before the call: nothing was written");
}

TEST(Attempt, shape_dtype_and_count_of_outputs_matter) {
  FakeHouse house;
  EXPECT_EQ(ending(house.run(at(Command::call, [](FakeTurn& turn) { turn.page.outputs[0].shape[0] = 7; }))),
            "wrong_answer/shape at judge");
  const Report dtype =
      house.run(at(Command::call, [](FakeTurn& turn) { turn.page.outputs[1].dtype = channel::Dtype::float32; }));
  EXPECT_EQ(ending(dtype), "wrong_answer/dtype at judge");
  EXPECT_EQ(evidence_in(dtype).message, "output 1 is float32[1], must be int32[1], in trial 0");
  EXPECT_EQ(ending(house.run(at(Command::call, [](FakeTurn& turn) { turn.page.output_count = 1; }))),
            "wrong_answer/shape at judge");
}

TEST(Attempt, an_offset_of_the_childs_own_is_not_followed) {
  FakeHouse house;
  const Report report = house.run(at(Command::call, [](FakeTurn& turn) { turn.page.outputs[0].offset = 1ull << 60; }));
  EXPECT_EQ(ending(report), "passed");
}

TEST(Attempt, a_place_where_no_memory_is_is_tampering) {
  FakeHouse house;
  const Report report =
      house.run(at(Command::call, [](FakeTurn& turn) { turn.page.outputs[0].place = channel::Place::arena; }));
  ASSERT_EQ(ending(report), "rejected/tamper at judge");
  EXPECT_EQ(evidence_in(report).rule, "channel");
  EXPECT_EQ(ending(house.run(at(Command::call,
                                [](FakeTurn& turn) { turn.page.outputs[0].place = static_cast<channel::Place>(2); }))),
            "rejected/tamper at run");
}

TEST(Attempt, a_mutated_input_is_noticed) {
  FakeHouse house;
  const Report report =
      house.run(at(Command::call, [](FakeTurn& turn) { fake_data<float>(turn, turn.page.inputs[0])[7] = 0.5f; }));
  ASSERT_EQ(ending(report), "wrong_answer/mutated_input at judge");
  EXPECT_NE(evidence_in(report).message.find("input 0 (x)"), std::string::npos);
}

TEST(Attempt, an_input_that_the_reference_mutates_may_be_mutated) {
  FakeHouse house;
  const Twist mutate = at(Command::call, [](FakeTurn& turn) { fake_data<float>(turn, turn.page.inputs[0])[7] = 99; });
  EXPECT_EQ(ending(house.run(mutate, mutate)), "passed");
}

TEST(Attempt, writing_past_an_output_or_input_is_noticed) {
  FakeHouse house;
  const Report output =
      house.run(at(Command::call, [](FakeTurn& turn) { fake_data<float>(turn, turn.page.outputs[0])[8] = 1; }));
  EXPECT_EQ(ending(output), "wrong_answer/mutated_input at judge");
  EXPECT_NE(evidence_in(output).message.find("outside of its outputs"), std::string::npos);
  const Report input =
      house.run(at(Command::call, [](FakeTurn& turn) { fake_data<float>(turn, turn.page.inputs[0])[-1] = 1; }));
  EXPECT_NE(evidence_in(input).message.find("outside of its inputs"), std::string::npos);
}

TEST(Attempt, the_state_of_the_reference_reaches_the_submission) {
  FakeHouse house;
  float w = 0;
  house.run(at(Command::load, [&](FakeTurn& turn) { w = *fake_data<float>(turn, turn.page.states[0]); }));
  EXPECT_GE(w, 1);
}

TEST(Attempt, a_slow_call_has_a_larger_sample) {
  FakeHouse house;
  house.plan.trials.timed = 5;
  const Report report = house.run(at(Command::call, [](FakeTurn&) { ::usleep(3'000); }));
  ASSERT_EQ(ending(report), "passed");
  const Measurement& measurement = *measurement_of(*report.verdict);
  EXPECT_GE(measurement.submission.min_ns + measurement.overhead_ns, 3e6 - 1);
}

TEST(Attempt, the_reference_is_timed_on_the_same_clock) {
  FakeHouse house;
  const Report report = house.run({}, at(Command::call, [](FakeTurn&) { ::usleep(3'000); }));
  ASSERT_EQ(ending(report), "passed");
  const Measurement& measurement = *measurement_of(*report.verdict);
  EXPECT_GE(measurement.reference.min_ns + measurement.overhead_ns, 3e6 - 1);
}

// A child's own clock: `ns` in every call.
Twist says(std::int64_t ns) {
  return [ns](FakeTurn& turn) { turn.page.event_ns = turn.command == Command::call ? ns : 0; };
}

TEST(Attempt, the_childs_own_clock_gains_the_slack_at_most) {
  FakeHouse house;
  const Twist forged = [](FakeTurn& turn) {
    if (turn.command == Command::call) ::usleep(1'000);
    says(1)(turn);
  };
  EXPECT_TRUE(house.run(forged).disagreement.empty()) << "a judge that sleeps cannot say";
  house.use(std::move(*open_cpu_device()), Waiting::spin);
  house.calibrator.reset();
  const Report report = house.run(forged);
  ASSERT_EQ(ending(report), "passed");
  const Measurement& measurement = *measurement_of(*report.verdict);
  EXPECT_EQ(measurement.event_ns, 1);
  EXPECT_LT(measurement.submission.median_ns, measurement.attested_ns);
  EXPECT_GE(measurement.submission.median_ns, measurement.attested_ns * 0.98 - 2'000);
  EXPECT_NE(report.disagreement.find("the clock inside of the submission's process 0.0 us"), std::string::npos);
}

TEST(Attempt, a_calibrator_that_slows_down_is_told_as_drift) {
  FakeHouse house;
  bool is_slow = false;
  house.calibrator_script = [&](FakeTurn&) {
    ::usleep(is_slow ? 20'000 : 100);
  };  // a busy machine adds a millisecond or two to either
  const Report report = house.run(at(Command::load, [&](FakeTurn&) { is_slow = true; }));
  ASSERT_EQ(ending(report), "passed");
  EXPECT_GT(measurement_of(*report.verdict)->drift_ns, 1e6);
}

TEST(Attempt, on_a_busy_machine_a_limited_overhead_is_taken_off) {
  FakeHouse house;
  house.calibrator_script = [&](FakeTurn&) { ::usleep(3'000); };
  const Report report = house.run(at(Command::null_call, [](FakeTurn&) { ::usleep(3'000); }));
  ASSERT_EQ(ending(report), "passed");
  EXPECT_EQ(measurement_of(*report.verdict)->overhead_ns, kOverheadMaxNs);
}

TEST(Attempt, a_calibrator_that_fails_is_our_fault_and_replaced) {
  FakeHouse house;
  house.calibrator_script = [](FakeTurn& turn) { turn.fail(Failure::gpu_fault, "lost"); };
  EXPECT_EQ(ending(house.run()), "error: a fresh calibrator child could not be set up: lost");
  house.calibrator_script = [](FakeTurn&) {};
  EXPECT_EQ(ending(house.run()), "passed");
}

// Where somebody else had the device for so long before each call.
std::unique_ptr<Device> busy_device(std::function<std::int64_t()> absence) {
  auto device = std::make_unique<FakeDevice>();
  device->absence = std::move(absence);
  return device;
}

TEST(Attempt, a_trial_beside_somebody_elses_work_comes_again) {
  FakeHouse house;
  int calls = 0;
  std::int64_t absence_ns = 40'000;
  house.use(busy_device([&] { return absence_ns; }));
  const Report report = house.run(
      at(Command::call, [&](FakeTurn&) { absence_ns = ++calls % 3 == 0 ? 40'000 + kAbsenceNs + 1 : 40'000; }));
  ASSERT_EQ(ending(report), "passed");
  EXPECT_EQ(report.samples.submission_ns.size(), 3u);
  EXPECT_GE(calls, 9);
}

TEST(Attempt, work_between_the_calls_is_rejected) {
  FakeHouse house;
  std::int64_t absence_ns = 0;
  house.use(busy_device([&] { return absence_ns; }));
  const Report report = house.run(at(Command::load, [&](FakeTurn&) { absence_ns = 2'390'000; }));
  ASSERT_EQ(ending(report), "rejected/async at judge");
  EXPECT_EQ(evidence_in(report).rule, "quiet");
  EXPECT_NE(evidence_in(report).message.find("for 2390 us before a call"), std::string::npos);
}

Twist end_with(FakeHouse& house, Command command, int wait_status, ChildRole role = ChildRole::submission) {
  return at(command, [&house, wait_status, role](FakeTurn& turn) {
    house.exits.tell(role, wait_status);
    turn.ends = true;
  });
}

TEST(Attempt, an_exit_is_told_by_its_kind) {
  FakeHouse house;
  const Report segv = house.run(end_with(house, Command::call, 11));
  EXPECT_EQ(ending(segv), "crashed/signal 11 at run");
  EXPECT_EQ(evidence_in(segv).message, "its process died of signal 11 (Segmentation fault)");
  EXPECT_TRUE(segv.reference_usable);
  const Report killed = house.run(end_with(house, Command::load, 9));
  EXPECT_EQ(ending(killed), "crashed/signal 9 at load");
  EXPECT_NE(evidence_in(killed).hint.find("no more memory"), std::string::npos);
  const Report hog = house.run(end_with(house, Command::call, 9 | kKilledForMemory));
  EXPECT_EQ(ending(hog), "out_of_memory/host at run");
  const Report exit = house.run(end_with(house, Command::call, 3 << 8));
  EXPECT_EQ(ending(exit), "runtime_error at run");
  EXPECT_EQ(evidence_in(exit).message, "it ended its process with status 3");
}

TEST(Attempt, what_a_submission_says_against_itself_is_believed) {
  struct Row {
    Command command;
    Failure failure;
    const char* ending;
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
  FakeHouse house;
  for (const Row& row : rows) {
    const Report report = house.run(at(row.command, [&](FakeTurn& turn) { turn.fail(row.failure, "because \x1b"); }));
    EXPECT_EQ(ending(report), row.ending);
    EXPECT_EQ(evidence_in(report).message, "because ?");
    EXPECT_TRUE(report.reference_usable);
  }
}

TEST(Attempt, a_lying_page_is_tampering) {
  FakeHouse house;
  const Report report = house.run(at(Command::call, [](FakeTurn& turn) { turn.page.output_count = 9999; }));
  ASSERT_EQ(ending(report), "rejected/tamper at run");
  EXPECT_EQ(evidence_in(report).rule, "channel");
}

TEST(Attempt, a_child_that_breaks_before_its_own_code_runs_is_our_fault) {
  FakeHouse house;
  const Report attach =
      house.run(at(Command::attach, [](FakeTurn& turn) { turn.fail(Failure::runtime_error, "no memory to map"); }));
  EXPECT_EQ(ending(attach), "error: a fresh submission child could not be set up: no memory to map");
  EXPECT_FALSE(attach.reference_usable);
  const Report null_call =
      house.run({}, at(Command::null_call, [](FakeTurn& turn) { turn.fail(Failure::problem_invalid, "no CUDA"); }));
  EXPECT_EQ(ending(null_call), "error: a fresh reference child could not be set up: no CUDA");
}

TEST(Attempt, a_failing_reference_makes_the_problem_invalid) {
  FakeHouse house;
  const Report load =
      house.run({}, at(Command::load, [](FakeTurn& turn) { turn.fail(Failure::problem_invalid, "no get_inputs"); }));
  EXPECT_EQ(ending(load), "problem_invalid at load");
  EXPECT_EQ(evidence_in(load).message, "the reference: no get_inputs");
  EXPECT_FALSE(load.reference_usable);
  EXPECT_EQ(ending(house.run({}, end_with(house, Command::call, 11, ChildRole::reference))), "problem_invalid at run");
  EXPECT_EQ(ending(house.run({}, at(Command::answer, [](FakeTurn& turn) { turn.page.input_count = 65; }))),
            "problem_invalid at run");
  house.plan.limits.load_limit_ms = 200;
  EXPECT_EQ(ending(house.run({}, at(Command::load, [](FakeTurn& turn) { turn.answers = false; }))),
            "problem_invalid at load");
}

TEST(Attempt, a_reference_out_of_memory_is_too_large) {
  FakeHouse house;
  EXPECT_EQ(
      ending(house.run({}, at(Command::load, [](FakeTurn& turn) { turn.fail(Failure::out_of_gpu_memory, "40 GiB"); }))),
      "too_large at load");
}

TEST(Attempt, a_reference_that_disagrees_with_itself_makes_the_problem_invalid) {
  FakeHouse house;
  int calls = 0;
  const Report report = house.run({}, at(Command::call, [&](FakeTurn& turn) {
                                    *fake_data<float>(turn, turn.page.outputs[0]) += static_cast<float>(++calls);
                                  }));
  ASSERT_EQ(ending(report), "problem_invalid/nondeterministic at judge");
  EXPECT_NE(evidence_in(report).message.find("disagrees with itself"), std::string::npos);
}

TEST(Attempt, shapes_that_change_with_the_seed_make_the_problem_invalid) {
  FakeHouse house;
  for (const Command command : {Command::answer, Command::make_inputs}) {
    const Twist slowly = [command](FakeTurn& turn) {
      if (turn.command == command) turn.page.inputs[0].shape[0] = 9;
      if (turn.command == Command::answer) ::usleep(kAtOnceNs / 1'000);  // so that what is timed draws its own inputs
    };
    EXPECT_EQ(ending(house.run({}, slowly)), "problem_invalid at judge");
  }
  EXPECT_EQ(ending(house.run({}, at(Command::call, [](FakeTurn& turn) { turn.page.outputs[0].shape[0] = 9; }))),
            "problem_invalid at judge");
}

TEST(Attempt, more_than_the_window_limit_is_too_large) {
  FakeHouse house;
  house.plan.limits.window_bytes_max = 1024;
  const Report report = house.run();
  ASSERT_EQ(ending(report), "too_large at load");
  EXPECT_EQ(evidence_in(report).message, "inputs, outputs and state need 3.0 KiB, has 1.0 KiB");
  EXPECT_TRUE(report.reference_usable);
  house.plan.limits.window_bytes_max = 1 << 20;
  EXPECT_EQ(ending(house.run_again()), "passed");
}

TEST(Attempt, a_problem_beyond_the_machine_is_too_large) {
  FakeHouse house;
  house.plan.limits.window_bytes_max = ~0ull;
  EXPECT_EQ(ending(house.run({}, at(Command::load, [](FakeTurn& turn) { turn.page.inputs[0].shape[0] = 1ll << 45; }))),
            "too_large at load");
}

TEST(Attempt, the_reference_serves_one_attempt_after_another) {
  FakeHouse house;
  std::set<std::uint64_t> model_seeds;
  const Twist reference = at(Command::load, [&](FakeTurn& turn) { model_seeds.insert(turn.seed); });
  ASSERT_EQ(ending(house.run({}, reference)), "passed");
  EXPECT_EQ(ending(house.run_again(
                at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.outputs[0]) = 1e6f; }))),
            "wrong_answer/value at judge");
  EXPECT_EQ(ending(house.run_again()), "passed");
  EXPECT_EQ(model_seeds.size(), 3u);
}

TEST(Attempt, a_kept_reference_may_describe_another_layout) {
  FakeHouse house;
  int loads = 0;
  const Report first =
      house.run({}, at(Command::load, [&](FakeTurn& turn) { turn.page.states[0].shape[0] = 4 + loads++; }));
  ASSERT_EQ(ending(first), "passed");
  EXPECT_EQ(ending(house.run_again()), "passed");
}

TEST(Attempt, a_kept_reference_that_fails_is_replaced_and_charged_to_nobody) {
  for (const Failure failure :
       {Failure::problem_invalid, Failure::out_of_gpu_memory}) {  // which a model that hoards runs into
    FakeHouse house;
    ASSERT_EQ(ending(house.run({}, at(Command::load,
                                      [&, loads = 0](FakeTurn& turn) mutable {
                                        if (++loads == 2) turn.fail(failure, "tired");
                                      }))),
              "passed");
    const Report report = house.run_again();
    EXPECT_EQ(ending(report), "error: a kept reference child failed: the reference: tired");
    EXPECT_FALSE(report.reference_usable);
    EXPECT_EQ(ending(house.run_again()), "error: the plan counts on a reference child that the judge does not have");
    EXPECT_EQ(ending(house.run()), "passed");
  }
}

TEST(Attempt, the_judge_tells_how_long_it_waited_for_a_processor) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  const int cpu = ::sched_getcpu();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  FakeHouse house;
  house.plan.trials.timed = 50;
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  std::atomic<bool> is_over = false;
  std::thread rival([&] {
    while (!is_over) {
    }
  });
  const Report report = house.run(at(Command::call, [](FakeTurn&) { ::usleep(1'000); }));
  is_over = true;
  rival.join();
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  ASSERT_EQ(ending(report), "passed");
  EXPECT_GT(report.waited_us, 0);
  EXPECT_LE(report.waited_us, report.trials_us);
}

TEST(Attempt, lost_control_is_an_error) {
  FakeHouse house;
  house.exits.is_control_gone = true;
  const Report report = house.run(at(Command::load, [](FakeTurn& turn) { turn.answers = false; }));
  EXPECT_EQ(ending(report), "error: control is gone");
}

// A hostile submission writes anything anywhere it can: every attempt still ends in a verdict about it, and the
// reference lives on.
TEST(Attempt, a_submission_that_scribbles_ends_in_a_verdict) {
  FakeHouse house;
  house.plan.limits.call_limit_ms = 50;
  std::mt19937_64 random(11);
  ASSERT_EQ(ending(house.run()), "passed");
  for (int round = 0; round < 40; ++round) {
    const Report report = house.run_again(at(Command::call, [&](FakeTurn& turn) {
      auto* page = reinterpret_cast<unsigned char*>(&turn.page);
      for (int i = 0; i < 3'000; ++i)
        page[random() % sizeof(channel::Page)] = static_cast<unsigned char>(random() % (round % 2 == 0 ? 256 : 3));
      for (int i = 0; i < 500; ++i) turn.window[random() % turn.window_bytes] = static_cast<char>(random());
    }));
    ASSERT_TRUE(report.verdict) << report.error;
    ASSERT_NE(ending(report), "passed");
    ASSERT_TRUE(report.reference_usable);
  }
}

}  // namespace
}  // namespace kq::judge
