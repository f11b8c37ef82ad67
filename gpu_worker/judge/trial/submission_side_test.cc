#include "gpu_worker/judge/trial/submission_side.h"

#include <bit>
#include <cmath>
#include <random>
#include <set>

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
    reference_ = std::move(
        *ReferenceSide::open(*house_.device, reference_fake_.take_socket(), house_.exits, Waiting::sleep, house_.plan));
    EXPECT_TRUE(reference_->load(house_.plan, 42));
    EXPECT_TRUE(reference_->make_trial(house_.plan, {7, 7}));
  }

  Step<std::unique_ptr<SubmissionSide>> open(Twist twist) { return open_on(*house_.device, std::move(twist)); }
  Step<std::unique_ptr<SubmissionSide>> open_on(Device& device, Twist twist,
                                                std::optional<SubmissionMemory> ahead = {}) {
    fake_ = std::make_unique<FakeChild>(fake_submission(std::move(twist)));
    return SubmissionSide::open(device, fake_->take_socket(), house_.exits, Waiting::sleep, house_.plan, *reference_,
                                std::move(ahead));
  }
  Step<void> call_and_check(SubmissionSide& side, const SubmissionSide::Trial& trial) {
    side.begin_staging(trial);
    if (const auto staged = side.finish_staging(trial); !staged) return staged;
    const auto called = side.call(house_.plan, trial);
    return called ? side.check(house_.plan, trial, *called) : Step<void>(tl::unexpected(called.error()));
  }

  FakeHouse house_;
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

