#include "gpu_worker/judge/trial/trials.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_device.h"
#include "gpu_worker/judge/testing/fake_problem.h"
#include "gpu_worker/judge/timing/concurrent_warm_ups.h"

namespace kq::judge {
namespace {

using channel::Command;

TEST(TrialRun, the_reference_is_timed_less_often_than_the_submission) {
  // Answers that are short take long, too, where the host gave this process no processor meanwhile: one run of several
  // shows that they need no inputs made.
  constexpr int kRunsMax = 10;
  std::uint32_t least_inputs = UINT32_MAX;
  for (int run = 0; run < kRunsMax && least_inputs > 1; ++run) {
    const bool is_long = run == 0;
    FakeHouse house;
    house.plan.trials = {.correctness = 4, .warmup = 2, .timed = 21};
    std::map<Command, std::uint32_t> commands;
    std::uint64_t answers = 0;
    const Report report = house.run({}, [&](FakeTurn& turn) {
      ++commands[turn.command];
      answers += turn.command == Command::answer ? turn.page.answer_count : 0;
      if (is_long && turn.command == Command::answer) ::usleep(kAtOnceNs / 1'000);
    });
    ASSERT_TRUE(report.verdict) << report.error;
    ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
    EXPECT_EQ(report.samples.submission_ns.size(), 21u);
    EXPECT_EQ(report.samples.reference_ns.size(), kTimedSamplesMin + 2);  // of the 9th and the 17th
    EXPECT_EQ(commands[Command::call],
              kTimedSamplesMin + 2 + 2);  // and twice of the very first, which shows that it agrees with itself
    EXPECT_EQ(answers + commands[Command::make_inputs], correctness_of(*report.verdict)->trials_passed);
    // Where answers take long, those that are timed have none beforehand; the very first may.
    const std::uint32_t inputs = commands[Command::make_inputs];
    EXPECT_LE(inputs, kTimedSamplesMin + 3);
    if (is_long) {
      EXPECT_GE(inputs, kTimedSamplesMin + 2);
    } else {
      least_inputs = std::min(least_inputs, inputs);
    }
  }
  EXPECT_LE(least_inputs, 1u);
}

// What the two sides were asked, in turn.
struct Heard {
  std::mutex mutex;
  std::vector<std::string> words;
  std::vector<std::uint64_t> seeds;     // of the submission's calls
  std::vector<std::uint64_t> answered;  // of the answers
  std::vector<std::uint64_t> at_once;   // answers of each command
  Twist as(const std::string& who) {
    return [this, who](FakeTurn& turn) {
      const std::lock_guard lock(mutex);
      if (turn.command == Command::answer) {
        at_once.push_back(turn.page.answer_count);
        for (const Seeds& asked : fake_asked(turn)) answered.push_back(asked.calls);
      }
      if (turn.command == Command::call) words.push_back(who + " is called");
      // The very first trial has an answer where there was time for one while the submission loaded; else what is timed
      // answers.
      const bool is_answer = who == "reference" && turn.command == Command::call &&
                             std::ranges::find(answered, turn.seed) == answered.end();
      if (is_answer) answered.push_back(turn.seed);
      if (turn.command == Command::call && who == "submission") {
        seeds.push_back(turn.seed);
        EXPECT_GE(answered.size(), seeds.size());
      }
    };
  }
};

TEST(TrialRun, an_answer_is_computed_once_for_each_trial_and_before_its_call) {
  FakeHouse house;
  house.plan.trials = {.correctness = 8, .warmup = 1, .timed = 0};
  Heard heard;
  const Report report = house.run(heard.as("submission"), heard.as("reference"));
  ASSERT_TRUE(report.verdict) << report.error;
  std::vector<std::string> expected{"reference is called", "reference is called",
                                    "submission is called"};  // the first one twice: it agrees with itself
  expected.insert(expected.end(), 8, "submission is called");
  EXPECT_EQ(heard.words, expected);
  EXPECT_EQ(heard.answered.size(), 9u);
  EXPECT_EQ(heard.seeds, heard.answered);
}

TEST(TrialRun, short_answers_are_asked_for_together_and_long_ones_one_by_one) {
  for (const bool is_long : {false, true}) {
    FakeHouse house;
    house.plan.trials = {.correctness = 30, .warmup = 1, .timed = 0};
    Heard heard;
    const Report report = house.run(heard.as("submission"), [&, hear = heard.as("reference")](FakeTurn& turn) {
      hear(turn);
      if (is_long && turn.command == Command::answer) ::usleep(kAtOnceNs / 1'000);
    });
    ASSERT_TRUE(report.verdict) << report.error;
    ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
    EXPECT_EQ(heard.seeds, heard.answered);
    EXPECT_EQ(heard.answered.size(), 31u);
    EXPECT_EQ(heard.at_once.front(), 1u)
        << "nobody knows yet how long one takes, nor whether the submission is right at all";
    EXPECT_EQ(std::ranges::max(heard.at_once) > 1, !is_long);
  }
}

TEST(TrialRun, the_next_inputs_are_drawn_while_a_trial_is_checked) {
  FakeHouse house;
  house.plan.trials = {.correctness = 0, .warmup = 1, .timed = kTimedSamplesMin};  // and a decoy
  constexpr int kTrials = kTimedSamplesMin + 2;
  std::atomic<int> called = 0;
  std::atomic<int> drawn = 0;
  std::atomic<bool> is_submissions = false;  // the last call
  int looked_at = 0;
  int checked = 0;
  auto device = std::make_unique<FakeDevice>();
  device->at_look = [&] {
    if (!is_submissions || called == kTrials || std::exchange(looked_at, called) == called) return;
    for (int ms = 0; drawn <= called && ms < 2'000; ++ms) ::usleep(1'000);
    EXPECT_GT(drawn, called);
    ++checked;
  };
  house.use(std::move(device));
  const Report report =
      house.run(at(Command::call, [&](FakeTurn&) { is_submissions = true, ++called; }), [&](FakeTurn& turn) {
        if (turn.command == Command::call) is_submissions = false;
        if (turn.command == Command::make_inputs) ++drawn;
        if (turn.command == Command::answer) drawn += static_cast<int>(turn.page.answer_count);
      });
  ASSERT_TRUE(report.verdict) << report.error;
  EXPECT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(called, kTrials);
  EXPECT_EQ(checked, kTrials - 1);
}

TEST(TrialRun, leaves_a_reference_that_can_be_used_when_an_answer_was_for_nothing) {
  FakeHouse house;
  house.plan.trials = {.correctness = 8, .warmup = 1, .timed = 0};
  const Report wrong =
      house.run(at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.outputs[0]) = 1e6f; }),
                at(Command::answer, [](FakeTurn&) { ::usleep(20'000); }));
  ASSERT_TRUE(wrong.verdict);
  EXPECT_EQ(name_of(*wrong.verdict), VerdictName::wrong_answer);
  EXPECT_TRUE(wrong.reference_usable);
  const Report right = house.run_again();
  ASSERT_TRUE(right.verdict) << right.error;
  EXPECT_EQ(name_of(*right.verdict), VerdictName::passed);
}

TEST(TrialRun, a_kept_reference_that_fails_is_nobodys_fault) {
  for (const channel::Failure how : {channel::Failure::runtime_error, channel::Failure::out_of_gpu_memory}) {
    FakeHouse house;
    bool is_tired = false;
    ASSERT_TRUE(house.run({}, at(Command::answer, [&](FakeTurn& turn) { is_tired ? turn.fail(how, "tired") : void(); }))
                    .verdict);
    is_tired = true;
    const Report report = house.run_again();
    EXPECT_TRUE(report.error.starts_with("a kept reference child failed: ")) << report.error;
    EXPECT_FALSE(report.reference_usable);
  }
}

TEST(TrialRun, while_a_submission_loads_a_reference_not_known_to_be_slow_is_ahead) {
  FakeHouse house;
  house.plan.trials = {.correctness = 6, .warmup = 2, .timed = 12};
  Heard heard;
  std::atomic<std::size_t> answered = 0;
  std::size_t before = 0;
  const Twist wait_for_answers = at(Command::load, [&](FakeTurn&) {
    for (int ms = 0; answered == before && ms < 2'000; ++ms) ::usleep(1'000);
    EXPECT_GT(answered, before);
  });
  ASSERT_TRUE(house
                  .run(wait_for_answers,
                       [&](FakeTurn& turn) {
                         if (turn.command != Command::answer) return;
                         const std::lock_guard lock(heard.mutex);
                         for (const Seeds& asked : fake_asked(turn)) heard.answered.push_back(asked.calls);
                         answered = heard.answered.size();
                       })
                  .verdict);

  before = answered;
  const Report failed = house.run_again([&](FakeTurn& turn) {
    wait_for_answers(turn);
    if (turn.command == Command::load) turn.fail(channel::Failure::load_failed, "no");
  });
  ASSERT_TRUE(failed.verdict) << failed.error;
  EXPECT_EQ(name_of(*failed.verdict), VerdictName::load_failed);
  EXPECT_TRUE(failed.reference_usable);

  // What was made ahead then was another model's and is for nothing.
  std::vector<std::uint64_t> called;
  const std::size_t made = answered;
  const Report passed = house.run_again([&](FakeTurn& turn) {
    if (turn.command == Command::load) {
      for (int ms = 0; answered == made && ms < 2'000; ++ms) ::usleep(1'000);
      EXPECT_GT(answered, made);
    }
    if (turn.command == Command::call) called.push_back(turn.seed);
  });
  ASSERT_TRUE(passed.verdict) << passed.error;
  ASSERT_EQ(name_of(*passed.verdict), VerdictName::passed);
  const std::vector asked(heard.answered.begin() + static_cast<std::ptrdiff_t>(made), heard.answered.end());
  std::erase_if(called,
                [&](std::uint64_t seed) { return std::ranges::find(heard.answered, seed) == heard.answered.end(); });
  EXPECT_EQ(called, asked);
}

// Somebody who makes himself warm from when he is told to, and until he is told that he is.
class WarmingUp {
 public:
  explicit WarmingUp(FakeHouse& house, std::int64_t patience_ms = 50)
      : bystanders_(std::move(*channel::WarmUpPage::map(sys::Fd(::dup(control_.fd())))), patience_ms * 1'000'000) {
    house.device->set_bystanders(&bystanders_);
  }
  void begins() { control_.set_running(0, true); }
  void is_warm() { control_.set_running(0, false); }
  bool is_there() const { return bystanders_.any(); }

 private:
  channel::WarmUpPage control_ = std::move(*channel::WarmUpPage::make());
  Bystanders bystanders_;
};

TEST(TrialRun, what_is_not_timed_comes_first_while_somebody_warms_up) {
  FakeHouse house;
  WarmingUp somebody(house);
  somebody.begins();
  house.plan.trials = {.correctness = 20, .warmup = 1, .timed = 5};
  // Until 21 calls were made somebody is there, and those of timed trials are what only they have: a reference that is
  // timed.
  int calls = 0;
  int timed_before = 0;
  const Report report =
      house.run(at(Command::call,
                   [&](FakeTurn&) {
                     if (++calls == 21) somebody.is_warm();
                   }),
                at(Command::call, [&](FakeTurn&) { timed_before += calls > 0 && calls < 21 ? 1 : 0; }));
  ASSERT_TRUE(report.verdict) << report.error;
  EXPECT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(report.samples.submission_ns.size(), 5u);
  EXPECT_EQ(timed_before, 0);
}

// Somebody may warm up there, and while he is there the device is his around the calls that a test names.
struct DisturbedHouse : FakeHouse {
  explicit DisturbedHouse(std::int64_t patience_ms = 50) {
    auto fake = std::make_unique<FakeDevice>();
    fake->absence = [this] { return somebody->is_there() && is_his() ? kAbsenceNs + 1 : 0; };
    use(std::move(fake));
    somebody = std::make_unique<WarmingUp>(*this, patience_ms);
  }
  // He is there when the submission loads.
  Report run_beside(Twist at_call, Twist at_reference_call = {}) {
    const Twist begin_and_call = [this, at_call](FakeTurn& turn) {
      if (turn.command == Command::load) somebody->begins();
      if (turn.command == Command::call) at_call(turn);
    };
    Report report = run(begin_and_call, at_reference_call ? at(Command::call, at_reference_call) : Twist());
    EXPECT_TRUE(report.verdict) << report.error;
    return report;
  }
  std::function<bool()> is_his = [] { return false; };
  std::unique_ptr<WarmingUp> somebody;
};

// The device is somebody else's around every other call for as long as he is there.
TEST(TrialRun, timed_trials_that_somebody_who_warms_up_has_disturbed_come_again) {
  DisturbedHouse house;
  std::atomic<int> calls = 0;
  house.is_his = [&] { return calls % 2 == 1; };
  house.plan.trials = {.correctness = 0, .warmup = 1, .timed = 20};
  const Report report = house.run_beside([&](FakeTurn&) { ++calls; });
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed) << "more than would be forgiven without him";
  EXPECT_EQ(report.samples.submission_ns.size(), 20u);
  EXPECT_GE(calls, 38);
  EXPECT_EQ(correctness_of(*report.verdict)->trials_passed, static_cast<std::uint32_t>(calls))
      << "void or not, outputs are right";
}

// Of half of the samples nobody knows which ones he has disturbed, and a reference's first ones are few.
TEST(TrialRun, where_most_were_disturbed_all_are_taken_again_in_the_quiet) {
  DisturbedHouse house(20'000);
  int calls = 0;
  std::atomic<bool> is_of_reference = false;
  house.is_his = [&] { return is_of_reference.load(); };
  house.plan.trials = {.correctness = 0, .warmup = 1, .timed = 6};
  std::thread warm;
  const Report report = house.run_beside(
      [&](FakeTurn&) {
        is_of_reference = false;
        ::usleep(house.somebody->is_there() && ++calls % 2 == 0 ? 50'000 : 1'000);
      },
      [&](FakeTurn&) {
        is_of_reference = true;
        if (calls >= 1 && !warm.joinable()) warm = std::thread([&] { ::usleep(800'000), house.somebody->is_warm(); });
      });
  ASSERT_TRUE(warm.joinable());
  warm.join();
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(report.samples.submission_ns.size(), 6u);
  EXPECT_LT(std::ranges::max(report.samples.submission_ns), 40'000'000);
  EXPECT_GE(report.samples.reference_ns.size(), 3u);
}

// As it is the first five times, which follow one another.
TEST(TrialRun, a_reference_most_of_whose_samples_were_slowed_is_timed_again_in_the_quiet) {
  for (const int slowed : {4, 6}) {
    DisturbedHouse house(20'000);
    std::atomic<int> timed = 0;
    house.plan.trials = {.correctness = 0, .warmup = 1, .timed = 20};
    std::thread warm;
    const Report report = house.run_beside(
        [&](FakeTurn&) {
          ::usleep(20'000);
          if (timed == 2 + 7 && !warm.joinable())
            warm = std::thread([&] { ::usleep(500'000), house.somebody->is_warm(); });
        },
        [&](FakeTurn&) { ::usleep(++timed > 2 && timed <= 2 + slowed ? 80'000 : 20'000); });
    ASSERT_TRUE(warm.joinable());
    warm.join();
    ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
    EXPECT_GE(report.samples.reference_ns.size(), kReferencesMin) << slowed;
    EXPECT_EQ(report.samples.submission_ns.size(), 20u) << slowed;
    EXPECT_LT(std::ranges::max(report.samples.reference_ns), 60'000'000) << slowed;
  }
}

// He stays for long, and is not waited for; but where the host stalls a call for 10 ms, which is long, and one run of
// several shows it.
TEST(TrialRun, a_reference_that_was_disturbed_is_timed_in_other_trials) {
  constexpr std::int64_t kStaysMs = 8'000;
  bool is_waited_for = true;
  for (int run = 0; run < 4 && is_waited_for; ++run) {
    DisturbedHouse house(kStaysMs);
    std::atomic<int> of_reference = 0;
    house.is_his = [&] { return of_reference >= 3 && of_reference < 6; };  // in three trials
    house.plan.trials = {.correctness = 0, .warmup = 1, .timed = 20};
    const std::int64_t start_ns = clock_ns();
    const Twist slowly = [](FakeTurn&) { ::usleep(1'000); };
    const Report report = house.run_beside(slowly, [&](FakeTurn& turn) {
      ++of_reference;
      slowly(turn);
    });
    is_waited_for = clock_ns() - start_ns > kStaysMs * 500'000;
    ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
    EXPECT_GE(report.samples.reference_ns.size(), kTimedSamplesMin) << "and none of them of those three";
    EXPECT_GE(of_reference, 2 + 3 + 5);
  }
  EXPECT_FALSE(is_waited_for);
}

// Nobody of ours is there, so it is the submission's own work: such a sample is none, and too many of them are no
// accident.
TEST(TrialRun, a_reference_that_work_left_behind_has_disturbed_is_no_sample) {
  for (const bool always : {false, true}) {
    FakeHouse house;
    auto fake = std::make_unique<FakeDevice>();
    std::atomic<bool> is_of_reference = false;
    std::atomic<int> disturbed = 0;
    fake->absence = [&] {
      return is_of_reference && (always || disturbed < 3) && ++disturbed > 0 ? kAbsenceNs + 1 : 0;
    };
    house.use(std::move(fake));
    house.plan.trials = {.correctness = 0, .warmup = 1, .timed = 40};
    int timed = 0;
    const Report report =
        house.run(at(Command::call, [&](FakeTurn&) { is_of_reference = false; }), at(Command::call, [&](FakeTurn&) {
                    // The first trial's two calls are no samples. What was disturbed is far from the others.
                    is_of_reference = ++timed > 2;
                    ::usleep(is_of_reference && (always || timed <= 5) ? 20'000 : 1'000);
                  }));
    ASSERT_TRUE(report.verdict) << report.error;
    if (always) {
      EXPECT_EQ(name_of(*report.verdict), VerdictName::rejected);
      EXPECT_EQ(evidence_of(*report.verdict)->rule, "quiet");
    } else {
      ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
      EXPECT_GE(report.samples.reference_ns.size(), kTimedSamplesMin);
      EXPECT_LT(std::ranges::max(report.samples.reference_ns), 20'000'000);
    }
  }
}

// Who says done while the judge keeps the device has computed nothing there: the trial is void, and too many are no
// accident.
TEST(TrialRun, a_call_that_is_done_before_it_could_have_begun_is_void) {
  for (const int early : {2, 1'000}) {
    FakeHouse house;
    auto fake = std::make_unique<FakeDevice>();
    FakeDevice& device = *fake;
    device.is_held = true;
    house.use(std::move(fake));
    house.plan.trials = {.correctness = 1, .warmup = 1, .timed = 6};
    int calls = 0;
    const Report report = house.run(at(Command::call, [&](FakeTurn& turn) {
      if (++calls <= early) return;
      const int hold = device.held;
      std::atomic_ref(turn.page.launched).store(turn.page.go, std::memory_order_release);
      while (device.released != hold) std::this_thread::yield();
    }));
    ASSERT_TRUE(report.verdict) << report.error;
    if (early == 2) {
      EXPECT_EQ(name_of(*report.verdict), VerdictName::passed);
      EXPECT_EQ(report.samples.submission_ns.size(), 6u);
      EXPECT_GE(calls, 8 + early);
    } else {
      EXPECT_EQ(name_of(*report.verdict), VerdictName::rejected);
      EXPECT_EQ(evidence_of(*report.verdict)->rule, "early");
      EXPECT_EQ(evidence_of(*report.verdict)->reason, "async");
    }
  }
}

// Of a single sample he may begin beside, before it or in the middle of it.
TEST(TrialRun, few_timed_trials_are_taken_in_the_quiet) {
  for (const bool begins_before : {false, true}) {
    DisturbedHouse house(20'000);
    house.plan.trials = {.correctness = 0, .warmup = 1, .timed = 1};
    std::thread warm;
    const auto begin = [&] {
      if (warm.joinable()) return;
      house.somebody->begins();
      warm = std::thread([&] { ::usleep(200'000), house.somebody->is_warm(); });
    };
    int calls = 0;
    const Report report = house.run([&](FakeTurn& turn) {
      if (turn.command == Command::load && begins_before) begin();
      if (turn.command == Command::call && ++calls == 2) begin();
      if (turn.command == Command::call) ::usleep(house.somebody->is_there() ? 50'000 : 1'000);
    });
    ASSERT_TRUE(warm.joinable());
    warm.join();
    ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
    ASSERT_EQ(report.samples.submission_ns.size(), 1u);
    EXPECT_LT(report.samples.submission_ns.front(), 40'000'000);
  }
}

TEST(TrialRun, who_disturbs_more_than_others_do_is_waited_for) {
  DisturbedHouse house(20'000);
  std::atomic<int> calls = 0;
  std::atomic<bool> is_of_submission = false;
  house.is_his = [&] { return is_of_submission.load(); };
  house.plan.trials = {.correctness = 0, .warmup = 1, .timed = 5};
  std::thread warm([&] {
    for (int ms = 0; calls <= static_cast<int>(kDisturbedMax) && ms < 20'000; ++ms) ::usleep(1'000);
    ::usleep(50'000);
    house.somebody->is_warm();
  });
  const Report report = house.run_beside(
      [&](FakeTurn&) {
        is_of_submission = true;
        ++calls;
      },
      [&](FakeTurn&) { is_of_submission = false; });
  warm.join();
  EXPECT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(report.samples.submission_ns.size(), 5u);
}

TEST(TrialRun, a_call_that_took_longer_than_others_is_made_again_only_beside_somebody) {
  for (const bool is_beside : {false, true}) {
    FakeHouse house;
    house.plan.trials = {.correctness = 0, .warmup = 1, .timed = 20};
    WarmingUp somebody(house);
    int calls = 0;
    const Report report = house.run([&](FakeTurn& turn) {
      if (turn.command == Command::load && is_beside) somebody.begins();
      if (turn.command != Command::call) return;
      ++calls;
      ::usleep(13 <= calls && calls <= 17 ? 50'000 : 2'000);
    });
    ASSERT_TRUE(report.verdict) << report.error;
    ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
    EXPECT_EQ(report.samples.submission_ns.size(), 20u);
    EXPECT_EQ(std::ranges::max(report.samples.submission_ns) < 40'000'000, is_beside);
  }
}

// An attempt whose trials begin beside somebody, who is warm when the reference has given `answer_count` answers; and what
// both sides were asked.
struct AheadHouse : FakeHouse {
  AheadHouse() { plan.trials = {.correctness = 2, .warmup = 1, .timed = 30}; }
  Report run_beside(std::size_t answer_count, Twist submission_twist = {}, Twist reference_twist = {}) {
    somebody = std::make_unique<WarmingUp>(*this);
    return run(
        [this, submission_twist](FakeTurn& turn) {
          if (turn.command == Command::load) somebody->begins();
          if (turn.command == Command::call) called.push_back(turn.seed);
          if (submission_twist) submission_twist(turn);
        },
        [this, answer_count, reference_twist](FakeTurn& turn) {
          if (turn.command == Command::answer) {
            for (const Seeds& asked : fake_asked(turn)) {
              answered.push_back(asked.calls);
              drawn.insert(asked.inputs);
            }
            if (called_before == 0 && answered.size() >= answer_count) {
              somebody->is_warm();
              called_before = called.size();
            }
          }
          if (reference_twist) reference_twist(turn);
        });
  }
  // Of the calls, those whose answers nobody timed.
  std::vector<std::uint64_t> called_on_answers() const {
    std::vector<std::uint64_t> found;
    std::ranges::copy_if(called, std::back_inserter(found),
                         [&](std::uint64_t seed) { return std::ranges::find(answered, seed) != answered.end(); });
    return found;
  }

  std::unique_ptr<WarmingUp> somebody;
  std::vector<std::uint64_t> called;    // seeds
  std::vector<std::uint64_t> answered;  // likewise, of the calls
  std::set<std::uint64_t> drawn;        // and of the inputs
  std::size_t called_before = 0;        // he was warm
};

TEST(TrialRun, answers_made_ahead_are_used_once_and_in_order) {
  AheadHouse house;
  const Report report = house.run_beside(20);
  ASSERT_TRUE(report.verdict) << report.error;
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(report.samples.submission_ns.size(), 30u);
  EXPECT_EQ(house.called_on_answers(), house.answered);
  EXPECT_EQ(house.drawn.size(), house.answered.size());
  for (const std::uint64_t seed : house.drawn) EXPECT_EQ(std::ranges::count(house.called, seed), 0);
  EXPECT_EQ(correctness_of(*report.verdict)->trials_passed, house.called.size());
  EXPECT_EQ(std::set(house.called.begin(), house.called.end()).size(), house.called.size());
}

TEST(TrialRun, no_more_answers_are_made_ahead_than_trials_will_use) {
  AheadHouse house;
  const Report report = house.run_beside(1'000);  // he is there all the time
  ASSERT_TRUE(report.verdict) << report.error;
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(house.called_on_answers(), house.answered);
}

TEST(TrialRun, a_void_trial_comes_again_on_the_next_answer) {
  AheadHouse house;
  auto device = std::make_unique<FakeDevice>();
  device->absence = [&] { return house.called.size() % 10 == 9 ? kAbsenceNs + 1 : 0; };
  house.use(std::move(device));
  const Report report = house.run_beside(20);
  ASSERT_TRUE(report.verdict) << report.error;
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(report.samples.submission_ns.size(), 30u);
  EXPECT_EQ(house.called_on_answers(), house.answered);
  EXPECT_EQ(std::set(house.called.begin(), house.called.end()).size(), house.called.size());
}

TEST(TrialRun, where_there_is_no_room_answers_are_made_in_their_trials) {
  AheadHouse house;
  auto device = std::make_unique<FakeDevice>();
  device->private_bytes_max = 2'048;
  house.use(std::move(device));
  const Report report = house.run_beside(20);
  ASSERT_TRUE(report.verdict) << report.error;
  EXPECT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_GE(house.called_before, 19u);
  EXPECT_EQ(house.called_on_answers(), house.answered);
}

TEST(TrialRun, a_wrong_answer_of_the_submission_is_seen_where_the_right_one_was_made_ahead) {
  AheadHouse house;
  const Report report = house.run_beside(20, at(Command::call, [&](FakeTurn& turn) {
                                           if (house.called.size() == 25)
                                             *fake_data<float>(turn, turn.page.outputs[0]) += 1;
                                         }));
  ASSERT_TRUE(report.verdict) << report.error;
  EXPECT_EQ(name_of(*report.verdict), VerdictName::wrong_answer);
  EXPECT_EQ(evidence_of(*report.verdict)->mismatch->trial, 24u);
  EXPECT_TRUE(report.reference_usable);
  const Report right = house.run_again();
  ASSERT_TRUE(right.verdict) << right.error;
  EXPECT_EQ(name_of(*right.verdict), VerdictName::passed)
      << "what was left of those made ahead is not used in another attempt";
}

TEST(TrialRun, a_reference_that_changes_its_inputs_may_be_ahead) {
  AheadHouse house;
  const Twist change = at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.inputs[0]) += 1; });
  const Report report = house.run_beside(20, change, change);
  ASSERT_TRUE(report.verdict) << report.error;
  EXPECT_EQ(name_of(*report.verdict), VerdictName::passed);
}

TEST(TrialRun, a_reference_that_fails_ahead_makes_the_problem_invalid) {
  AheadHouse house;
  const Report report = house.run_beside(1'000, {}, at(Command::answer, [&](FakeTurn& turn) {
                                           if (house.answered.size() >= 15)
                                             turn.fail(channel::Failure::problem_invalid, "no more");
                                         }));
  ASSERT_TRUE(report.verdict) << report.error;
  EXPECT_EQ(name_of(*report.verdict), VerdictName::problem_invalid);
  EXPECT_EQ(evidence_of(*report.verdict)->message, "the reference: no more");
  EXPECT_EQ(evidence_of(*report.verdict)->stage, Stage::run);
  EXPECT_FALSE(report.reference_usable);
}

}  // namespace
}  // namespace kq::judge
