// Attempts whose outputs are measured by the truth, and the explanation of those that are wrong.
#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_device.h"
#include "gpu_worker/judge/testing/inexact_reference.h"

namespace kq::judge {
namespace {

using channel::Command;

TEST(TruthOfAnAttempt, a_passing_job_never_asks_for_it) {
  JudgeFixture fixture;
  InexactReference reference{.error = 1e-6f};
  const Report report = fixture.run({}, reference.twist());
  ASSERT_EQ(outcome_text(report), "passed");
  EXPECT_EQ(reference.asked, 0);
  EXPECT_FALSE(correctness_of(*report.verdict)->truth);
  EXPECT_EQ(correctness_of(*report.verdict)->rtol, 1e-4);
  EXPECT_EQ(correctness_of(*report.verdict)->atol, 1e-4);
}

TEST(TruthOfAnAttempt, a_submission_nearer_to_it_than_its_reference_passes) {
  JudgeFixture fixture;
  fixture.drawn_integer = 40;
  InexactReference reference{.error = 2e-3f};
  const Report report = fixture.run({}, reference.twist());
  ASSERT_EQ(outcome_text(report), "passed");
  const Correctness& correctness = *correctness_of(*report.verdict);
  EXPECT_EQ(correctness.trials_passed, 7u);
  ASSERT_TRUE(correctness.truth);
  EXPECT_EQ(correctness.truth->kind, "float64 on the device");
  EXPECT_LT(correctness.truth->submission_rms, 1e-6);
  EXPECT_NEAR(correctness.truth->reference_rms, 2e-3, 1e-4);
  EXPECT_GT(correctness.max_abs_err, 0.05) << "the error against the reference is reported as it is";
  EXPECT_EQ(reference.asked, static_cast<int>(kTruthTrialsMax)) << "later trials are measured by what these allowed";
}

TEST(TruthOfAnAttempt, a_later_trial_may_be_no_worse_than_earlier_ones_were_allowed_to_be) {
  JudgeFixture fixture;
  fixture.drawn_integer = 40;
  InexactReference reference{.error = 2e-3f};
  int calls = 0;
  const Report report = fixture.run(
      at(Command::call, [&](FakeTurn& turn) { spoil(turn, ++calls == 6 ? 0.02f : 0.0f); }), reference.twist());
  ASSERT_EQ(outcome_text(report), "wrong_answer/value at judge");
  EXPECT_EQ(evidence_in(report).mismatch->trial, 5u);
  EXPECT_NEAR(evidence_in(report).truth->submission_rms, 0.02, 0.001);
}

TEST(TruthOfAnAttempt, a_lower_precision_than_the_reference_has_is_wrong_and_named) {
  JudgeFixture fixture;
  fixture.drawn_integer = 40;
  InexactReference reference;
  const Report report = fixture.run(call_with(3e-4f), reference.twist());
  ASSERT_EQ(outcome_text(report), "wrong_answer/value at judge");
  const Evidence& found = evidence_in(report);
  ASSERT_TRUE(found.truth);
  EXPECT_EQ(found.truth->looks_like, "TF32 or float16");
  EXPECT_NE(found.message.find("against float64 on the device the relative RMS of its errors is 0.0003, as TF32 or "
                               "float16 has"),
            std::string::npos)
      << found.message;
  EXPECT_EQ(found.mismatch->looks_like, "tf32");
  EXPECT_EQ(reference.asked, 1);
  EXPECT_TRUE(report.reference_usable);
}

TEST(TruthOfAnAttempt, a_device_measures_what_lies_in_its_memory) {
  std::array<TruthErrors, 2> errors;
  for (const bool can_compare : {false, true}) {
    JudgeFixture fixture;
    auto device = std::make_unique<FakeDevice>();
    device->can_compare = can_compare;
    device->described.kind = DeviceKind::cuda;
    const FakeDevice& fake = *device;
    fixture.use(std::move(device));
    fixture.drawn_integer = 40;
    InexactReference reference;
    const Report report = fixture.run(call_with(3e-4f), reference.twist());
    ASSERT_EQ(outcome_text(report), "wrong_answer/value at judge");
    EXPECT_EQ(fake.measurements, can_compare ? 2 : 0) << "against the reference's output, then against the truth";
    errors[can_compare ? 1 : 0] = *evidence_in(report).truth;
  }
  EXPECT_EQ(errors[0].kind, errors[1].kind);
  EXPECT_NEAR(errors[0].submission_rms, errors[1].submission_rms, 1e-6);
  EXPECT_EQ(errors[0].looks_like, errors[1].looks_like);
}

TEST(TruthOfAnAttempt, an_allowed_precision_adds_what_rounding_to_it_does) {
  JudgeFixture fixture;
  fixture.drawn_integer = 40;
  fixture.plan.truth.allowed = AllowedPrecision::tf32;
  InexactReference reference{.rounding = 5e-4};
  const Report report = fixture.run(call_with(3e-4f), reference.twist());
  ASSERT_EQ(outcome_text(report), "passed");
  EXPECT_GT(correctness_of(*report.verdict)->truth->rounding_rms, 1e-4);
  InexactReference exact;
  EXPECT_EQ(outcome_text(fixture.run(call_with(3e-4f), exact.twist())), "wrong_answer/value at judge");
  EXPECT_EQ(exact.asked, 2);
}

TEST(TruthOfAnAttempt, a_submission_may_do_without_it) {
  JudgeFixture fixture;
  fixture.drawn_integer = 40;
  fixture.plan.truth.is_used = false;
  InexactReference reference{.error = 2e-3f};
  const Report report = fixture.run({}, reference.twist());
  ASSERT_EQ(outcome_text(report), "wrong_answer/value at judge");
  EXPECT_FALSE(evidence_in(report).truth);
  EXPECT_EQ(reference.asked, 0);
}

TEST(TruthOfAnAttempt, integers_and_nan_are_never_measured_by_it) {
  JudgeFixture fixture;
  InexactReference reference;
  const auto off_by_one =
      at(Command::call, [](FakeTurn& turn) { *fake_data<std::int32_t>(turn, turn.page.outputs[1]) += 1; });
  EXPECT_EQ(outcome_text(fixture.run(off_by_one, reference.twist())), "wrong_answer/value at judge");
  const auto nan = at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.outputs[0]) = NAN; });
  EXPECT_EQ(outcome_text(fixture.run(nan, reference.twist())), "wrong_answer/nan at judge");
  EXPECT_EQ(reference.asked, 0);
}