TEST_F(SubmissionSideTest, a_slow_null_call_is_in_the_overhead) {
  const auto side = open(at(Command::null_call, [](FakeTurn&) { ::usleep(500); }));
  ASSERT_TRUE(side);
  EXPECT_GE((*side)->overhead().median_ns, 500'000);
}

TEST_F(SubmissionSideTest, poisons_the_outputs_and_brings_the_inputs_before_each_call) {
  const auto side = open(at(Command::call, [this](FakeTurn& turn) {
    // The fake wrote its outputs already; the gap before them still holds the poison.
    std::uint32_t poison = 0;
    std::memcpy(&poison, turn.window + reference_->layout().outputs.begin, 4);
    EXPECT_EQ(poison, 0x7FC07FC1u);
    std::vector<float> x(8);
    EXPECT_TRUE(house_.device->read(std::as_writable_bytes(std::span(x)), reference_->pristine_inputs(), 256));
    EXPECT_EQ(std::memcmp(x.data(), fake_data<float>(turn, turn.page.inputs[0]), 32), 0);
    EXPECT_EQ(turn.page.inputs[1].integer, reference_->inputs()[1].integer);
  }));
  ASSERT_TRUE(side);
  ASSERT_TRUE((*side)->load(house_.plan, 42));
  const SubmissionSide::Trial trial{.number = 0, .seed = 7, .poison = 0x7FC07FC1, .limit_ms = 20'000};
  (*side)->begin_staging(trial);
  ASSERT_TRUE((*side)->finish_staging(trial));
  const auto called = (*side)->call(house_.plan, trial);
  ASSERT_TRUE(called);
  EXPECT_TRUE((*side)->check(house_.plan, trial, *called));
  EXPECT_EQ((*side)->correctness().trials_passed, 1u);
}

TEST_F(SubmissionSideTest, on_a_gpu_calls_are_made_in_several_places_of_a_window) {
  FakeDevice gpu;
  gpu.described.kind = DeviceKind::cuda;
  std::set<std::uint64_t> inputs, outputs;
  const auto side = open_on(gpu, at(Command::call, [&](FakeTurn& turn) {
                              inputs.insert(turn.page.inputs[0].offset);
                              outputs.insert(turn.page.outputs[0].offset);
                            }));
  ASSERT_TRUE(side);
  ASSERT_TRUE((*side)->load(house_.plan, 42));
  for (std::uint32_t i = 0; i < 10; ++i) {
    EXPECT_TRUE(
        call_and_check(**side, {.number = i, .seed = 7, .poison = 0x7FC07FC1, .place = 1'000 + i, .limit_ms = 20'000}))
        << i;
  }
  const Layout& layout = reference_->layout();
  std::set<std::uint64_t> places;
  for (std::uint64_t i = 0; i < 4; ++i) places.insert(i * layout.bytes() + layout.tables.inputs[0].offset);
  EXPECT_EQ(inputs, places);
  EXPECT_EQ(outputs.size(), 4u);
  EXPECT_EQ((*side)->correctness().trials_passed, 10u);
}

TEST_F(SubmissionSideTest, what_is_written_beside_the_place_of_a_call_is_seen) {
  FakeDevice gpu;
  gpu.described.kind = DeviceKind::cuda;
  const auto side =
      open_on(gpu, at(Command::call, [](FakeTurn& turn) { *(turn.window + turn.page.outputs[0].offset - 4) ^= 1; }));
  ASSERT_TRUE(side);
  ASSERT_TRUE((*side)->load(house_.plan, 42));
  EXPECT_FALSE(call_and_check(**side, {.number = 0, .seed = 7, .poison = 0x7FC07FC1, .place = 3, .limit_ms = 20'000}));
}

TEST_F(SubmissionSideTest, memory_that_was_made_ahead_is_used_where_it_fits) {
  FakeDevice gpu;
  EXPECT_FALSE(SubmissionMemory::make_ahead(gpu, reference_->layout(), house_.plan))
      << "nothing is gained by it on a CPU";
  gpu.described.kind = DeviceKind::cuda;
  auto ahead = SubmissionMemory::make_ahead(gpu, reference_->layout(), house_.plan);
  ASSERT_TRUE(ahead);
  ASSERT_EQ(gpu.windows, 1);
  ASSERT_TRUE(open_on(gpu, {}, std::move(ahead)));
  EXPECT_EQ(gpu.windows, 1);
  ahead = SubmissionMemory::make_ahead(gpu, reference_->layout(), house_.plan);
  house_.plan.limits.bursts =
      house_.plan.limits.bursts == Bursts::never ? Bursts::always : Bursts::never;  // another arena
  ASSERT_TRUE(open_on(gpu, {}, std::move(ahead)));
  EXPECT_EQ(gpu.windows, 3);
}

// A child that returns its first output from a buffer of its own in the arena, with something of its own on either
// side; of the n-th call it writes the first `written(n)` elements anew.
struct Keeping {
  static constexpr std::uint64_t kAt = 64 << 10;
  explicit Keeping(std::function<int(int)> of_call) : written(std::move(of_call)) {}
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

TEST_F(SubmissionSideTest, of_what_a_call_has_returned_nothing_is_there_for_the_next_one) {
  for (const int again : {8, 7, 0}) {
    FakeDevice gpu;
    gpu.described.kind = DeviceKind::cuda;
    Keeping keeping([&](int call) { return call == 0 ? 8 : again; });
    const auto side = open_on(gpu, at(Command::call, std::ref(keeping)));
    ASSERT_TRUE(side);
    ASSERT_TRUE((*side)->load(house_.plan, 42));
    // The inputs are the same each time, so that all of it would be right still.
    EXPECT_TRUE(call_and_check(**side, {.number = 0, .seed = 7, .poison = 0x7FC07FC1, .limit_ms = 20'000}));
    const auto second = call_and_check(**side, {.number = 1, .seed = 7, .poison = 0x7FC07FC2, .limit_ms = 20'000});
    EXPECT_EQ(second.has_value(), again == 8) << again;
    EXPECT_TRUE(keeping.is_untouched) << "what lies beside it is the model's";
    if (second) continue;
    const auto& [name, evidence] = std::get<Ended>(second.error());
    EXPECT_EQ(name, VerdictName::wrong_answer);
    EXPECT_EQ(evidence.reason, "nan");
    EXPECT_NE(evidence.hint.find("nothing was written"), std::string::npos) << evidence.hint;
    EXPECT_EQ(evidence.mismatch->mismatched, static_cast<std::uint64_t>(8 - again));
  }
}

TEST_F(SubmissionSideTest, what_was_returned_once_and_is_not_any_more_is_its_own_again) {
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
  ASSERT_TRUE((*side)->load(house_.plan, 42));
  for (std::uint32_t i = 0; i < 3; ++i)
    EXPECT_TRUE(call_and_check(**side, {.number = i, .seed = 7, .poison = 0x7FC07FC1, .limit_ms = 20'000}));
  EXPECT_EQ(calls, 3);
}

TEST(SubmissionSide, inputs_that_nobody_may_change_are_looked_at_together) {
  for (const bool changes : {false, true}) {
    FakeHouse house;
    auto device = std::make_unique<FakeDevice>();
    const int& looks = device->byte_looks;
    house.use(std::move(device));
    house.plan.trials = {.correctness = 5, .warmup = 0, .timed = 0};
    const Twist change =
        at(Command::call, [&](FakeTurn& turn) { *fake_data<float>(turn, turn.page.inputs[0]) += changes ? 1 : 0; });
    const Report report = house.run(change, change);
    ASSERT_TRUE(report.verdict) << report.error;
    ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
    // After the reference's first call at each of two inputs; then at all, first by the device, or at what may not
    // change: three gaps.
    EXPECT_EQ(looks, 2 + 5 * (changes ? 3 : 2));
  }
}

// Calls that are right, wrong in a way or two, or write where they must not: the words are the same.
TEST(SubmissionSide, what_a_device_sees_by_itself_is_what_the_host_would_see) {
  const std::vector<std::function<void(FakeTurn&)>> ways{
      [](FakeTurn&) {},
      [](FakeTurn& turn) { fake_data<float>(turn, turn.page.outputs[0])[3] += 1e-6f; },
      [](FakeTurn& turn) { fake_data<float>(turn, turn.page.outputs[0])[3] += 1; },
      [](FakeTurn& turn) { turn.page.outputs[0].shape[0] += 1; },
      [](FakeTurn& turn) { *fake_data<unsigned char>(turn, turn.page.inputs[0]) ^= 1; },
      [](FakeTurn& turn) { *(turn.window + turn.page.outputs[0].offset - 4) ^= 1; }};
  for (std::size_t way = 0; way < ways.size(); ++way) {
    std::vector<std::string> words;
    std::vector<double> errors;
    for (const bool can_look : {false, true}) {
      FakeHouse house;
      auto device = std::make_unique<FakeDevice>();
      device->can_look = can_look;
      house.use(std::move(device));
      house.plan.trials = {.correctness = 3, .warmup = 0, .timed = 0};
      const Report report = house.run(at(Command::call, ways[way]));
      ASSERT_TRUE(report.verdict) << report.error;
      const Evidence* const evidence = evidence_of(*report.verdict);
      words.push_back(std::string(to_string(name_of(*report.verdict))) +
                      (evidence == nullptr ? "" : " " + evidence->reason + " " + evidence->message));
      const Correctness* const correctness = correctness_of(*report.verdict);
      errors.push_back(correctness == nullptr ? 0 : correctness->max_abs_err);
    }
    EXPECT_EQ(words[0], words[1]);
    EXPECT_EQ(words[0] == "passed", way < 2) << way << ": " << words[0];
    EXPECT_NEAR(errors[0], errors[1], 1e-6);
  }
}

// A problem with an output of 64 MB: numbers that follow from the first input's first.
struct LargeOutputHouse : FakeHouse {
  static constexpr std::int64_t kBytes = 64 << 20;
  static constexpr std::int64_t kNumbers = kBytes / 4;
  LargeOutputHouse() {
    plan.trials = {.correctness = 3, .warmup = 0, .timed = 0};
    plan.limits.window_bytes_max = 2 * kBytes;
    plan.limits.bursts = Bursts::never;
    auto fake = std::make_unique<FakeDevice>();
    fake->can_look = true;
    fake->described.kind = DeviceKind::cuda;
    fake_device = fake.get();
    use(std::move(fake));
  }
  static void compute(FakeTurn& turn) {
    float* const out = fake_data<float>(turn, turn.page.outputs[2]);
    for (std::int64_t i = 0; i < kNumbers; ++i)
      out[i] = *fake_data<float>(turn, turn.page.inputs[0]) + static_cast<float>(i % 16);
  }
  // `twist` comes after the honest work of the submission's calls.
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
  // Of the submission's large outputs: each of the reference's is copied once.
  std::uint64_t copies() const { return fake_device->copied_bytes / static_cast<std::uint64_t>(kBytes) - expected; }

  FakeDevice* fake_device = nullptr;
  std::atomic<std::uint64_t> expected = 0;
};

TEST(SubmissionSide, large_outputs_are_looked_at_where_they_are_and_not_taken) {
  LargeOutputHouse house;
  const Report report = house.run_large();
  ASSERT_TRUE(report.verdict) << report.error;
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(correctness_of(*report.verdict)->trials_passed, 3u);
  EXPECT_EQ(house.copies(), 1u) << "of the first trial";
}

// As a kernel that is still at work would leave it: wrong when the call is done, right when somebody looks later.
TEST(SubmissionSide, an_output_that_becomes_right_after_its_call_counts_for_nothing) {
  LargeOutputHouse house;
  std::atomic<float*> wrong = nullptr;
  int calls = 0;
  // Looks come after the call, so the device tells when they are over.
  house.fake_device->at_look = [&] {
    if (float* const number = wrong.exchange(nullptr)) *number -= 1;
  };
  const Report report = house.run_large([&](FakeTurn& turn) {
    float* const number = fake_data<float>(turn, turn.page.outputs[2]) + 12'345;
    if (++calls == 2) *number += 1, wrong = number;
  });
  ASSERT_TRUE(report.verdict) << report.error;
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(calls, 4) << "that trial came again";
  EXPECT_EQ(house.copies(), 4u) << "and nothing was looked at in its place any more";
}

TEST(SubmissionSide, where_looking_takes_too_long_outputs_are_taken) {
  LargeOutputHouse house;
  std::atomic<bool> looked = false;
  int calls = 0;
  house.fake_device->at_look = [&] { looked = true; };
  house.fake_device->absence = [&] { return looked ? kAbsenceNs + 1 : 0; };
  const Report report = house.run_large([&](FakeTurn&) { ++calls, looked = false; });
  ASSERT_TRUE(report.verdict) << report.error;
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed) << evidence_of(*report.verdict)->message;
  EXPECT_EQ(calls, 3 + 3);
  EXPECT_EQ(house.copies(), 1u + 3u) << "of the first, of the last that came again, and of two more";
}

TEST(SubmissionSide, small_numbers_in_their_place_are_to_be_like_what_is_expected) {
  for (const bool is_honest : {true, false}) {
    LargeOutputHouse house;
    house.plan.atol = 1'000;
    int calls = 0;
    const Report report = house.run_large([&](FakeTurn& turn) {
      if (++calls > 1 && !is_honest)
        std::fill_n(fake_data<float>(turn, turn.page.outputs[2]), LargeOutputHouse::kNumbers, 0.0f);
    });
    ASSERT_TRUE(report.verdict) << report.error;
    EXPECT_EQ(name_of(*report.verdict), is_honest ? VerdictName::passed : VerdictName::suspect);
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(house.copies(), 1u) << "and of the others what is looked at";
  }
}

TEST(SubmissionSide, what_is_wrong_in_its_place_is_told_as_where_it_was_taken) {
  const std::vector<std::pair<Twist, std::string>> ways{
      {[](FakeTurn& turn) { fake_data<float>(turn, turn.page.outputs[2])[12'345] += 1; }, "value"},
      {[](FakeTurn& turn) { fake_data<float>(turn, turn.page.outputs[0])[3] += 1; }, "value"},
      {[](FakeTurn& turn) { *(turn.window + turn.page.outputs[2].offset - 4) ^= 1; }, "mutated_input"},
      {[](FakeTurn& turn) { *fake_data<unsigned char>(turn, turn.page.inputs[0]) ^= 1; }, "mutated_input"}};
  for (const auto& [way, reason] : ways) {
    LargeOutputHouse house;
    int calls = 0;
    const Report report = house.run_large([&](FakeTurn& turn) {
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
  // The honest fake writes out1 into the window; here it is no tensor and has no place but a gap: it has another
  // script.
  auto quiet = [](float w) {
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
  FakeHouse house;
  house.plan.trials.timed = 0;  // it draws no inputs
  for (const float w : {0.25f, 0.75f}) {
    FakeChild calibrator([](FakeTurn&) {});
    FakeChild reference(quiet(0.25f));
    FakeChild submission(quiet(w));
    const Report report =
        house.judge->run(house.plan, {calibrator.take_socket(), reference.take_socket(), submission.take_socket()});
    ASSERT_TRUE(report.verdict) << report.error;
    EXPECT_EQ(name_of(*report.verdict), w == 0.25f ? VerdictName::passed : VerdictName::wrong_answer);
  }
}

}  // namespace
}  // namespace kq::judge
