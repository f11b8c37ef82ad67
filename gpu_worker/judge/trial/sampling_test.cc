// Tests how both sides are sampled on a CPU (Sampling::alike).
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_problem.h"
#include "gpu_worker/judge/trial/trials.h"

namespace kq::judge {
namespace {

using channel::Command;

constexpr std::uint32_t kTimed = 21;
constexpr useconds_t kSlowUs = 50'000;

Twist slow_in_first_calls(std::uint32_t& calls, std::uint32_t slow_count) {
  return [&calls, slow_count](FakeTurn& turn) {
    if (turn.command == Command::call && calls++ < slow_count) ::usleep(kSlowUs);
  };
}

const Measurement& measurement_in(const Report& report) {
  return *measurement_of(*report.verdict);
}

TEST(SamplingAlike, times_the_reference_as_often_as_the_submission) {
  for (const WaitMode wait_mode : {WaitMode::sleep, WaitMode::spin_briefly}) {
    JudgeFixture fixture;
    fixture.use(Sampling::alike, wait_mode);
    fixture.plan.trials = {.correctness = 4, .warmup = 2, .timed = kTimed};
    const Report report = fixture.run();
    ASSERT_EQ(outcome_text(report), "passed");
    EXPECT_EQ(report.samples.submission_ns.size(), kTimed);
    EXPECT_EQ(report.samples.reference_ns.size(), kTimed);
    EXPECT_GT(measurement_in(report).noise_ns, 0);
    EXPECT_GT(measurement_in(report).reference_noise_ns, 0);
  }
}

TEST(SamplingAlike, a_child_that_is_slow_at_first_is_timed_when_it_is_steady) {
  for (const bool is_reference : {false, true}) {
    JudgeFixture fixture;
    fixture.use(Sampling::alike);
    fixture.plan.trials = {.correctness = 1, .warmup = 2, .timed = kTimed};
    std::uint32_t calls = 0;
    const Twist slow = slow_in_first_calls(calls, 6);
    const Report report = is_reference ? fixture.run({}, slow) : fixture.run(slow);
    ASSERT_EQ(outcome_text(report), "passed");
    const auto& samples = is_reference ? report.samples.reference_ns : report.samples.submission_ns;
    EXPECT_EQ(samples.size(), kTimed);
    EXPECT_LT(samples.front(), kSlowUs * 1'000) << "a sample of a slow call, or a very slow host";
  }
}

TEST(SamplingAlike, a_child_that_is_never_steady_gets_a_limited_number_of_warm_trials) {
  JudgeFixture fixture;
  fixture.use(Sampling::alike);
  fixture.plan.trials = {.correctness = 1, .warmup = 2, .timed = kTimed};
  std::uint32_t calls = 0;
  const Report report = fixture.run([&](FakeTurn& turn) {
    if (turn.command != Command::call) return;
    // Each call takes 10 % less than the one before.
    double us = 6'000;
    for (std::uint32_t i = 0; i < calls; ++i) us *= 0.9;
    ++calls;
    ::usleep(static_cast<useconds_t>(us));
  });
  ASSERT_EQ(outcome_text(report), "passed");
  EXPECT_EQ(report.samples.submission_ns.size(), kTimed);
  EXPECT_LE(calls, 2 + 1 + kTimed + kTimed / kTimedPerDecoy + 1 + kSteadyTrialsMax);
}

TEST(SamplingAlike, a_time_has_the_noise_of_other_processes) {
  JudgeFixture fixture;
  fixture.use(Sampling::alike);
  fixture.plan.trials = {.correctness = 1, .warmup = 1, .timed = kTimed};
  const Report report = fixture.run();
  ASSERT_EQ(outcome_text(report), "passed");
  const Measurement& measured = *measurement_of(*report.verdict);
  EXPECT_GE(measured.noise_ns, kProcessNoiseShare * measured.submission.median_ns);
  EXPECT_GE(measured.reference_noise_ns, kProcessNoiseShare * measured.reference.median_ns);
}

TEST(SamplingAlike, without_timed_trials_there_are_no_further_warm_trials) {
  JudgeFixture fixture;
  fixture.use(Sampling::alike);
  fixture.plan.trials = {.correctness = 2, .warmup = 1, .timed = 0};
  std::uint32_t calls = 0;
  ASSERT_EQ(outcome_text(fixture.run(slow_in_first_calls(calls, 0))), "passed");
  EXPECT_EQ(calls, 3u);
}

}  // namespace
}  // namespace kq::judge
