#include "gpu_worker/judge/trial/trials.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_device.h"
#include "gpu_worker/judge/testing/fake_problem.h"
#include "gpu_worker/judge/testing/fake_warm_up.h"

namespace kq::judge {
namespace {

using channel::Command;

TEST(TrialRun, the_reference_is_timed_less_often_than_the_submission) {
  // Where the host gives this process no processor, a quick reference takes long too. So one of several runs must show
  // that no inputs are drawn separately.
  constexpr int kRunsMax = 200;
  std::uint32_t least_inputs = UINT32_MAX;
  for (int run = 0; run < kRunsMax && least_inputs > 1; ++run) {
    const bool is_long = run == 0;
    JudgeFixture fixture;
    fixture.plan.trials = {.correctness = 4, .warmup = 2, .timed = 21};
    std::map<Command, std::uint32_t> commands;
    std::uint64_t answers = 0;
    const Report report = fixture.run({}, [&](FakeTurn& turn) {
      ++commands[turn.command];
      answers += turn.command == Command::answer ? turn.page.answer_count : 0;
      if (is_long && turn.command == Command::answer) ::usleep(kCommandNsMax / 1'000);
    });
    ASSERT_TRUE(report.verdict) << report.error;
    ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
    EXPECT_EQ(report.samples.submission_ns.size(), 21u);
    EXPECT_EQ(report.samples.reference_ns.size(),
              kTimedSamplesMin + 2);  // two more in the 9th and the 17th timed trial
    EXPECT_EQ(commands[Command::call],
              kTimedSamplesMin + 2 + 2);  // two for the first trial, to check determinism
    EXPECT_EQ(answers + commands[Command::make_inputs], correctness_of(*report.verdict)->trials_passed);
    // A slow reference computes no trials ahead whose reference is timed, except perhaps the very first one.
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

TEST(TrialRun, two_correctness_calls_are_watched_at_places_that_differ) {
  std::set<std::vector<int>> places;
  for (int run = 0; run < 8; ++run) {
    JudgeFixture fixture;
    fixture.random.seed(static_cast<std::uint64_t>(run));
    fixture.plan.trials = {.correctness = 6, .warmup = 1, .timed = 4};
    std::vector<int> watched;
    int calls = 0;
    const Report report = fixture.run([&](FakeTurn& turn) {
      if (turn.command == Command::call && turn.page.is_watched == 1) watched.push_back(calls);
      calls += turn.command == Command::call ? 1 : 0;
      EXPECT_TRUE(turn.command == Command::call || turn.page.is_watched == 0);
    });
    ASSERT_TRUE(report.verdict) << report.error;
    EXPECT_EQ(watched.size(), kWatchedCallsMax);
    EXPECT_EQ(report.samples.submission_ns.size(), 4u);
    places.insert(watched);
  }
  EXPECT_GT(places.size(), 1u);
}

// The commands that both children got, in order.
struct CommandLog {
  std::mutex mutex;
  std::vector<std::string> lines;
  std::vector<std::uint64_t> seeds;        // of the submission's calls
  std::vector<std::uint64_t> trial_seeds;  // of the trials that the reference computed
  std::vector<std::uint64_t> at_once;      // the number of trials of each command
  Twist as(const std::string& child) {
    return [this, child](FakeTurn& turn) {
      const std::lock_guard lock(mutex);
      if (turn.command == Command::answer) {
        at_once.push_back(turn.page.answer_count);
        for (const Seeds& each : fake_answer_seeds(turn)) trial_seeds.push_back(each.calls);
      }
      if (turn.command == Command::call) lines.push_back(child + " is called");
      // Where there was time while the submission loaded, the very first trial was computed ahead. Otherwise the timed
      // call computes the expected outputs.
      const bool is_answer = child == "reference" && turn.command == Command::call &&
                             std::ranges::find(trial_seeds, turn.seed) == trial_seeds.end();
      if (is_answer) trial_seeds.push_back(turn.seed);
      if (turn.command == Command::call && child == "submission") {
        seeds.push_back(turn.seed);
        EXPECT_GE(trial_seeds.size(), seeds.size());
      }
    };
  }
};

TEST(TrialRun, the_reference_computes_each_trial_once_and_before_the_submissions_call) {
  JudgeFixture fixture;
  fixture.plan.trials = {.correctness = 8, .warmup = 1, .timed = 0};
  CommandLog log;
  const Report report = fixture.run(log.as("submission"), log.as("reference"));
  ASSERT_TRUE(report.verdict) << report.error;
  std::vector<std::string> expected{"reference is called", "reference is called",
                                    "submission is called"};  // the first trial calls twice, to check determinism
  expected.insert(expected.end(), 8, "submission is called");
  EXPECT_EQ(log.lines, expected);
  EXPECT_EQ(log.trial_seeds.size(), 9u);
  EXPECT_EQ(log.seeds, log.trial_seeds);
}

TEST(TrialRun, one_command_computes_several_trials_only_where_the_reference_is_quick) {
  for (const bool is_long : {false, true}) {
    JudgeFixture fixture;
    fixture.plan.trials = {.correctness = 30, .warmup = 1, .timed = 0};
    CommandLog log;
    const Report report = fixture.run(log.as("submission"), [&, log_reference = log.as("reference")](FakeTurn& turn) {
      log_reference(turn);
      if (is_long && turn.command == Command::answer) ::usleep(kCommandNsMax / 1'000);
    });
    ASSERT_TRUE(report.verdict) << report.error;
    ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
    EXPECT_EQ(log.seeds, log.trial_seeds);
    EXPECT_EQ(log.trial_seeds.size(), 31u);
    EXPECT_EQ(log.at_once.front(), 1u) << "the time of the reference is not known yet";
    EXPECT_EQ(std::ranges::max(log.at_once) > 1, !is_long);
  }
}

TEST(TrialRun, the_next_inputs_are_drawn_while_a_trial_is_checked) {
  JudgeFixture fixture;
  fixture.plan.trials = {.correctness = 0, .warmup = 1, .timed = kTimedSamplesMin};  // plus a decoy
  constexpr int kTrials = kTimedSamplesMin + 2;
  std::atomic<int> called = 0;
  std::atomic<int> drawn = 0;
  std::atomic<bool> is_submission_call = false;  // of the last call
  int last_checked = 0;
  int checked = 0;
  auto device = std::make_unique<FakeDevice>();
  device->at_comparison = [&] {
    if (!is_submission_call || called == kTrials || std::exchange(last_checked, called) == called) return;
    EXPECT_TRUE(wait_for([&] { return drawn > called; }));
    ++checked;
  };
  fixture.use(std::move(device));
  const Report report =
      fixture.run(at(Command::call, [&](FakeTurn&) { is_submission_call = true, ++called; }), [&](FakeTurn& turn) {
        if (turn.command == Command::call) is_submission_call = false;
        if (turn.command == Command::make_inputs) ++drawn;
        if (turn.command == Command::answer) drawn += static_cast<int>(turn.page.answer_count);
      });
  ASSERT_TRUE(report.verdict) << report.error;
  EXPECT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(called, kTrials);
  EXPECT_EQ(checked, kTrials - 1);
}

TEST(TrialRun, the_reference_stays_usable_when_a_trial_ahead_is_not_needed) {
  JudgeFixture fixture;
  fixture.plan.trials = {.correctness = 8, .warmup = 1, .timed = 0};
  const Report wrong =
      fixture.run(at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.outputs[0]) = 1e6f; }),
                  at(Command::answer, [](FakeTurn&) { ::usleep(20'000); }));
  ASSERT_TRUE(wrong.verdict);
  EXPECT_EQ(name_of(*wrong.verdict), VerdictName::wrong_answer);
  EXPECT_TRUE(wrong.reference_usable);
  const Report right = fixture.run_again();
  ASSERT_TRUE(right.verdict) << right.error;
  EXPECT_EQ(name_of(*right.verdict), VerdictName::passed);
}

TEST(TrialRun, a_failure_of_a_kept_reference_is_an_error_and_no_verdict) {
  for (const channel::Failure how : {channel::Failure::runtime_error, channel::Failure::out_of_gpu_memory}) {
    JudgeFixture fixture;
    bool is_tired = false;
    ASSERT_TRUE(
        fixture.run({}, at(Command::answer, [&](FakeTurn& turn) { is_tired ? turn.fail(how, "tired") : void(); }))
            .verdict);
    is_tired = true;
    const Report report = fixture.run_again();
    EXPECT_TRUE(report.error.starts_with("a kept reference child failed: ")) << report.error;
    EXPECT_FALSE(report.reference_usable);
  }
}

// Three attempts, one after another, with the same reference. The second one fails when its submission loads.
class ComputedWhileLoading {
 public:
  ComputedWhileLoading() { fixture_.plan.trials = {.correctness = 6, .warmup = 2, .timed = 12}; }
  // Runs all attempts. Returns whether the reference has computed trials while each submission loaded.
  bool run() {
    const Report first = fixture_.run(at(Command::load, [&](FakeTurn&) { wait_for_trials(kWaitMaxMs); }),
                                      at(Command::answer, [&](FakeTurn& turn) { add_trials(turn); }));
    EXPECT_TRUE(first.verdict) << first.error;
    EXPECT_EQ(computed_, 1);

    before_ = trial_count_;
    const Report failed = fixture_.run_again(at(Command::load, [&](FakeTurn& turn) {
      wait_for_trials();
      turn.fail(channel::Failure::load_failed, "no");
    }));
    EXPECT_TRUE(failed.verdict) << failed.error;
    EXPECT_EQ(outcome_text(failed), "load_failed at load");
    EXPECT_TRUE(failed.reference_usable);

    before_ = trial_count_;
    const Report passed = fixture_.run_again([&](FakeTurn& turn) {
      if (turn.command == Command::load) wait_for_trials();
      if (turn.command == Command::call) called_.push_back(turn.seed);
    });
    EXPECT_EQ(outcome_text(passed), "passed");
    expect_that_all_are_used();
    return computed_ == 3;
  }

 private:
  // A slow reference computes no trials here, except in the first attempt, where its time is not known yet.
  void wait_for_trials(int limit_ms = 1'000) {
    computed_ += wait_for([&] { return trial_count_ > before_; }, limit_ms) ? 1 : 0;
  }
  void add_trials(FakeTurn& turn) {
    const std::lock_guard lock(mutex_);
    for (const Seeds& each : fake_answer_seeds(turn)) trial_seeds_.push_back(each.calls);
    trial_count_ = trial_seeds_.size();
  }
  // The trials that an earlier attempt computed ahead belong to another model and are dropped.
  void expect_that_all_are_used() {
    const std::vector each(trial_seeds_.begin() + static_cast<std::ptrdiff_t>(before_), trial_seeds_.end());
    std::erase_if(called_,
                  [&](std::uint64_t seed) { return std::ranges::find(trial_seeds_, seed) == trial_seeds_.end(); });
    EXPECT_EQ(called_, each);
  }

  JudgeFixture fixture_;
  std::mutex mutex_;
  std::vector<std::uint64_t> trial_seeds_;
  std::vector<std::uint64_t> called_;  // in the third attempt
  std::atomic<std::size_t> trial_count_ = 0;
  std::size_t before_ = 0;  // trial_count_ before the attempt
  int computed_ = 0;        // the attempts in which trials were computed while the submission loaded
};

// A reference that the host has slowed down computes no trials ahead. So one of several runs must show that a quick one
// does.
TEST(TrialRun, while_a_submission_loads_the_reference_computes_trials_ahead_unless_it_is_slow) {
  constexpr int kRunsMax = 20;
  bool is_computed = false;
  for (int run = 0; run < kRunsMax && !is_computed; ++run) is_computed = ComputedWhileLoading().run();
  EXPECT_TRUE(is_computed);
}

// The first calls of a submission warm it up. Correctness calls and timed ones are mixed after them.
TEST(TrialRun, only_calls_before_the_first_timed_one_count_as_untimed) {
  JudgeFixture fixture;
  FakeWarmUp warm_up(fixture);
  fixture.plan.trials = {.correctness = 3, .warmup = 2, .timed = 5};
  std::vector<bool> untimed;
  const Report report = fixture.run(at(Command::call, [&](FakeTurn&) { untimed.push_back(warm_up.is_untimed()); }));
  ASSERT_TRUE(report.verdict) << report.error;
  ASSERT_GE(untimed.size(), 10u);
  EXPECT_TRUE(untimed[0] && untimed[1]);
  EXPECT_FALSE(untimed.back());
  EXPECT_TRUE(std::ranges::is_sorted(untimed, std::greater<>())) << "it is not set again before the attempt is over";
  EXPECT_TRUE(warm_up.is_untimed());
}

TEST(TrialRun, untimed_trials_come_first_during_a_warm_up) {
  JudgeFixture fixture;
  FakeWarmUp warm_up(fixture);
  warm_up.start();
  fixture.plan.trials = {.correctness = 20, .warmup = 1, .timed = 5};
  // The warm-up runs during the first 21 calls. Only timed trials call the reference for its time.
  int calls = 0;
  int timed_before = 0;
  const Report report =
      fixture.run(at(Command::call,
                     [&](FakeTurn&) {
                       if (++calls == 21) warm_up.finish();
                     }),
                  at(Command::call, [&](FakeTurn&) { timed_before += calls > 0 && calls < 21 ? 1 : 0; }));
  ASSERT_TRUE(report.verdict) << report.error;
  EXPECT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(report.samples.submission_ns.size(), 5u);
  EXPECT_EQ(timed_before, 0);
}

// A fixture with a warm-up. While it runs, another process takes the device around the calls for which
// is_device_taken() returns true.
struct WarmUpFixture : JudgeFixture {
  explicit WarmUpFixture(std::int64_t wait_max_ms = 50) {
    auto fake = std::make_unique<FakeDevice>();
    fake->occupancy_gap = [this] { return warm_up->is_running() && is_device_taken() ? kForeignGapNs + 1 : 0; };
    use(std::move(fake));
    warm_up = std::make_unique<FakeWarmUp>(*this, wait_max_ms);
  }
  // Runs an attempt; the warm-up starts when the submission loads.
  Report run_during_warm_up(const Twist& at_call, const Twist& at_reference_call = {}) {
    const Twist begin_and_call = [this, at_call](FakeTurn& turn) {
      if (turn.command == Command::load) warm_up->start();
      if (turn.command == Command::call) at_call(turn);
    };
    Report report = run(begin_and_call, at_reference_call ? at(Command::call, at_reference_call) : Twist());
    EXPECT_TRUE(report.verdict) << report.error;
    return report;
  }
  std::function<bool()> is_device_taken = [] { return false; };
  std::unique_ptr<FakeWarmUp> warm_up;
};

// Another process takes the device around every other call. The warm-up ends before the last calls, because on a busy
// host the outlier filter drops samples as long as the warm-up runs.
TEST(TrialRun, timed_trials_with_a_gap_during_a_warm_up_are_repeated) {
  WarmUpFixture fixture;
  std::atomic<int> calls = 0;
  fixture.is_device_taken = [&] { return calls % 2 == 1; };
  fixture.plan.trials = {.correctness = 0, .warmup = 1, .timed = 20};
  const Report report = fixture.run_during_warm_up([&](FakeTurn&) {
    if (++calls == 38) fixture.warm_up->finish();
  });
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed) << "there were more than the limit of void trials";
  EXPECT_EQ(report.samples.submission_ns.size(), 20u);
  EXPECT_GE(calls, 38);
  EXPECT_EQ(correctness_of(*report.verdict)->trials_passed, static_cast<std::uint32_t>(calls))
      << "outputs of void trials are checked as well";
}

// The time of a call that is slow on purpose: much longer than what a busy host adds to a quick call.
constexpr useconds_t kSlowUs = 300'000;
// Less than the sample of any such call, of which the overhead has been subtracted.
constexpr std::int64_t kSlowNsMin = 270'000'000;

// Where half of the samples are outliers, the filter cannot tell which ones, and the reference has few samples at
// first.
TEST(TrialRun, where_most_calls_are_outliers_all_are_repeated_after_the_warm_up) {
  WarmUpFixture fixture(kWaitMaxMs);
  int calls = 0;
  std::atomic<bool> is_reference_call = false;
  fixture.is_device_taken = [&] { return is_reference_call.load(); };
  fixture.plan.trials = {.correctness = 0, .warmup = 1, .timed = 6};
  std::thread warm_up_thread;
  const Report report = fixture.run_during_warm_up(
      [&](FakeTurn&) {
        is_reference_call = false;
        ::usleep(fixture.warm_up->is_running() && ++calls % 2 == 0 ? kSlowUs : 1'000);
      },
      [&](FakeTurn&) {
        is_reference_call = true;
        if (calls >= 1 && !warm_up_thread.joinable())
          warm_up_thread = std::thread([&] { ::usleep(3 * kSlowUs), fixture.warm_up->finish(); });
      });
  ASSERT_TRUE(warm_up_thread.joinable());
  warm_up_thread.join();
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(report.samples.submission_ns.size(), 6u);
  EXPECT_LT(std::ranges::max(report.samples.submission_ns), kSlowNsMin);
  EXPECT_GE(report.samples.reference_ns.size(), 3u);
}

// The slow calls of the reference are its first ones and follow one another.
TEST(TrialRun, a_reference_with_mostly_outliers_is_timed_again_after_the_warm_up) {
  for (const int slowed : {4, 6}) {
    WarmUpFixture fixture(kWaitMaxMs);
    std::atomic<int> timed = 0;
    fixture.plan.trials = {.correctness = 0, .warmup = 1, .timed = 20};
    std::thread warm_up_thread;
    const Report report = fixture.run_during_warm_up(
        [&](FakeTurn&) {
          ::usleep(20'000);
          if (timed == 2 + 7 && !warm_up_thread.joinable())
            warm_up_thread = std::thread([&] { ::usleep(500'000), fixture.warm_up->finish(); });
        },
        [&](FakeTurn&) { ::usleep(++timed > 2 && timed <= 2 + slowed ? kSlowUs : 20'000); });
    ASSERT_TRUE(warm_up_thread.joinable());
    warm_up_thread.join();
    ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
    EXPECT_GE(report.samples.reference_ns.size(), kReferencesMin) << slowed;
    EXPECT_EQ(report.samples.submission_ns.size(), 20u) << slowed;
    EXPECT_LT(std::ranges::max(report.samples.reference_ns), kSlowNsMin) << slowed;
  }
}

// A reference call with a gap is repeated at once, after the warm-up, only where the host makes the call longer than
// kReferenceLongNs. So one of several runs must show that it is not.
TEST(TrialRun, a_reference_call_with_a_gap_is_repeated_in_a_later_trial) {
  constexpr int kRunsMax = 50;
  std::atomic<bool> is_repeated_at_once = true;
  for (int run = 0; run < kRunsMax && is_repeated_at_once; ++run) {
    WarmUpFixture fixture;
    std::atomic<int> reference_calls = 0;
    fixture.is_device_taken = [&] {
      return reference_calls >= 3 && reference_calls < 6;
    };  // the gap is in three trials
    fixture.plan.trials = {.correctness = 0, .warmup = 1, .timed = 20};
    std::atomic<bool> is_after_reference = false;
    is_repeated_at_once = false;
    // The first two calls of the reference are one call and its determinism check.
    const Twist reference_twist = [&](FakeTurn&) {
      const bool is_second_in_a_row = is_after_reference.exchange(true);
      if (++reference_calls > 2 && is_second_in_a_row) is_repeated_at_once = true;
    };
    const Report report = fixture.run_during_warm_up([&](FakeTurn&) { is_after_reference = false; }, reference_twist);
    ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
    EXPECT_GE(report.samples.reference_ns.size(), kReferencesMin);
    EXPECT_GE(reference_calls, 2 + 3 + 5) << "samples with a gap do not count";
  }
  EXPECT_FALSE(is_repeated_at_once);
}

// No warm-up runs, so the gap is the submission's own work. Such a sample is dropped, and too many of them are
// rejected.
TEST(TrialRun, a_reference_call_during_other_work_is_no_sample_and_too_many_are_rejected) {
  for (const bool always : {false, true}) {
    JudgeFixture fixture;
    auto fake = std::make_unique<FakeDevice>();
    std::atomic<bool> is_reference_call = false;
    std::atomic<int> gap_count = 0;
    fake->occupancy_gap = [&] {
      return is_reference_call && (always || gap_count < 3) && ++gap_count > 0 ? kForeignGapNs + 1 : 0;
    };
    fixture.use(std::move(fake));
    fixture.plan.trials = {.correctness = 0, .warmup = 1, .timed = 40};
    int timed = 0;
    const Report report =
        fixture.run(at(Command::call, [&](FakeTurn&) { is_reference_call = false; }), at(Command::call, [&](FakeTurn&) {
                      // The first two calls are no samples. Calls with a gap also take much longer
                      // than the others, so that a sample of them would be found.
                      is_reference_call = ++timed > 2;
                      ::usleep(is_reference_call && !always && timed <= 5 ? kSlowUs : 1'000);
                    }));
    ASSERT_TRUE(report.verdict) << report.error;
    if (always) {
      EXPECT_EQ(name_of(*report.verdict), VerdictName::rejected);
      EXPECT_EQ(evidence_of(*report.verdict)->rule, "quiet");
    } else {
      ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
      EXPECT_GE(report.samples.reference_ns.size(), kTimedSamplesMin);
      EXPECT_LT(std::ranges::max(report.samples.reference_ns), kSlowNsMin);
    }
  }
}

// A call that is reported as done while the judge keeps the device has computed nothing: the trial is void, and too
// many are rejected.
TEST(TrialRun, a_call_reported_as_done_before_the_gpu_could_begin_it_is_void) {
  for (const int early : {2, 1'000}) {
    JudgeFixture fixture;
    auto fake = std::make_unique<FakeDevice>();
    FakeDevice& device = *fake;
    device.waits_for_launches = true;
    fixture.use(std::move(fake));
    fixture.plan.trials = {.correctness = 1, .warmup = 1, .timed = 6};
    int calls = 0;
    const Report report = fixture.run(at(Command::call, [&](FakeTurn& turn) {
      if (++calls <= early) return;
      const int spin = device.spins_started;
      std::atomic_ref(turn.page.launched).store(turn.page.go, std::memory_order_release);
      while (device.spins_stopped != spin) std::this_thread::yield();
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

// The warm-up starts before the only timed trial or during it.
TEST(TrialRun, few_timed_trials_wait_until_no_warm_up_runs) {
  for (const bool begins_before : {false, true}) {
    WarmUpFixture fixture(kWaitMaxMs);
    fixture.plan.trials = {.correctness = 0, .warmup = 1, .timed = 1};
    std::thread warm_up_thread;
    const auto begin = [&] {
      if (warm_up_thread.joinable()) return;
      fixture.warm_up->start();
      // The warm-up ends long after the slow call that begins during it.
      warm_up_thread = std::thread([&] { ::usleep(5 * kSlowUs), fixture.warm_up->finish(); });
    };
    int calls = 0;
    const Report report = fixture.run([&](FakeTurn& turn) {
      if (turn.command == Command::load && begins_before) begin();
      if (turn.command == Command::call && ++calls == 2) begin();
      if (turn.command == Command::call) ::usleep(fixture.warm_up->is_running() ? kSlowUs : 1'000);
    });
    ASSERT_TRUE(warm_up_thread.joinable());
    warm_up_thread.join();
    ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
    ASSERT_EQ(report.samples.submission_ns.size(), 1u);
    EXPECT_LT(report.samples.submission_ns.front(), kSlowNsMin);
  }
}

TEST(TrialRun, after_too_many_repeats_the_judge_waits_for_the_warm_up) {
  WarmUpFixture fixture(kWaitMaxMs);
  std::atomic<int> calls = 0;
  std::atomic<bool> is_submission_call = false;
  fixture.is_device_taken = [&] { return is_submission_call.load(); };
  fixture.plan.trials = {.correctness = 0, .warmup = 1, .timed = 5};
  std::thread warm_up_thread([&] {
    EXPECT_TRUE(wait_for([&] { return calls > static_cast<int>(kWarmUpRepeatsMax); }));
    ::usleep(50'000);
    fixture.warm_up->finish();
  });
  const Report report = fixture.run_during_warm_up(
      [&](FakeTurn&) {
        is_submission_call = true;
        ++calls;
      },
      [&](FakeTurn&) { is_submission_call = false; });
  warm_up_thread.join();
  EXPECT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(report.samples.submission_ns.size(), 5u);
}

TEST(TrialRun, an_outlier_is_repeated_only_during_a_warm_up) {
  for (const bool during_warm_up : {false, true}) {
    JudgeFixture fixture;
    fixture.plan.trials = {.correctness = 0, .warmup = 1, .timed = 20};
    FakeWarmUp warm_up(fixture);
    int calls = 0;
    const Report report = fixture.run([&](FakeTurn& turn) {
      if (turn.command == Command::load && during_warm_up) warm_up.start();
      if (turn.command != Command::call) return;
      ++calls;
      ::usleep(13 <= calls && calls <= 14 ? kSlowUs : 2'000);
    });
    ASSERT_TRUE(report.verdict) << report.error;
    ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
    EXPECT_EQ(report.samples.submission_ns.size(), 20u);
    EXPECT_EQ(std::ranges::max(report.samples.submission_ns) < kSlowNsMin, during_warm_up);
  }
}

// An attempt whose trials begin during a warm-up, which ends when the reference has computed `answer_count` trials.
// Records the seeds of both children.
struct AheadFixture : JudgeFixture {
  AheadFixture() { plan.trials = {.correctness = 2, .warmup = 1, .timed = 30}; }
  Report run_during_warm_up(std::size_t answer_count, const Twist& submission_twist = {},
                            const Twist& reference_twist = {}) {
    warm_up = std::make_unique<FakeWarmUp>(*this);
    return run(
        [this, submission_twist](FakeTurn& turn) {
          if (turn.command == Command::load) warm_up->start();
          if (turn.command == Command::call) called.push_back(turn.seed);
          if (submission_twist) submission_twist(turn);
        },
        [this, answer_count, reference_twist](FakeTurn& turn) {
          if (turn.command == Command::answer) {
            for (const Seeds& each : fake_answer_seeds(turn)) {
              trial_seeds.push_back(each.calls);
              drawn.insert(each.inputs);
            }
            if (called_before_warm_up_ended == 0 && trial_seeds.size() >= answer_count) {
              warm_up->finish();
              called_before_warm_up_ended = called.size();
            }
          }
          if (reference_twist) reference_twist(turn);
        });
  }
  // Returns the seeds of the calls in trials whose reference was not timed.
  std::vector<std::uint64_t> called_with_untimed_reference() const {
    std::vector<std::uint64_t> found;
    std::ranges::copy_if(called, std::back_inserter(found),
                         [&](std::uint64_t seed) { return std::ranges::find(trial_seeds, seed) != trial_seeds.end(); });
    return found;
  }

  std::unique_ptr<FakeWarmUp> warm_up;
  std::vector<std::uint64_t> called;            // seeds of calls
  std::vector<std::uint64_t> trial_seeds;       // seeds of calls in trials of the reference
  std::set<std::uint64_t> drawn;                // seeds of the inputs
  std::size_t called_before_warm_up_ended = 0;  // the number of calls before the warm-up ended
};

TEST(TrialRun, trials_computed_ahead_are_used_once_and_in_order) {
  AheadFixture fixture;
  const Report report = fixture.run_during_warm_up(20);
  ASSERT_TRUE(report.verdict) << report.error;
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(report.samples.submission_ns.size(), 30u);
  EXPECT_EQ(fixture.called_with_untimed_reference(), fixture.trial_seeds);
  EXPECT_EQ(fixture.drawn.size(), fixture.trial_seeds.size());
  for (const std::uint64_t seed : fixture.drawn) EXPECT_EQ(std::ranges::count(fixture.called, seed), 0);
  EXPECT_EQ(correctness_of(*report.verdict)->trials_passed, fixture.called.size());
  EXPECT_EQ(std::set(fixture.called.begin(), fixture.called.end()).size(), fixture.called.size());
}

TEST(TrialRun, no_more_trials_are_computed_ahead_than_are_used) {
  AheadFixture fixture;
  const Report report = fixture.run_during_warm_up(1'000);  // the warm-up never ends
  ASSERT_TRUE(report.verdict) << report.error;
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(fixture.called_with_untimed_reference(), fixture.trial_seeds);
}

TEST(TrialRun, a_void_trial_is_repeated_with_the_next_inputs) {
  AheadFixture fixture;
  auto device = std::make_unique<FakeDevice>();
  device->occupancy_gap = [&] { return fixture.called.size() % 10 == 9 ? kForeignGapNs + 1 : 0; };
  fixture.use(std::move(device));
  const Report report = fixture.run_during_warm_up(20);
  ASSERT_TRUE(report.verdict) << report.error;
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(report.samples.submission_ns.size(), 30u);
  EXPECT_EQ(fixture.called_with_untimed_reference(), fixture.trial_seeds);
  EXPECT_EQ(std::set(fixture.called.begin(), fixture.called.end()).size(), fixture.called.size());
}

TEST(TrialRun, without_room_no_trials_are_computed_ahead) {
  AheadFixture fixture;
  auto device = std::make_unique<FakeDevice>();
  device->private_bytes_max = 2'048;
  fixture.use(std::move(device));
  const Report report = fixture.run_during_warm_up(20);
  ASSERT_TRUE(report.verdict) << report.error;
  EXPECT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_GE(fixture.called_before_warm_up_ended, 19u);
  EXPECT_EQ(fixture.called_with_untimed_reference(), fixture.trial_seeds);
}

TEST(TrialRun, a_wrong_output_is_found_in_a_trial_that_was_computed_ahead) {
  AheadFixture fixture;
  const Report report = fixture.run_during_warm_up(20, at(Command::call, [&](FakeTurn& turn) {
                                                     if (fixture.called.size() == 25)
                                                       *fake_data<float>(turn, turn.page.outputs[0]) += 1;
                                                   }));
  ASSERT_TRUE(report.verdict) << report.error;
  EXPECT_EQ(name_of(*report.verdict), VerdictName::wrong_answer);
  EXPECT_EQ(evidence_of(*report.verdict)->mismatch->trial, 24u);
  EXPECT_TRUE(report.reference_usable);
  const Report right = fixture.run_again();
  ASSERT_TRUE(right.verdict) << right.error;
  EXPECT_EQ(name_of(*right.verdict), VerdictName::passed) << "trials ahead are not used in another attempt";
}

TEST(TrialRun, a_reference_that_changes_its_inputs_may_compute_ahead) {
  AheadFixture fixture;
  const Twist change = at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.inputs[0]) += 1; });
  const Report report = fixture.run_during_warm_up(20, change, change);
  ASSERT_TRUE(report.verdict) << report.error;
  EXPECT_EQ(name_of(*report.verdict), VerdictName::passed);
}

TEST(TrialRun, a_reference_that_fails_ahead_makes_the_problem_invalid) {
  AheadFixture fixture;
  const Report report = fixture.run_during_warm_up(1'000, {}, at(Command::answer, [&](FakeTurn& turn) {
                                                     if (fixture.trial_seeds.size() >= 15)
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
