// What the judge finds about a problem before the first submission is judged.
#include "gpu_worker/judge/trial/certificate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "gpu_worker/judge/testing/fake_problem.h"

namespace kq::judge {
namespace {

using channel::Command;

// A twist of every computation of outputs: as trials ahead and as single calls.
Twist of_outputs(Twist change) {
  return [change = std::move(change)](FakeTurn& turn) {
    if (turn.command == Command::call || turn.command == Command::answer) {
      char* const window = turn.window;
      const std::uint64_t slots = turn.command == Command::answer ? turn.page.answer_count : 1;
      for (std::uint64_t i = 0; i < slots; ++i, turn.window += turn.page.slot_bytes) change(turn);
      turn.window = window;
    }
  };
}

// Sets all floats of the first output, and the second output.
Twist outputs_are(float y, std::int32_t k) {
  return of_outputs([=](FakeTurn& turn) {
    std::fill_n(fake_data<float>(turn, turn.page.outputs[0]), 8, y);
    *fake_data<std::int32_t>(turn, turn.page.outputs[1]) = k;
  });
}

std::string names(const Report& report) {
  if (!report.certificate) return "no certificate";
  std::string text;
  for (const ProblemWarning& warning : report.certificate->warnings) text += warning.name + " ";
  return text + (report.certificate->invalid ? "invalid/" + report.certificate->invalid->reason : "");
}

class CertificateTest : public testing::Test {
 protected:
  CertificateTest() { fixture_.plan.certifies = true; }
  JudgeFixture fixture_;
};

TEST_F(CertificateTest, an_honest_problem_has_no_warnings_and_costs_three_trials) {
  int trials = 0;
  const Report report = fixture_.run({}, at(Command::answer, [&](FakeTurn&) { ++trials; }));
  EXPECT_EQ(outcome_text(report), "passed") << report.error;
  EXPECT_EQ(names(report), "");
  fixture_.plan.certifies = false;
  const int with_certificate = std::exchange(trials, 0);
  EXPECT_EQ(names(fixture_.run({}, at(Command::answer, [&](FakeTurn&) { ++trials; }))), "no certificate");
  EXPECT_LE(with_certificate - trials, 3 + 2) << "how trials are grouped into commands depends on time";
}

TEST_F(CertificateTest, a_wrong_kernel_is_not_at_fault_where_outputs_are_constant) {
  const Report report =
      fixture_.run(at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.outputs[0]) = 1e9f; }),
                   outputs_are(0.5f, 3));
  EXPECT_EQ(outcome_text(report), "problem_invalid/constant at judge");
  EXPECT_EQ(names(report), "invalid/constant");
}

TEST_F(CertificateTest, zeros_within_the_tolerance_are_a_warning) {
  fixture_.plan.atol = 1'000;
  const Report report =
      fixture_.run({}, of_outputs([](FakeTurn& turn) { *fake_data<std::int32_t>(turn, turn.page.outputs[1]) = 0; }));
  EXPECT_EQ(names(report), "zeros ");
}

TEST_F(CertificateTest, a_constant_within_the_tolerance_is_a_warning_and_never_passes) {
  const Twist nearly_constant = of_outputs([](FakeTurn& turn) {
    float* const y = fake_data<float>(turn, turn.page.outputs[0]);
    for (int i = 0; i < 8; ++i) y[i] = 5 + y[i] * 2e-6f;
    *fake_data<std::int32_t>(turn, turn.page.outputs[1]) = 3;
  });
  fixture_.plan.trials.correctness = 5;
  const Report honest = fixture_.run(nearly_constant, nearly_constant);
  EXPECT_EQ(names(honest), "constant ");
  EXPECT_EQ(outcome_text(honest), "passed");
  const Report constant = fixture_.run(outputs_are(5, 3), nearly_constant);
  EXPECT_EQ(outcome_text(constant), "suspect/constant at judge");
  fixture_.plan.certifies = false;
  fixture_.plan.constant_passes = true;  // by the kept certificate
  EXPECT_EQ(outcome_text(fixture_.run(outputs_are(5, 3), nearly_constant)), "suspect/constant at judge");
}

TEST_F(CertificateTest, inputs_that_never_vary_are_the_problems_fault) {
  const Twist same_inputs = [](FakeTurn& turn) {
    if (turn.command != Command::make_inputs && turn.command != Command::answer) return;
    char* const window = turn.window;
    const std::uint64_t slots = turn.command == Command::answer ? turn.page.answer_count : 1;
    for (std::uint64_t i = 0; i < slots; ++i, turn.window += turn.page.slot_bytes) {
      fake_draw(turn, 5, 2);
      if (turn.command == Command::answer) fake_call(turn, 1);
    }
    turn.window = window;
  };
  const Twist unit_weight = at(Command::call, [](FakeTurn& turn) { fake_call(turn, 1); });
  const Report report = fixture_.run(unit_weight, [=](FakeTurn& turn) {
    same_inputs(turn);
    unit_weight(turn);
  });
  EXPECT_EQ(names(report), "inputs ");
  ASSERT_EQ(outcome_text(report), "suspect/inputs at judge");
  EXPECT_EQ(fault_of(*report.verdict), Fault::problem);
}

TEST_F(CertificateTest, a_reference_with_state_makes_the_problem_invalid) {
  const Report report = fixture_.run({}, [calls = 0](FakeTurn& turn) mutable {
    of_outputs([&](FakeTurn& one) { *fake_data<float>(one, one.page.outputs[0]) += static_cast<float>(++calls); })(
        turn);
  });
  EXPECT_EQ(outcome_text(report), "problem_invalid/state at judge");
  EXPECT_EQ(names(report), "invalid/state");
}

TEST_F(CertificateTest, the_first_input_within_the_tolerance_is_a_warning) {
  const Twist near_input = [](FakeTurn& turn) {
    if (turn.command == Command::load) turn.page.output_count = 1;
    of_outputs([](FakeTurn& one) {
      const float* const x = fake_data<float>(one, one.page.inputs[0]);
      float* const y = fake_data<float>(one, one.page.outputs[0]);
      for (int i = 0; i < 8; ++i) y[i] = x[i] * (1 + 1e-6f);
    })(turn);
  };
  EXPECT_EQ(names(fixture_.run({}, near_input)), "first_input ");
}

TEST_F(CertificateTest, the_problems_own_check_decides_what_passes) {
  for (const bool takes_all : {true, false}) {
    const Report report = fixture_.run({}, [=](FakeTurn& turn) {
      if (turn.command == Command::load) turn.page.has_check = 1;
      if (turn.command != Command::check || takes_all) return;
      turn.fail(channel::Failure::problem_invalid, "ValueError: not finite");
    });
    EXPECT_EQ(names(report), takes_all ? "zeros " : "");
  }
}

TEST_F(CertificateTest, each_workload_is_looked_at_and_named) {
  const Report report = fixture_.run({}, [workload = 0u](FakeTurn& turn) mutable {
    if (turn.command == Command::load) {
      fake_workloads(turn, {"a", "b"});
      workload = turn.page.workload;
    }
    if (workload == 1) outputs_are(2, 3)(turn);
  });
  EXPECT_EQ(outcome_text(report), "problem_invalid/constant at judge");
  EXPECT_EQ(evidence_in(report).message.substr(0, 12), "workload b: ");
}

}  // namespace
}  // namespace kq::judge
