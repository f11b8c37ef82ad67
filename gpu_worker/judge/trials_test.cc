#include "gpu_worker/judge/trials.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_worker/judge/bystanders.h"
#include "gpu_worker/judge/fake_problem.h"

namespace kq::judge {
namespace {

using channel::Command;

TEST(TrialRun, the_reference_is_timed_less_often_than_the_submission) {
  FakeHouse house;
  house.plan.trials = {.correctness = 4, .warmup = 2, .timed = 21};
  std::map<Command, std::uint32_t> commands;
  const Report report = house.run({}, [&](FakeTurn& turn) { ++commands[turn.command]; });
  ASSERT_TRUE(report.verdict) << report.error;
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(report.samples.submission_ns.size(), 21u);
  EXPECT_EQ(report.samples.reference_ns.size(), kTimedSamplesMin + 4);  // of the 9th, the 13th, the 17th and the 21st
  EXPECT_EQ(commands[Command::make_inputs], kTimedSamplesMin + 5);        // and of the very first, which shows what it does to its inputs
  EXPECT_GE(commands[Command::answer], 17u);
}

// What the two sides were asked, in turn.
struct Heard {
  std::mutex mutex;
  std::vector<std::string> words;
  Twist as(const std::string& who) {
    return [this, who](FakeTurn& turn) {
      const std::lock_guard lock(mutex);
      if (turn.command == Command::answer) words.push_back(who + " answers");
      if (turn.command == Command::call) words.push_back(who + " is called");
    };
  }
};

TEST(TrialRun, an_answer_is_computed_once_for_each_trial_and_before_its_call) {
  FakeHouse house;
  house.plan.trials = {.correctness = 8, .warmup = 1, .timed = 0};
  Heard heard;
  const Report report = house.run(heard.as("submission"), heard.as("reference"));
  ASSERT_TRUE(report.verdict) << report.error;
  std::vector<std::string> expected{"reference is called", "reference is called", "submission is called"};  // the first one twice: it agrees with itself
  for (int i = 0; i < 8; ++i) expected.insert(expected.end(), {"reference answers", "submission is called"});
  EXPECT_EQ(heard.words, expected);
}

TEST(TrialRun, leaves_a_reference_that_can_be_used_when_an_answer_was_for_nothing) {
  FakeHouse house;
  house.plan.trials = {.correctness = 8, .warmup = 1, .timed = 0};
  const Report wrong = house.run(at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.outputs[0]) = 1e6f; }),
                                 at(Command::answer, [](FakeTurn&) { ::usleep(20'000); }));
  ASSERT_TRUE(wrong.verdict);
  EXPECT_EQ(name_of(*wrong.verdict), VerdictName::wrong_answer);
  EXPECT_TRUE(wrong.reference_usable);
  const Report right = house.run_again();
  ASSERT_TRUE(right.verdict) << right.error;
  EXPECT_EQ(name_of(*right.verdict), VerdictName::passed);
}

TEST(TrialRun, what_is_not_timed_comes_first_while_somebody_warms_up) {
  auto control = std::move(*Warming::make());
  Bystanders bystanders(std::move(*Warming::map(Fd(::dup(control.fd())))));
  FakeHouse house;
  house.device->set_bystanders(&bystanders);
  house.plan.trials = {.correctness = 20, .warmup = 1, .timed = 5};
  const pid_t sleeper = ::fork();
  if (sleeper == 0) {
    ::sleep(100);
    ::_exit(0);
  }
  // Until 21 calls were made somebody is there, and those of timed trials are what only they have: a reference that is timed.
  control.set(0, sleeper);
  int calls = 0;
  int timed_before = 0;
  const Report report = house.run(at(Command::call, [&](FakeTurn&) {
                                    if (++calls == 21) control.set(0, 0);
                                  }),
                                  at(Command::call, [&](FakeTurn&) { timed_before += calls > 0 && calls < 21 ? 1 : 0; }));
  ::kill(sleeper, SIGKILL);
  ::waitpid(sleeper, nullptr, 0);
  ASSERT_TRUE(report.verdict) << report.error;
  EXPECT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(report.samples.submission_ns.size(), 5u);
  EXPECT_EQ(timed_before, 0);
}

}  // namespace
}  // namespace kq::judge
