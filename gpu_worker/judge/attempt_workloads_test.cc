// Attempts on problems with several workloads.
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "gpu_worker/judge/attempt.h"
#include "gpu_worker/judge/testing/fake_problem.h"

namespace kq::judge {
namespace {

using channel::Command;

// A reference with these workloads. `change` may change the description of one of them.
Twist with_workloads(
    std::vector<std::string> names,
    std::function<void(FakeTurn&, std::uint32_t)> change = [](FakeTurn&, std::uint32_t) {}) {
  return at(Command::load, [names = std::move(names), change = std::move(change)](FakeTurn& turn) {
    fake_workloads(turn, names);
    change(turn, turn.page.workload);
  });
}

// A submission's twist that knows which workload is loaded.
Twist in_each_workload(std::function<void(FakeTurn&, std::uint32_t)> then) {
  return [then = std::move(then), workload = std::uint32_t{0}](FakeTurn& turn) mutable {
    if (turn.command == Command::load) workload = turn.page.workload;
    then(turn, workload);
  };
}

std::vector<std::string> case_texts(const Report& report) {
  std::vector<std::string> texts;
  for (const CaseResult& one : report.cases)
    texts.push_back(one.workload + " " + std::string(to_string(name_of(one.verdict))) + " " +
                    std::to_string(one.samples.submission_ns.size()));
  return texts;
}

TEST(AttemptWorkloads, each_workload_has_an_outcome_and_the_job_has_their_mean) {
  JudgeFixture fixture;
  const Report report = fixture.run({}, with_workloads({"small", "large"}));
  ASSERT_EQ(outcome_text(report), "passed") << report.error;
  EXPECT_EQ(case_texts(report), (std::vector<std::string>{"small passed 3", "large passed 3"}));
  EXPECT_TRUE(report.samples.submission_ns.empty());
  const Measurement& all = *measurement_of(*report.verdict);
  const double product = measurement_of(report.cases[0].verdict)->submission.median_ns *
                         measurement_of(report.cases[1].verdict)->submission.median_ns;
  EXPECT_NEAR(all.submission.median_ns * all.submission.median_ns, product, product * 1e-9);
  EXPECT_EQ(all.submission.sample_count, 6u);
}

TEST(AttemptWorkloads, a_kept_reference_describes_each_workload_once) {
  JudgeFixture fixture;
  int loads = 0;
  const auto count = [&](FakeTurn&, std::uint32_t) { ++loads; };
  ASSERT_EQ(outcome_text(fixture.run({}, with_workloads({"a", "b"}, count))), "passed");
  EXPECT_EQ(std::exchange(loads, 0), 7) << "the workloads' names, then both described, checked and timed";
  ASSERT_EQ(outcome_text(fixture.run_again()), "passed");
  EXPECT_EQ(loads, 5);
}

TEST(AttemptWorkloads, the_warm_trials_of_a_child_that_is_never_steady_are_shared) {
  JudgeFixture fixture;
  fixture.use(Sampling::alike);
  std::uint32_t calls = 0;
  const auto grow_quicker = [&](FakeTurn& turn) {
    if (turn.command == Command::call) ::usleep(100'000 / (10 + calls++));
  };
  const std::vector<std::string> names{"a", "b", "c", "d", "e", "f", "g", "h"};
  ASSERT_EQ(outcome_text(fixture.run(grow_quicker, with_workloads(names))), "passed");
  const Trials& trials = fixture.plan.trials;
  const std::uint32_t others = trials.correctness + trials.warmup + trials.timed + trials.timed / kTimedPerDecoy + 1;
  EXPECT_LE(calls, names.size() * others + kSteadyTrialsMax);
}

TEST(AttemptWorkloads, the_reference_is_timed_once_to_check_and_a_few_times_beside_timed_calls) {
  JudgeFixture fixture;
  fixture.plan.trials = {.correctness = 4, .warmup = 2, .timed = 20};
  const Report report = fixture.run({}, with_workloads({"a", "b", "c", "d", "e", "f", "g", "h"}));
  ASSERT_EQ(outcome_text(report), "passed");
  for (const CaseResult& one : report.cases) {
    EXPECT_EQ(one.samples.submission_ns.size(), kTimedSamplesMin);
    EXPECT_EQ(one.samples.reference_ns.size(), kReferencesOfManyMin);
  }
}

TEST(AttemptWorkloads, a_model_that_has_another_form_when_it_is_constructed_again_makes_the_problem_invalid) {
  JudgeFixture fixture;
  int loads = 0;
  const Report report = fixture.run({}, with_workloads({"a", "b"}, [&](FakeTurn& turn, std::uint32_t workload) {
                                      if (workload == 1 && ++loads == 2)
                                        turn.page.inputs[0] = fake_tensor("x", channel::Dtype::float32, {9});
                                    }));
  ASSERT_EQ(outcome_text(report), "problem_invalid at judge");
  EXPECT_EQ(
      evidence_in(report).message,
      "the reference has inputs, outputs or weights of another shape or dtype when its model is constructed again");
}

TEST(AttemptWorkloads, every_workload_is_checked_before_any_is_timed) {
  JudgeFixture fixture;
  int calls = 0;
  const Report report = fixture.run(in_each_workload([&](FakeTurn& turn, std::uint32_t workload) {
                                      if (turn.command != Command::call) return;
                                      ++calls;
                                      if (workload == 2) *fake_data<float>(turn, turn.page.outputs[0]) = 1e9f;
                                    }),
                                    with_workloads({"a", "b", "c"}));
  EXPECT_EQ(outcome_text(report), "wrong_answer/value at judge");
  EXPECT_EQ(evidence_in(report).message.substr(0, 12), "workload c: ") << evidence_in(report).message;
  EXPECT_EQ(calls, 5) << "two checked calls of a and of b, and the wrong one";
  EXPECT_EQ(case_texts(report), (std::vector<std::string>{"a passed 0", "b passed 0", "c wrong_answer 0"}));
}

TEST(AttemptWorkloads, one_without_a_weight_is_checked_and_not_timed) {
  JudgeFixture fixture;
  const auto weigh = [](FakeTurn& turn, std::uint32_t) { turn.page.workloads[0].weight = 0; };
  const Report report = fixture.run({}, with_workloads({"test", "small", "large"}, weigh));
  ASSERT_EQ(outcome_text(report), "passed") << report.error;
  EXPECT_EQ(case_texts(report), (std::vector<std::string>{"test passed 0", "small passed 3", "large passed 3"}));
  EXPECT_EQ(report.cases[0].weight, 0);
  EXPECT_GT(measurement_of(*report.verdict)->submission.median_ns, 0);
  fixture.plan.workloads = {{"test"}};
  const Report untimed = fixture.run({}, with_workloads({"test", "small", "large"}, weigh));
  ASSERT_EQ(outcome_text(untimed), "passed") << untimed.error;
  EXPECT_EQ(case_texts(untimed), (std::vector<std::string>{"test passed 0"}));
}

TEST(AttemptWorkloads, one_that_does_not_fit_is_too_large_and_the_others_still_run) {
  JudgeFixture fixture;
  const auto grow = [](FakeTurn& turn, std::uint32_t workload) {
    if (workload == 0) turn.page.inputs[0] = fake_tensor("x", channel::Dtype::float32, {10 << 20});
  };
  const Report report = fixture.run({}, with_workloads({"huge", "small"}, grow));
  EXPECT_EQ(outcome_text(report), "too_large at load");
  EXPECT_EQ(evidence_in(report).message.substr(0, 15), "workload huge: ") << evidence_in(report).message;
  EXPECT_EQ(case_texts(report), (std::vector<std::string>{"huge too_large 0", "small passed 3"}));
}

TEST(AttemptWorkloads, workloads_of_other_sizes_share_one_window) {
  JudgeFixture fixture;
  fixture.plan.limits.window_bytes_max = 1ull << 30;
  int windows = 0;
  const Report report = fixture.run(at(Command::attach, [&](FakeTurn&) { ++windows; }),
                                    with_workloads({"small", "large", "middle"}, [](FakeTurn& turn, std::uint32_t i) {
                                      turn.page.states[0] = fake_tensor("w", channel::Dtype::float32, {4 << (4 * i)});
                                    }));
  EXPECT_EQ(outcome_text(report), "passed");
  EXPECT_EQ(windows, 1);
}

TEST(AttemptWorkloads, a_selection_runs_what_it_names) {
  JudgeFixture fixture;
  fixture.plan.workloads = {{"l*"}};
  const Report report = fixture.run({}, with_workloads({"small", "large"}));
  EXPECT_EQ(outcome_text(report), "passed");
  EXPECT_EQ(case_texts(report), (std::vector<std::string>{"large passed 3"}));
  fixture.plan.workloads = {{"huge"}};
  const Report none = fixture.run({}, with_workloads({"small", "large"}));
  EXPECT_EQ(outcome_text(none), "problem_invalid/workloads at load");
}

TEST(AttemptWorkloads, a_reference_that_fails_names_its_workload) {
  JudgeFixture fixture;
  const Report report = fixture.run({}, with_workloads({"small", "large"}, [](FakeTurn& turn, std::uint32_t workload) {
                                      if (workload == 1) turn.fail(channel::Failure::problem_invalid, "no such shape");
                                    }));
  EXPECT_EQ(outcome_text(report), "problem_invalid at load");
  EXPECT_NE(evidence_in(report).message.find("workload large: "), std::string::npos) << evidence_in(report).message;
}

TEST(AttemptWorkloads, the_next_attempt_uses_the_same_reference) {
  JudgeFixture fixture;
  ASSERT_EQ(outcome_text(fixture.run({}, with_workloads({"small", "large"}))), "passed");
  const Report again = fixture.run_again();
  EXPECT_EQ(outcome_text(again), "passed");
  EXPECT_EQ(again.cases.size(), 2u);
}

TEST(AttemptWorkloads, a_forbidden_call_names_its_workload) {
  JudgeFixture fixture;
  const Report report = fixture.run(
      in_each_workload([](FakeTurn& turn, std::uint32_t workload) {
        if (turn.command == Command::inspect && workload == 1) turn.say("calls aten::mm (new.py:12)");
      }),
      with_workloads({"small", "large"}, [](FakeTurn& turn, std::uint32_t) { turn.page.has_forbidden = 1; }));
  EXPECT_EQ(outcome_text(report), "rejected/policy at judge");
  EXPECT_EQ(evidence_in(report).message,
            "workload large: the submission calls aten::mm (new.py:12), which FORBIDDEN of the problem names");
  EXPECT_EQ(evidence_in(report).rule, "forbidden");
  EXPECT_EQ(evidence_in(report).place, "new.py:12");
}

TEST(AttemptWorkloads, a_launcher_is_not_asked_for_forbidden_calls) {
  JudgeFixture fixture;
  bool is_asked = false;
  const Twist note = at(Command::inspect, [&](FakeTurn&) { is_asked = true; });
  const Twist forbids = at(Command::load, [](FakeTurn& turn) { turn.page.has_forbidden = 1; });
  EXPECT_EQ(outcome_text(fixture.run(note, forbids)), "passed");
  EXPECT_TRUE(is_asked);
  is_asked = false;
  fixture.plan.backend = Backend::cuda;
  EXPECT_EQ(outcome_text(fixture.run(note, forbids)), "passed");
  EXPECT_FALSE(is_asked);
}

TEST(AttemptWorkloads, a_hostile_table_of_workloads_is_no_table) {
  for (const std::uint32_t count : {0u, 129u, 0xFFFFFFFFu}) {
    JudgeFixture fixture;
    const Report report = fixture.run({}, at(Command::load, [&](FakeTurn& turn) { turn.page.workload_count = count; }));
    EXPECT_EQ(outcome_text(report).substr(0, 15), "problem_invalid") << outcome_text(report);
  }
}

}  // namespace
}  // namespace kq::judge
