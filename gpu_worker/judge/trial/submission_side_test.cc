#include "gpu_worker/judge/trial/submission_side.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <set>
#include <span>

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_device.h"
#include "gpu_worker/judge/testing/fake_problem.h"
#include "gpu_worker/judge/timing/timed_interval.h"

namespace kq::judge {
namespace {

using channel::Command;

TEST(PoisonWord, is_nan_in_every_format_and_changes) {
  std::mt19937_64 random(5);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 1'000; ++i) {
    const std::uint32_t word = poison_word(random());
    seen.insert(word);
    EXPECT_TRUE(std::isnan(std::bit_cast<float>(word)));
    EXPECT_TRUE(std::isnan(std::bit_cast<double>(std::uint64_t{word} << 32 | word)));
    for (const std::uint32_t half : {word & 0xFFFF, word >> 16}) {
      EXPECT_TRUE((half & 0x7C00) == 0x7C00 && (half & 0x3FF) != 0) << "float16 " << half;
      EXPECT_TRUE((half & 0x7F80) == 0x7F80 && (half & 0x7F) != 0) << "bfloat16 " << half;
    }
  }
  EXPECT_GT(seen.size(), 600u);
}

class SubmissionSideTest : public testing::Test {
 protected:
  SubmissionSideTest() : reference_fake_(fake_reference()) {
    reference_ = std::move(*ReferenceSide::open(*fixture_.device, reference_fake_.take_socket(), fixture_.exits,
                                                WaitMode::sleep, fixture_.plan));
    EXPECT_TRUE(reference_->load(fixture_.plan, 42));
    EXPECT_TRUE(reference_->make_trial(fixture_.plan, {7, 7}));
  }

  Step<std::unique_ptr<SubmissionSide>> open(Twist twist) { return open_on(*fixture_.device, std::move(twist)); }
  Step<std::unique_ptr<SubmissionSide>> open_on(Device& device, Twist twist,
                                                std::optional<SubmissionMemory> ahead = {}) {
    fake_ = std::make_unique<FakeChild>(fake_submission(std::move(twist)));
    return SubmissionSide::open(device, fake_->take_socket(), fixture_.exits, WaitMode::sleep, fixture_.plan,
                                *reference_, std::span(&reference_->layout(), 1), std::move(ahead));
  }
  Step<void> call_and_check(SubmissionSide& side, const SubmissionSide::Trial& trial) {
    side.begin_staging(trial);
    if (const auto staged = side.finish_staging(trial); !staged) return staged;
    const auto called = side.call(fixture_.plan, trial);
    return called ? side.check(fixture_.plan, trial, *called) : Step<void>(tl::unexpected(called.error()));
  }

