#include "gpu_worker/judge/child/failure.h"

#include <gtest/gtest.h>

namespace kq::judge {
namespace {

using channel::Failure;

Answered failed(Failure failure) {
  Answered answered;
  answered.failure = failure;
  answered.text = "text";
  return answered;
}

std::string outcome_text(Outcome outcome, ChildActivity activity) {
  const auto accepted = accept(std::move(outcome), activity);
  if (accepted) return "accepted";
  if (const auto* error = std::get_if<Error>(&accepted.error())) return "error: " + error->message;
  const auto& ended = std::get<Ended>(accepted.error());
  return std::string(to_string(ended.name)) + " " + ended.evidence.reason + " " +
         std::string(to_string(ended.evidence.stage));
}

constexpr ChildActivity kLoading{ChildRole::submission, Phase::load};
constexpr ChildActivity kRunning{ChildRole::submission, Phase::run};
constexpr ChildActivity kLoadingReference{ChildRole::reference, Phase::load};
constexpr ChildActivity kRunningReference{ChildRole::reference, Phase::run};

TEST(Accept, returns_an_ok_answer) {
  Answered answered;
  answered.ok = true;
  answered.interval_ns = 5;
  EXPECT_EQ(accept(Outcome(answered), kRunning)->interval_ns, 5);
}

TEST(Accept, everything_that_ends_a_submission) {
  EXPECT_EQ(outcome_text(Exited{11}, kRunning), "crashed signal 11 run");
  EXPECT_EQ(outcome_text(Exited{31}, kLoading), "crashed signal 31 load");
  EXPECT_EQ(outcome_text(Exited{0}, kRunning), "runtime_error  run");
  EXPECT_EQ(outcome_text(Exited{1 << 8}, kLoading), "load_failed  load");
  EXPECT_EQ(outcome_text(TimedOut{5}, kLoading), "timed_out load load");
  EXPECT_EQ(outcome_text(TimedOut{5}, kRunning), "timed_out run run");
  EXPECT_EQ(outcome_text(Malformed{"x"}, kRunning), "rejected tamper run");
  EXPECT_EQ(outcome_text(RanWhileStopped{"a thread ran"}, kRunning), "rejected async judge");
  EXPECT_EQ(outcome_text(failed(Failure::gpu_fault), kRunning), "gpu_fault  run");
}

TEST(Accept, outputs_of_another_form_are_a_wrong_answer_of_a_call_only) {
  EXPECT_EQ(outcome_text(failed(Failure::wrong_form), kRunning), "wrong_answer shape judge");
  EXPECT_EQ(outcome_text(failed(Failure::wrong_form), kLoading), "load_failed  load");
  EXPECT_EQ(outcome_text(failed(Failure::wrong_form), kRunningReference), "problem_invalid  run");
}

TEST(Accept, a_submission_may_need_what_this_machine_lacks) {
  EXPECT_EQ(outcome_text(failed(Failure::unsupported_here), kLoading), "unsupported_here  load");
  EXPECT_EQ(outcome_text(failed(Failure::unsupported_here), kRunning), "unsupported_here  run");
}

TEST(Accept, everything_that_ends_a_reference) {
  EXPECT_EQ(outcome_text(Exited{11}, kRunningReference), "problem_invalid  run");
  EXPECT_EQ(outcome_text(TimedOut{5}, kLoadingReference), "problem_invalid  load");
  EXPECT_EQ(outcome_text(Malformed{"x"}, kRunningReference), "problem_invalid  run");
  EXPECT_EQ(outcome_text(failed(Failure::runtime_error), kRunningReference), "problem_invalid  run");
  EXPECT_EQ(outcome_text(failed(Failure::out_of_host_memory), kLoadingReference), "too_large host load");
  EXPECT_EQ(outcome_text(failed(Failure::out_of_gpu_memory), kRunningReference), "too_large gpu run");
  EXPECT_EQ(outcome_text(failed(Failure::unsupported_here), kLoadingReference), "unsupported_here  load");
  EXPECT_EQ(outcome_text(failed(Failure::unsupported_here), kRunningReference), "unsupported_here  run");
}

TEST(Accept, any_failure_in_setup_is_our_fault) {
  for (const ChildRole role : {ChildRole::reference, ChildRole::submission}) {
    for (const Outcome& outcome :
         {Outcome(Exited{9}), Outcome(TimedOut{5}), Outcome(Malformed{"x"}), Outcome(failed(Failure::gpu_fault))}) {
      EXPECT_EQ(outcome_text(outcome, {role, Phase::setup}).substr(0, 15), "error: a fresh ");
    }
  }
  EXPECT_TRUE(std::holds_alternative<Error>(accept(our_fault("control is gone"), kRunning).error()));
}

TEST(Evidence, bounds_and_cleans_its_message) {
  EXPECT_EQ(evidence(Stage::run, "r", std::string(10'000, 'x')).message.size(), 4096u);
  EXPECT_EQ(evidence(Stage::run, "r", "a\x1b").message, "a?");
}

}  // namespace
}  // namespace kq::judge
