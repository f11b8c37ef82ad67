// How a reference is asked for the truth.
#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/inexact_reference.h"

namespace kq::judge {
namespace {

using channel::Command;

TEST(ReferenceTruth, another_kind_is_asked_for_where_the_first_cannot_be_computed) {
  JudgeFixture fixture;
  fixture.drawn_integer = 40;
  InexactReference reference{.error = 2e-3f, .first_kind = 2};
  const Report report = fixture.run({}, reference.twist());
  ASSERT_EQ(outcome_text(report), "passed");
  EXPECT_EQ(correctness_of(*report.verdict)->truth->kind, "IEEE float32 on the device");
  EXPECT_EQ(reference.asked, static_cast<int>(kTruthTrialsMax) + 1) << "a kind that failed is not asked for again";
}

TEST(ReferenceTruth, another_kind_is_asked_for_where_the_first_is_of_other_random_numbers) {
  JudgeFixture fixture;
  fixture.drawn_integer = 40;
  InexactReference reference{.error = 2e-3f};
  const auto draws_otherwise = [&](FakeTurn& turn) {
    reference.twist()(turn);
    if (turn.command != Command::truth || turn.page.truth.kind != channel::TruthKind::float64_on_device) return;
    for (int i = 0; i < 8; ++i) fake_data<double>(turn, turn.page.outputs[0])[i] *= i % 2;
  };
  const Report report = fixture.run({}, draws_otherwise);
  ASSERT_EQ(outcome_text(report), "passed");
  EXPECT_EQ(correctness_of(*report.verdict)->truth->kind, "IEEE float32 on the device");
  EXPECT_EQ(reference.asked, static_cast<int>(kTruthTrialsMax) + 1);
}

TEST(ReferenceTruth, without_any_truth_a_wrong_answer_says_why) {
  JudgeFixture fixture;
  InexactReference reference{.first_kind = 9};
  const Report report = fixture.run(call_with(0.1f), reference.twist());
  ASSERT_EQ(outcome_text(report), "wrong_answer/value at judge");
  EXPECT_EQ(reference.asked, 2);
  EXPECT_TRUE(evidence_in(report).truth->kind.starts_with("none: float64 on the device: NotImplementedError"))
      << evidence_in(report).truth->kind;
  EXPECT_TRUE(report.reference_usable);
}

TEST(ReferenceTruth, a_reference_that_dies_of_it_leaves_the_answer_wrong) {
  JudgeFixture fixture;
  const Report report = fixture.run(call_with(0.1f), at(Command::truth, [&](FakeTurn& turn) {
                                      fixture.exits.tell(ChildRole::reference, 9);
                                      turn.ends = true;
                                    }));
  EXPECT_EQ(outcome_text(report), "wrong_answer/value at judge");
  EXPECT_FALSE(report.reference_usable);
}

TEST(ReferenceTruth, it_is_seeded_and_fed_like_the_call) {
  JudgeFixture fixture;
  std::uint64_t call_seed = 0;
  std::uint64_t truth_seed = 1;
  bool is_same_input = false;
  std::vector<float> input(8);
  const auto submission = at(Command::call, [&](FakeTurn& turn) {
    call_seed = turn.seed;
    const float* const x = fake_data<float>(turn, turn.page.inputs[0]);
    input.assign(x, x + 8);
    spoil(turn, 0.1f);
  });
  const auto reference = at(Command::truth, [&](FakeTurn& turn) {
    truth_seed = turn.page.answers[0].calls;
    is_same_input = std::equal(input.begin(), input.end(), fake_data<float>(turn, turn.page.inputs[0]));
  });
  EXPECT_EQ(outcome_text(fixture.run(submission, reference)), "wrong_answer/value at judge");
  EXPECT_EQ(truth_seed, call_seed);
  EXPECT_TRUE(is_same_input);
}

}  // namespace
}  // namespace kq::judge
