#include "gpu_worker/judge/trial/burst.h"

#include <algorithm>
#include <array>
#include <utility>

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_device.h"
#include "gpu_worker/judge/testing/fake_problem.h"

namespace kq::judge {
namespace {

using channel::Command;

std::string outcome_text(const Report& report) {
  if (!report.verdict) return "error: " + report.error;
  std::string text(to_string(name_of(*report.verdict)));
  if (const Evidence* found = evidence_of(*report.verdict))
    text += " " + found->reason + (found->rule.empty() ? "" : " " + found->rule);
  return text;
}

// A fixture in which every call is short enough for bursts.
struct BurstFixture : JudgeFixture {
  BurstFixture() {
    plan.trials = {.correctness = 1, .warmup = 1, .timed = kTimedSamplesMin};
    plan.limits.bursts = Bursts::always;
    plan.limits.burst_below_ns = 2'000'000'000;
    // The plain inputs of a real problem are the same in each call (harness/children/reference.py).
    drawn_integer = 7;
  }
};

TEST(Burst, every_call_has_inputs_of_its_own_and_is_checked) {
  BurstFixture fixture;
  int bursts = 0;
  const Report report = fixture.run(at(Command::burst, [&](FakeTurn&) { ++bursts; }));
  ASSERT_EQ(outcome_text(report), "passed");
  EXPECT_EQ(bursts, static_cast<int>(kBursts) + 1);
  EXPECT_GE(correctness_of(*report.verdict)->trials_passed, (kBursts + 1) * kBurstCalls + kTimedSamplesMin);
  EXPECT_GT(measurement_of(*report.verdict)->burst_ns, 0);
  EXPECT_EQ(report.samples.submission_ns.size(), kTimedSamplesMin);
}

TEST(Burst, long_calls_have_no_bursts) {
  BurstFixture fixture;
  fixture.plan.limits.burst_below_ns = 1'000'000;
  const Report report = fixture.run([](FakeTurn& turn) {
    EXPECT_NE(turn.command, Command::burst);
    if (turn.command == Command::call) ::usleep(50'000);  // much longer than the overhead on a busy host
  });
  EXPECT_EQ(outcome_text(report), "passed");
  EXPECT_EQ(measurement_of(*report.verdict)->burst_ns, 0);
}

TEST(Burst, by_default_only_implausible_event_times_lead_to_bursts) {
  for (const auto& [event_ns, is_event_implausible] : {std::pair{1L, true}, {1'000'000'000L, false}, {0L, false}}) {
    BurstFixture fixture;
    fixture.plan.limits.bursts = Bursts::doubt;
    int bursts = 0;
    const Report report = fixture.run([&, event = event_ns](FakeTurn& turn) {
      if (turn.command == Command::burst) ++bursts;
      if (turn.command != Command::call) return;
      ::usleep(5'000);
      turn.page.event_ns = event;
    });
    ASSERT_EQ(outcome_text(report), "passed") << event_ns;
    EXPECT_EQ(bursts > 0, is_event_implausible) << event_ns;
    EXPECT_EQ(measurement_of(*report.verdict)->burst_ns > 0, is_event_implausible) << event_ns;
  }
}

TEST(Burst, one_wrong_output_is_a_wrong_answer) {
  BurstFixture fixture;
  const auto spoil_last = [](FakeTurn& turn) {
    // Only slots that were called hold no poison: change one of these.
    for (std::uint32_t slot = turn.page.slots; slot-- > 0;) {
      float& y = *reinterpret_cast<float*>(turn.window + slot * turn.page.slot_bytes + turn.page.outputs[0].offset);
      if (y != y) continue;
      y += 1;
      return;
    }
  };
  EXPECT_EQ(outcome_text(fixture.run(at(Command::burst, spoil_last))), "wrong_answer value");
}

TEST(Burst, work_on_slots_that_were_not_called_is_rejected) {
  BurstFixture fixture;
  const auto ahead = [](FakeTurn& turn) {
    for (std::uint32_t slot = 0; slot < turn.page.slots; ++slot) {
      float& y = *reinterpret_cast<float*>(turn.window + slot * turn.page.slot_bytes + turn.page.outputs[0].offset);
      if (y != y) y = 0;
    }
  };
  EXPECT_EQ(outcome_text(fixture.run(at(Command::burst, ahead))), "rejected tamper ahead");
}

TEST(Burst, a_changed_input_is_found) {
  BurstFixture fixture;
  const auto change = [](FakeTurn& turn) {
    for (std::uint32_t slot = 0; slot < turn.page.slots; ++slot) {
      *reinterpret_cast<float*>(turn.window + slot * turn.page.slot_bytes + turn.page.inputs[0].offset) += 1;
    }
  };
  EXPECT_EQ(outcome_text(fixture.run(at(Command::burst, change))), "wrong_answer mutated_input");
}

TEST(Burst, a_child_that_skips_or_miscounts_calls_is_rejected) {
  for (const std::uint32_t returned : {0u, 3u, 9u, 70'000u}) {
    BurstFixture fixture;
    FakeChild::Script honest = fake_submission();
    FakeChild::Script liar = [honest, returned](FakeTurn& turn) mutable {
      if (turn.command == Command::burst) {
        std::atomic_ref(turn.page.returned).store(returned, std::memory_order_release);
        ::usleep(5'000);
        return;  // the child reports success
      }
      honest(turn);
    };
    FakeChild submission(std::move(liar));
    FakeChild reference(fake_reference());
    FakeChild calibrator(fixture.calibrator_script);
    const Report report = fixture.judge->run(fixture.plan, {.calibrator = calibrator.take_socket(),
                                                            .reference = reference.take_socket(),
                                                            .submission = submission.take_socket()});
    EXPECT_EQ(outcome_text(report), "rejected tamper channel") << returned;
    fixture.judge.reset();
  }
}

// A fake GPU that keeps the address of the last window with an arena. The fake child has that window mapped until there
// are slots.
struct ArenaDevice : FakeDevice {
  ArenaDevice() { described.kind = DeviceKind::cuda; }
  Expected<std::unique_ptr<Memory>> make_window(std::uint64_t bytes) override {
    auto made = FakeDevice::make_window(bytes);
    if (made && *made && bytes > 32 << 20) last = reinterpret_cast<char*>((*made)->address());
    return made;
  }
  char* last = nullptr;
};

// Checks the outputs of a burst before the next one, and of the last single call before the first burst.
TEST(Burst, outputs_of_the_last_burst_or_call_in_the_arena_are_overwritten) {
  constexpr std::uint64_t kEach = 256;
  BurstFixture fixture;
  auto gpu = std::make_unique<ArenaDevice>();
  const ArenaDevice& device = *gpu;
  fixture.use(std::move(gpu), WaitMode::spin);
  std::uint64_t arena_begin = 0;
  std::array<bool, kBurstCalls> has_returned{};
  int checked = 0;
  const auto write_output = [&](FakeTurn& turn, std::uint32_t place) {
    float* const y = reinterpret_cast<float*>(device.last + arena_begin + place * kEach);
    checked += has_returned[place] ? 1 : 0;
    if (std::exchange(has_returned[place], true)) {
      EXPECT_TRUE(std::all_of(y, y + 8, [](float number) { return number != number; }))
          << "at " << place << " after " << checked;
    }
    std::copy_n(fake_data<float>(turn, turn.page.outputs[0]), 8, y);
  };
  const auto report_place = [&](FakeTurn& turn, std::uint32_t place) {
    channel::TensorDesc& row = turn.page.outputs[place * 2];
    row.place = channel::Place::arena;
    row.offset = place * kEach;
  };
  FakeChild submission([&, honest = fake_submission(), w = 0.0f](FakeTurn& turn) mutable {
    if (turn.command == Command::load) w = *fake_data<float>(turn, turn.page.states[0]);
    if (turn.command == Command::burst) {
      fake_burst(turn, w, [&](std::uint32_t returned) { write_output(turn, returned); });
      for (std::uint32_t i = 0; i < kBurstCalls; ++i) report_place(turn, i);
      return;
    }
    if (turn.command == Command::attach && turn.page.arena_bytes > 0)
      arena_begin = turn.window_bytes - turn.page.arena_bytes;
    honest(turn);
    if (turn.command != Command::call) return;
    write_output(turn, 0);
    report_place(turn, 0);
  });
  FakeChild reference(fake_reference({}, fixture.drawn_integer));
  FakeChild calibrator(fixture.calibrator_script);
  const Report report = fixture.judge->run(fixture.plan, {.calibrator = calibrator.take_socket(),
                                                          .reference = reference.take_socket(),
                                                          .submission = submission.take_socket()});
  EXPECT_EQ(outcome_text(report), "passed")
      << (report.verdict && evidence_of(*report.verdict) ? evidence_of(*report.verdict)->message : "");
  const int calls = 2 + static_cast<int>(kTimedSamplesMin);
  EXPECT_GE(checked, calls - 1 + 1 + static_cast<int>(kBursts * kBurstCalls));
  fixture.judge.reset();
}

TEST(Burst, a_failure_in_a_burst_is_reported) {
  BurstFixture fixture;
  EXPECT_EQ(outcome_text(fixture.run(
                at(Command::burst, [](FakeTurn& turn) { turn.fail(channel::Failure::runtime_error, "no"); }))),
            "runtime_error ");
}

TEST(burst_call_time_ns, does_not_include_what_every_interval_includes) {
  const std::vector<std::int64_t> singles{150'000, 151'000, 149'000};
  const std::vector<std::int64_t> bursts{192'000, 191'900, 192'100, 300'000, 192'000};
  EXPECT_EQ(burst_call_time_ns(bursts, singles), 6'000);
  EXPECT_EQ(burst_call_time_ns(std::vector<std::int64_t>(kBurstsMin, 100), singles), 1) << "never below a nanosecond";
  EXPECT_EQ(burst_call_time_ns(std::span(bursts).first(kBurstsMin - 1), singles), 0);
  EXPECT_EQ(burst_call_time_ns(bursts, {}), 0);
}

}  // namespace
}  // namespace kq::judge