  JudgeFixture fixture_;
  FakeChild reference_fake_;
  std::unique_ptr<ReferenceSide> reference_;
  std::unique_ptr<FakeChild> fake_;
};

TEST_F(SubmissionSideTest, calibrates_by_null_calls_before_anything_is_loaded) {
  int null_calls = 0;
  int loads = 0;
  const auto side = open([&](FakeTurn& turn) {
    null_calls += turn.command == Command::null_call ? 1 : 0;
    loads += turn.command == Command::load ? 1 : 0;
  });
  ASSERT_TRUE(side);
  EXPECT_EQ(null_calls, kNullCalls);
  EXPECT_EQ(loads, 0);
  EXPECT_GT((*side)->overhead().median_ns, 0);
}

TEST_F(SubmissionSideTest, the_overhead_includes_slow_null_calls) {
  const auto side = open(at(Command::null_call, [](FakeTurn&) { ::usleep(500); }));
  ASSERT_TRUE(side);
  EXPECT_GE((*side)->overhead().median_ns, 500'000);
}

TEST_F(SubmissionSideTest, each_call_finds_poisoned_outputs_and_its_inputs) {
  const auto side = open(at(Command::call, [this](FakeTurn& turn) {
    // The fake has written its outputs already; the gap before them still holds the poison.
    std::uint32_t poison = 0;
    std::memcpy(&poison, turn.window + reference_->layout().outputs.begin, 4);
    EXPECT_EQ(poison, 0x7FC07FC1u);
    std::vector<float> x(8);
    EXPECT_TRUE(fixture_.device->read(std::as_writable_bytes(std::span(x)), reference_->input_memory(), 256));
    EXPECT_TRUE(std::ranges::equal(x, std::span(fake_data<float>(turn, turn.page.inputs[0]), 8)));
    EXPECT_EQ(turn.page.inputs[1].integer, reference_->inputs()[1].integer);
  }));
  ASSERT_TRUE(side);
  ASSERT_TRUE((*side)->load(fixture_.plan, 42));
  const SubmissionSide::Trial trial{.number = 0, .seed = 7, .poison = 0x7FC07FC1, .limit_ms = 20'000};
  (*side)->begin_staging(trial);
  ASSERT_TRUE((*side)->finish_staging(trial));
  const auto called = (*side)->call(fixture_.plan, trial);
  ASSERT_TRUE(called);
  EXPECT_TRUE((*side)->check(fixture_.plan, trial, *called));
  EXPECT_EQ((*side)->correctness().trials_passed, 1u);
}

TEST_F(SubmissionSideTest, on_a_gpu_calls_are_made_in_several_slots_of_the_window) {
  FakeDevice gpu;
  gpu.described.kind = DeviceKind::cuda;
  std::set<std::uint64_t> inputs, outputs;
  const auto side = open_on(gpu, at(Command::call, [&](FakeTurn& turn) {
                              inputs.insert(turn.page.inputs[0].offset);
                              outputs.insert(turn.page.outputs[0].offset);
                            }));
  ASSERT_TRUE(side);
  ASSERT_TRUE((*side)->load(fixture_.plan, 42));
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_TRUE(call_and_check(
        **side, {.number = i, .seed = 7, .poison = 0x7FC07FC1, .slot_draw = 1'000 + i, .limit_ms = 20'000}))
        << i;
  }
  const Layout& layout = reference_->layout();
  std::set<std::uint64_t> places;
  for (std::uint64_t i = 0; i < 4; ++i) places.insert(i * layout.bytes() + layout.tables.inputs[0].offset);
  EXPECT_EQ(inputs, places);
  EXPECT_EQ(outputs.size(), 4u);
  EXPECT_EQ((*side)->correctness().trials_passed, 10u);
}

TEST_F(SubmissionSideTest, a_write_outside_of_a_calls_outputs_is_found) {
  FakeDevice gpu;
  gpu.described.kind = DeviceKind::cuda;
  const auto side =
      open_on(gpu, at(Command::call, [](FakeTurn& turn) { *(turn.window + turn.page.outputs[0].offset - 4) ^= 1; }));
  ASSERT_TRUE(side);
  ASSERT_TRUE((*side)->load(fixture_.plan, 42));
  EXPECT_FALSE(
      call_and_check(**side, {.number = 0, .seed = 7, .poison = 0x7FC07FC1, .slot_draw = 3, .limit_ms = 20'000}));
}

TEST_F(SubmissionSideTest, memory_made_ahead_is_used_where_it_fits) {
  FakeDevice gpu;
  const std::span<const Layout> layouts(&reference_->layout(), 1);
  EXPECT_FALSE(SubmissionMemory::make_ahead(gpu, layouts, fixture_.plan)) << "it saves no time on a CPU";
  gpu.described.kind = DeviceKind::cuda;
  auto ahead = SubmissionMemory::make_ahead(gpu, layouts, fixture_.plan);
  ASSERT_TRUE(ahead);
  ASSERT_EQ(gpu.windows, 1);
  ASSERT_TRUE(open_on(gpu, {}, std::move(ahead)));
  EXPECT_EQ(gpu.windows, 1);
  ahead = SubmissionMemory::make_ahead(gpu, layouts, fixture_.plan);
  fixture_.plan.limits.bursts =
      fixture_.plan.limits.bursts == Bursts::never ? Bursts::always : Bursts::never;  // needs an arena of another size
  ASSERT_TRUE(open_on(gpu, {}, std::move(ahead)));
  EXPECT_EQ(gpu.windows, 3);
}

// A child that returns its first output in a buffer in the arena, between words of its own. In call n it writes the
// first `written(n)` elements.
struct ArenaOutput {
  static constexpr std::uint64_t kAt = 64 << 10;
  explicit ArenaOutput(std::function<int(int)> of_call) : written(std::move(of_call)) {}
  void operator()(FakeTurn& turn) {
    float* const buffer = reinterpret_cast<float*>(turn.window + turn.window_bytes - turn.page.arena_bytes + kAt);
    if (calls == 0) buffer[-1] = buffer[8] = 5;
    is_untouched = is_untouched && buffer[-1] == 5 && buffer[8] == 5;
    std::copy_n(fake_data<float>(turn, turn.page.outputs[0]), written(calls++), buffer);
    turn.page.outputs[0].place = channel::Place::arena;
    turn.page.outputs[0].offset = kAt;
  }
  std::function<int(int)> written;
  int calls = 0;
  bool is_untouched = true;
};

TEST_F(SubmissionSideTest, outputs_of_the_last_call_in_the_arena_are_overwritten) {
  for (const int again : {8, 7, 0}) {
    FakeDevice gpu;
    gpu.described.kind = DeviceKind::cuda;
    ArenaOutput output([&](int call) { return call == 0 ? 8 : again; });
    const auto side = open_on(gpu, at(Command::call, std::ref(output)));
    ASSERT_TRUE(side);
    ASSERT_TRUE((*side)->load(fixture_.plan, 42));
    // The inputs are the same in each call, so stale outputs would be right.
    EXPECT_TRUE(call_and_check(**side, {.number = 0, .seed = 7, .poison = 0x7FC07FC1, .limit_ms = 20'000}));
    const auto second = call_and_check(**side, {.number = 1, .seed = 7, .poison = 0x7FC07FC2, .limit_ms = 20'000});
    EXPECT_EQ(second.has_value(), again == 8) << again;
    EXPECT_TRUE(output.is_untouched) << "the memory beside an output belongs to the model";
    if (second) continue;
    const auto& [name, evidence] = std::get<Ended>(second.error());
    EXPECT_EQ(name, VerdictName::wrong_answer);
    EXPECT_EQ(evidence.reason, "nan");
    EXPECT_NE(evidence.hint.find("the call has not written"), std::string::npos) << evidence.hint;
    EXPECT_EQ(evidence.mismatch->mismatched, static_cast<std::uint64_t>(8 - again));
  }
}

TEST_F(SubmissionSideTest, arena_memory_that_is_no_longer_returned_is_not_overwritten) {
  FakeDevice gpu;
  gpu.described.kind = DeviceKind::cuda;
  float* buffer = nullptr;
  int calls = 0;
  const auto side = open_on(gpu, at(Command::call, [&](FakeTurn& turn) {
                              buffer =
                                  reinterpret_cast<float*>(turn.window + turn.window_bytes - turn.page.arena_bytes);
                              if (calls == 1) std::fill_n(buffer, 8, 5.0f);
                              if (calls == 2) {
                                EXPECT_EQ(buffer[3], 5);
                              }
                              if (calls++ > 0) return;
                              std::copy_n(fake_data<float>(turn, turn.page.outputs[0]), 8, buffer);
                              turn.page.outputs[0].place = channel::Place::arena;
                              turn.page.outputs[0].offset = 0;
                            }));
  ASSERT_TRUE(side);
  ASSERT_TRUE((*side)->load(fixture_.plan, 42));
  for (std::uint32_t i = 0; i < 3; ++i)
    EXPECT_TRUE(call_and_check(**side, {.number = i, .seed = 7, .poison = 0x7FC07FC1, .limit_ms = 20'000}));
  EXPECT_EQ(calls, 3);
}

TEST(SubmissionSide, inputs_that_must_not_change_are_compared_at_once) {
  for (const bool changes : {false, true}) {
    JudgeFixture fixture;
    auto device = std::make_unique<FakeDevice>();
    const int& byte_comparisons = device->byte_comparisons;
    fixture.use(std::move(device));
    fixture.plan.trials = {.correctness = 5, .warmup = 0, .timed = 0};
    const Twist change =
        at(Command::call, [&](FakeTurn& turn) { *fake_data<float>(turn, turn.page.inputs[0]) += changes ? 1 : 0; });
    const Report report = fixture.run(change, change);
    ASSERT_TRUE(report.verdict) << report.error;
    ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
    // The reference's first call compares each of two inputs. Each call compares all inputs at once; where inputs may
    // change, it compares three gaps instead.
    EXPECT_EQ(byte_comparisons, 2 + 5 * (changes ? 3 : 2));
  }
}

// Calls that are right, wrong in several ways, or write outside of their outputs.
TEST(SubmissionSide, device_and_host_comparisons_lead_to_the_same_verdict) {
  const std::vector<std::function<void(FakeTurn&)>> ways{
      [](FakeTurn&) {},
      [](FakeTurn& turn) { fake_data<float>(turn, turn.page.outputs[0])[3] += 1e-6f; },
      [](FakeTurn& turn) { fake_data<float>(turn, turn.page.outputs[0])[3] += 1; },
      [](FakeTurn& turn) { turn.page.outputs[0].shape[0] += 1; },
      [](FakeTurn& turn) { *fake_data<unsigned char>(turn, turn.page.inputs[0]) ^= 1; },
      [](FakeTurn& turn) { *(turn.window + turn.page.outputs[0].offset - 4) ^= 1; }};
  for (std::size_t way = 0; way < ways.size(); ++way) {
    std::vector<std::string> verdicts;
    std::vector<double> errors;
    for (const bool can_compare : {false, true}) {
      JudgeFixture fixture;
      auto device = std::make_unique<FakeDevice>();
      device->can_compare = can_compare;
      fixture.use(std::move(device));
      fixture.plan.trials = {.correctness = 3, .warmup = 0, .timed = 0};
      const Report report = fixture.run(at(Command::call, ways[way]));
      ASSERT_TRUE(report.verdict) << report.error;
      const Evidence* const evidence = evidence_of(*report.verdict);
      // What follows the semicolon are values, which depend on how many trials were made ahead.
      verdicts.push_back(std::string(to_string(name_of(*report.verdict))) +
                         (evidence == nullptr ? ""
                                              : " " + evidence->reason + " " +
                                                    evidence->message.substr(0, evidence->message.find(';'))));
      const Correctness* const correctness = correctness_of(*report.verdict);
      errors.push_back(correctness == nullptr ? 0 : correctness->max_abs_err);
    }
    EXPECT_EQ(verdicts[0], verdicts[1]);
    EXPECT_EQ(verdicts[0] == "passed", way < 2) << way << ": " << verdicts[0];
    // The trials decide to which float the changed value is rounded.
    EXPECT_NEAR(errors[0], errors[1], 2.5e-6);
  }
}

// A problem with an output of 64 MB, which depends on the first element of the first input.
struct LargeOutputFixture : JudgeFixture {
  static constexpr std::int64_t kBytes = 64 << 20;
  static constexpr std::int64_t kNumbers = kBytes / 4;
  LargeOutputFixture() {
    plan.trials = {.correctness = 3, .warmup = 0, .timed = 0};
    plan.limits.window_bytes_max = 2 * kBytes;
    plan.limits.bursts = Bursts::never;
    auto fake = std::make_unique<FakeDevice>();
    fake->can_compare = true;
    fake->described.kind = DeviceKind::cuda;
    fake_device = fake.get();
    use(std::move(fake));
  }
  static void compute(FakeTurn& turn) {
    float* const out = fake_data<float>(turn, turn.page.outputs[2]);
    for (std::int64_t i = 0; i < kNumbers; ++i)
      out[i] = *fake_data<float>(turn, turn.page.inputs[0]) + static_cast<float>(i % 16);
  }
  // Runs an attempt. `twist` runs after the honest work of the submission's calls.
  Report run_large(Twist twist = {}) {
    return run(
        [twist = std::move(twist)](FakeTurn& turn) {
          if (turn.command == Command::call) compute(turn);
          if (turn.command == Command::call && twist) twist(turn);
        },
        [this](FakeTurn& turn) {
          if (turn.command == Command::load)
            turn.page.outputs[turn.page.output_count++] = fake_tensor("large", channel::Dtype::float32, {kNumbers});
          if (turn.command != Command::call && turn.command != Command::answer) return;
          compute(turn);
          ++expected;
        });
  }
  // Returns how often large outputs of the submission were copied. Each of the reference's is copied once.
  std::uint64_t copies() const { return fake_device->copied_bytes / static_cast<std::uint64_t>(kBytes) - expected; }

  FakeDevice* fake_device = nullptr;
  std::atomic<std::uint64_t> expected = 0;
};

TEST(SubmissionSide, large_outputs_are_compared_in_place_without_a_copy) {
  LargeOutputFixture fixture;
  const Report report = fixture.run_large();
  ASSERT_TRUE(report.verdict) << report.error;
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(correctness_of(*report.verdict)->trials_passed, 3u);
  EXPECT_EQ(fixture.copies(), 1u) << "only the first trial's output is copied";
}

// A kernel that still runs after its call would do the same: the output is wrong when the call is done, and right in a
// later copy.
TEST(SubmissionSide, a_trial_whose_output_becomes_right_after_the_call_is_repeated) {
  LargeOutputFixture fixture;
  std::atomic<float*> wrong = nullptr;
  int calls = 0;
  // Comparisons come after the call, so the fake device reports when they are over.
  fixture.fake_device->at_comparison = [&] {
    if (float* const number = wrong.exchange(nullptr)) *number -= 1;
  };
  const Report report = fixture.run_large([&](FakeTurn& turn) {
    float* const number = fake_data<float>(turn, turn.page.outputs[2]) + 12'345;
    if (++calls == 2) *number += 1, wrong = number;
  });
  ASSERT_TRUE(report.verdict) << report.error;
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(calls, 4) << "the trial is repeated";
  EXPECT_EQ(fixture.copies(), 4u) << "later outputs are not compared in place";
}

TEST(SubmissionSide, where_comparisons_in_place_take_too_long_outputs_are_copied) {
  LargeOutputFixture fixture;
  std::atomic<bool> checked = false;
  int calls = 0;
  fixture.fake_device->at_comparison = [&] { checked = true; };
  fixture.fake_device->occupancy_gap = [&] { return checked ? kForeignGapNs + 1 : 0; };
  const Report report = fixture.run_large([&](FakeTurn&) { ++calls, checked = false; });
  ASSERT_TRUE(report.verdict) << report.error;
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed) << evidence_of(*report.verdict)->message;
  EXPECT_EQ(calls, 3 + 3);
  EXPECT_EQ(fixture.copies(), 1u + 3u)
      << "the outputs of the first trial, the last repeated one and two more are copied";
}

TEST(SubmissionSide, the_degenerate_tolerance_check_covers_outputs_in_place) {
  for (const bool is_honest : {true, false}) {
    LargeOutputFixture fixture;
    fixture.plan.atol = 1'000;
    int calls = 0;
    const Report report = fixture.run_large([&](FakeTurn& turn) {
      if (++calls > 1 && !is_honest)
        std::fill_n(fake_data<float>(turn, turn.page.outputs[2]), LargeOutputFixture::kNumbers, 0.0f);
    });
    ASSERT_TRUE(report.verdict) << report.error;
    EXPECT_EQ(name_of(*report.verdict), is_honest ? VerdictName::passed : VerdictName::suspect);
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(fixture.copies(), 1u) << "of the other outputs only a piece is copied";
  }
}

TEST(SubmissionSide, an_error_found_in_place_has_the_same_evidence_as_in_a_copy) {
  const std::vector<std::pair<Twist, std::string>> ways{
      {[](FakeTurn& turn) { fake_data<float>(turn, turn.page.outputs[2])[12'345] += 1; }, "value"},
      {[](FakeTurn& turn) { fake_data<float>(turn, turn.page.outputs[0])[3] += 1; }, "value"},
      {[](FakeTurn& turn) { *(turn.window + turn.page.outputs[2].offset - 4) ^= 1; }, "mutated_input"},
      {[](FakeTurn& turn) { *fake_data<unsigned char>(turn, turn.page.inputs[0]) ^= 1; }, "mutated_input"}};
  for (const auto& [way, reason] : ways) {
    LargeOutputFixture fixture;
    int calls = 0;
    const Report report = fixture.run_large([&](FakeTurn& turn) {
      if (++calls == 3) way(turn);
    });
    ASSERT_TRUE(report.verdict) << report.error;
    ASSERT_EQ(name_of(*report.verdict), VerdictName::wrong_answer);
    EXPECT_EQ(evidence_of(*report.verdict)->reason, reason) << evidence_of(*report.verdict)->message;
    EXPECT_TRUE(evidence_of(*report.verdict)->message.find("in trial 2") != std::string::npos ||
                reason == "mutated_input")
        << evidence_of(*report.verdict)->message;
    EXPECT_EQ(calls, 3);
  }
}

TEST(SubmissionSide, plain_outputs_are_compared_by_value) {
  // The honest fake writes out1 into the window. Here out1 is a plain value without a place in the window, so the
  // children have another script.
  auto plain_output_script = [](float w) {
    return [w](FakeTurn& turn) {
      const bool is_answer = turn.command == Command::answer;
      if (turn.command == Command::load) fake_describe(turn);
      if (turn.command != Command::load && turn.command != Command::call && !is_answer) return;
      const std::uint64_t times = is_answer ? turn.page.answer_count : 1;
      for (std::uint64_t i = 0; i < times; ++i) {
        if (turn.command != Command::load)
          std::fill_n(fake_data<float>(turn, turn.page.outputs[0]) + i * turn.page.slot_bytes / sizeof(float), 8, 1.0f);
        turn.page.outputs[2 * i + 1] =
            row_of({.name = "out1", .kind = channel::Kind::real, .real = turn.command == Command::load ? 0.5 : w});
      }
      turn.page.output_count = static_cast<std::uint32_t>(2 * times);
    };
  };
  JudgeFixture fixture;
  fixture.plan.trials.timed = 0;  // the script draws no inputs
  for (const float w : {0.25f, 0.75f}) {
    FakeChild calibrator([](FakeTurn&) {});
    FakeChild reference(plain_output_script(0.25f));
    FakeChild submission(plain_output_script(w));
    const Report report =
        fixture.judge->run(fixture.plan, {calibrator.take_socket(), reference.take_socket(), submission.take_socket()});
    ASSERT_TRUE(report.verdict) << report.error;
    EXPECT_EQ(name_of(*report.verdict), w == 0.25f ? VerdictName::passed : VerdictName::wrong_answer);
  }
}

}  // namespace
}  // namespace kq::judge