TEST(Explanation, weights_without_a_partner_are_named) {
  JudgeFixture fixture;
  const Report report = fixture.run([](FakeTurn& turn) {
    constexpr std::string_view kNames = "the reference has fc.weight [8, 32]; the submission has weight [8, 32]";
    if (turn.command == Command::load) {
      turn.page.text_bytes = kNames.size();
      std::memcpy(turn.page.text, kNames.data(), kNames.size());
    }
    if (turn.command == Command::call) spoil(turn, 0.5f);
  });
  ASSERT_EQ(outcome_text(report), "wrong_answer/value at judge");
  EXPECT_EQ(evidence_in(report).unmatched, "the reference has fc.weight [8, 32]; the submission has weight [8, 32]");
  EXPECT_NE(evidence_in(report).hint.find("the submission has weight [8, 32]"), std::string::npos);
}

TEST(Explanation, a_submission_that_ran_without_its_kernels_is_told_so) {
  JudgeFixture fixture;
  const Report report = fixture.run(at(Command::call, [](FakeTurn& turn) {
    *fake_data<float>(turn, turn.page.outputs[0]) = 1e9f;
    turn.say("the call ran no kernel of the submission's own, which has add_kernel");
  }));
  EXPECT_EQ(outcome_text(report), "wrong_answer/value at judge");
  EXPECT_TRUE(evidence_in(report).hint.ends_with("no kernel of the submission's own, which has add_kernel"))
      << evidence_in(report).hint;
}

TEST(Explanation, another_form_has_its_place_and_both_forms) {
  JudgeFixture fixture;
  const Report report =
      fixture.run(at(Command::call, [](FakeTurn& turn) { turn.page.outputs[1].dtype = channel::Dtype::int64; }));
  ASSERT_EQ(outcome_text(report), "wrong_answer/dtype at judge");
  const Mismatch& mismatch = *evidence_in(report).mismatch;
  EXPECT_EQ(mismatch.output, 1u);
  EXPECT_EQ(mismatch.expected_form, "int32[1]");
  EXPECT_EQ(mismatch.got_form, "int64[1]");
  EXPECT_EQ(mismatch.looks_like, "cast");
  EXPECT_EQ(mismatch.total, 0u);
}

TEST(Explanation, the_answer_of_an_earlier_trial_is_recognised) {
  JudgeFixture fixture;
  fixture.plan.trials = {.correctness = 12, .warmup = 2, .timed = 0};
  int calls = 0;
  std::vector<float> kept(8);
  const Report report = fixture.run(at(Command::call, [&](FakeTurn& turn) {
    float* const y = fake_data<float>(turn, turn.page.outputs[0]);
    if (++calls == 6) std::ranges::copy(kept, y);
    kept.assign(y, y + 8);
  }));
  ASSERT_EQ(outcome_text(report), "wrong_answer/value at judge");
  EXPECT_EQ(evidence_in(report).mismatch->looks_like, "stale");
}

}  // namespace
}  // namespace kq::judge
