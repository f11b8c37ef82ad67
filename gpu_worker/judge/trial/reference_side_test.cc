#include "gpu_worker/judge/trial/reference_side.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_device.h"
#include "gpu_worker/judge/testing/fake_problem.h"

namespace kq::judge {
namespace {

using channel::Command;

class ReferenceSideTest : public testing::Test {
 protected:
  std::unique_ptr<ReferenceSide> open(Twist twist = {}) {
    fake_ = std::make_unique<FakeChild>(fake_reference(std::move(twist)));
    auto side =
        ReferenceSide::open(*fixture_.device, fake_->take_socket(), fixture_.exits, WaitMode::sleep, fixture_.plan);
    if (!side || !(*side)->load(fixture_.plan, 42)) return nullptr;
    return std::move(*side);
  }
  std::vector<float> floats(const Memory& memory, std::uint64_t offset) {
    std::vector<float> values(8);
    EXPECT_TRUE(fixture_.device->read(std::as_writable_bytes(std::span(values)), memory, offset));
    return values;
  }

  JudgeFixture fixture_;
  std::unique_ptr<FakeChild> fake_;
};

TEST_F(ReferenceSideTest, keeps_inputs_and_outputs_out_of_reach) {
  std::array<char, 4096> before{};
  char* window = nullptr;
  const auto side = open(at(Command::call, [&](FakeTurn& turn) {
    window = turn.window;
    std::memcpy(before.data(), window, 3072);
  }));
  ASSERT_TRUE(side);
  ASSERT_TRUE(side->make_timed_trial(fixture_.plan, {7, 7}));
  std::memset(window, 0, 3072);  // a child may change its window later
  const Layout& layout = side->layout();
  const Tensor& x = layout.tables.inputs[0];
  const Tensor& y = layout.tables.outputs[0];
  const auto input_copies = floats(side->input_memory(), x.offset - layout.inputs.begin);
  const auto expected = floats(side->expected_outputs(), y.offset - layout.outputs.begin);
  const auto bytes_before = [&](std::uint64_t offset) {
    return std::as_bytes(std::span(before).subspan(offset, 8 * sizeof(float)));
  };
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(input_copies).first(8)), bytes_before(x.offset)));
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(expected).first(8)), bytes_before(y.offset)));
  EXPECT_EQ(side->input_memory().fd(), -1);
  EXPECT_EQ(side->expected_outputs().fd(), -1);
}

TEST_F(ReferenceSideTest, one_command_gives_what_a_timed_trial_gives) {
  std::vector<Command> commands;
  const auto side = open([&](FakeTurn& turn) { commands.push_back(turn.command); });
  ASSERT_TRUE(side);
  const Layout& layout = side->layout();
  const auto both = [&] {
    auto values = floats(side->input_memory(), layout.tables.inputs[0].offset - layout.inputs.begin);
    const auto outputs = floats(side->expected_outputs(), layout.tables.outputs[0].offset - layout.outputs.begin);
    values.insert(values.end(), outputs.begin(), outputs.end());
    values.push_back(static_cast<float>(side->inputs()[1].integer));
    return values;
  };
  ASSERT_TRUE(side->make_timed_trial(fixture_.plan, {7, 8}));
  const auto timed = both();
  ASSERT_TRUE(side->make_timed_trial(fixture_.plan, {9, 8}));
  EXPECT_NE(both(), timed);
  commands.clear();
  ASSERT_TRUE(side->make_trial(fixture_.plan, {7, 8}));
  EXPECT_EQ(both(), timed);
  EXPECT_EQ(commands, std::vector{Command::answer});
}

TEST_F(ReferenceSideTest, tables_of_an_untimed_command_are_checked_as_well) {
  const auto other_shape = open(at(Command::answer, [](FakeTurn& turn) {
    turn.page.outputs[0].shape[0] = 7;
    turn.page.outputs[0].bytes = 28;
  }));
  ASSERT_TRUE(other_shape);
  const auto made = other_shape->make_trial(fixture_.plan, {7, 8});
  ASSERT_FALSE(made);
  EXPECT_EQ(std::get<Ended>(made.error()).name, VerdictName::problem_invalid);
}

TEST_F(ReferenceSideTest, one_command_makes_several_trials_ahead_each_of_its_own_seeds) {
  fixture_.plan.trials.timed = 0;
  std::vector<std::uint64_t> asked;
  fake_ = std::make_unique<FakeChild>(
      fake_reference(at(Command::answer, [&](FakeTurn& turn) { asked.push_back(turn.page.answer_count); }), 5));
  auto opened =
      ReferenceSide::open(*fixture_.device, fake_->take_socket(), fixture_.exits, WaitMode::sleep, fixture_.plan);
  ASSERT_TRUE(opened && (*opened)->load(fixture_.plan, 42));
  ReferenceSide& side = **opened;
  const Layout& layout = side.layout();
  const auto current = [&] {
    auto values = floats(side.input_memory(), layout.tables.inputs[0].offset - layout.inputs.begin);
    const auto outputs = floats(side.expected_outputs(), layout.tables.outputs[0].offset - layout.outputs.begin);
    values.insert(values.end(), outputs.begin(), outputs.end());
    return values;
  };
  std::vector<Seeds> seeds;
  for (std::uint64_t i = 0; i < channel::kAnswersMax + 3; ++i) seeds.push_back({.inputs = 100 + i, .calls = 200 + i});
  std::vector<std::vector<float>> expected;
  for (const Seeds& each : seeds) {
    ASSERT_TRUE(side.make_trial(fixture_.plan, each));
    expected.push_back(current());
  }
  const auto before = current();
  asked.clear();
  const auto made = side.make_ahead(fixture_.plan, seeds);
  ASSERT_TRUE(made);
  EXPECT_EQ(*made, channel::kAnswersMax);
  const auto rest = side.make_ahead(fixture_.plan, std::span(seeds).subspan(*made));
  ASSERT_TRUE(rest);
  EXPECT_EQ(*rest, 3u);
  EXPECT_EQ(asked, (std::vector<std::uint64_t>{channel::kAnswersMax, 3}));
  EXPECT_EQ(current(), before) << "the current trial stays as it is";
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    ASSERT_NE(side.next_ahead_seeds(), nullptr);
    EXPECT_EQ(side.next_ahead_seeds()->inputs, seeds[i].inputs);
    EXPECT_EQ(side.next_ahead_seeds()->calls, seeds[i].calls);
    side.use_next_ahead();
    EXPECT_EQ(current(), expected[i]) << i;
  }
  EXPECT_EQ(side.next_ahead_seeds(), nullptr);
}

TEST_F(ReferenceSideTest, a_table_of_too_few_or_too_many_outputs_is_invalid) {
  for (const std::uint32_t rows : {0u, 1u, 2u, 5u, 7u, 64u}) {
    const auto side = open(at(Command::answer, [&](FakeTurn& turn) { turn.page.output_count = rows; }));
    ASSERT_TRUE(side);
    const auto made = side->make_ahead(fixture_.plan, std::vector<Seeds>(3));
    ASSERT_FALSE(made) << rows;
    EXPECT_EQ(std::get<Ended>(made.error()).name, VerdictName::problem_invalid);
  }
}

TEST_F(ReferenceSideTest, an_error_in_the_last_of_several_trials_is_found) {
  const auto side = open(at(Command::answer, [](FakeTurn& turn) {
    turn.page.outputs[turn.page.output_count - 2].shape[0] = 7;
    turn.page.outputs[turn.page.output_count - 2].bytes = 28;
  }));
  ASSERT_TRUE(side);
  const auto made = side->make_ahead(fixture_.plan, std::vector<Seeds>(3));
  ASSERT_FALSE(made);
  EXPECT_EQ(std::get<Ended>(made.error()).name, VerdictName::problem_invalid);
}

TEST_F(ReferenceSideTest, a_window_has_several_slots_where_they_are_small) {
  const Twist large = at(Command::load, [](FakeTurn& turn) {
    turn.page.inputs[0] = fake_tensor("x", channel::Dtype::float32, {10 << 20});
  });
  fixture_.plan.limits.window_bytes_max = 1ull << 30;
  for (const bool is_large : {false, true}) {
    std::uint32_t slots = 0;
    const auto side = open([&](FakeTurn& turn) {
      if (is_large) large(turn);
      if (turn.command == Command::attach) slots = turn.page.slots;
    });
    ASSERT_TRUE(side);
    EXPECT_EQ(slots, is_large ? 1u : channel::kAnswersMax);
    EXPECT_GE(side->window().bytes(), slots * side->layout().bytes());
  }
}

TEST_F(ReferenceSideTest, a_compiled_baseline_provides_times_but_no_outputs) {
  std::vector<Command> commands;
  const Twist twist = [&](FakeTurn& turn) {
    commands.push_back(turn.command);
    if (turn.command != Command::call_compiled) return;
    ::usleep(3'000);
    fake_call(turn, 1e6f);
    *fake_data<float>(turn, turn.page.inputs[0]) = 7;
  };
  const auto as_it_is = open(twist);
  ASSERT_TRUE(as_it_is && as_it_is->make_timed_trial(fixture_.plan, {7, 7}));
  EXPECT_EQ(std::ranges::count(commands, Command::compile) + std::ranges::count(commands, Command::call_compiled), 0);
  const Tensor& y = as_it_is->layout().tables.outputs[0];
  const auto expected = floats(as_it_is->expected_outputs(), y.offset - as_it_is->layout().outputs.begin);

  fixture_.plan.trials.baseline = Baseline::compile;
  const auto side = open(twist);
  ASSERT_TRUE(side);
  const auto called = side->make_timed_trial(fixture_.plan, {7, 7});
  ASSERT_TRUE(called);
  EXPECT_GE(called->interval_ns, 3'000'000);
  EXPECT_EQ(floats(side->expected_outputs(), y.offset - side->layout().outputs.begin), expected);
  EXPECT_EQ(side->mutable_inputs(), (std::vector<bool>{false, false}));
  EXPECT_EQ(std::ranges::count(commands, Command::compile), 1);
}

TEST_F(ReferenceSideTest, a_failure_of_torch_compile_is_reported) {
  fixture_.plan.trials.baseline = Baseline::compile;
  fake_ = std::make_unique<FakeChild>(fake_reference(
      at(Command::compile, [](FakeTurn& turn) { turn.fail(channel::Failure::unsupported_here, "no compiler"); })));
  auto side =
      ReferenceSide::open(*fixture_.device, fake_->take_socket(), fixture_.exits, WaitMode::sleep, fixture_.plan);
  ASSERT_TRUE(side);
  const auto loaded = (*side)->load(fixture_.plan, 42);
  ASSERT_FALSE(loaded);
  const Ended& ended = std::get<Ended>(loaded.error());
  EXPECT_EQ(ended.name, VerdictName::unsupported_here);
  EXPECT_EQ(ended.evidence.message, "the reference: no compiler");
}

TEST_F(ReferenceSideTest, carries_the_plain_values_of_each_trial) {
  const auto side = open();
  ASSERT_TRUE(side);
  std::vector<std::int64_t> seen;
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    ASSERT_TRUE(side->make_timed_trial(fixture_.plan, {seed, seed}));
    seen.push_back(side->inputs()[1].integer);
  }
  EXPECT_TRUE(seen[0] != seen[1] || seen[1] != seen[2]);
  EXPECT_EQ(side->inputs()[0].offset, side->layout().tables.inputs[0].offset);
}

TEST_F(ReferenceSideTest, remembers_which_inputs_it_changes) {
  int calls = 0;
  const auto side = open(at(Command::call, [&](FakeTurn& turn) {
    if (++calls == 2) *fake_data<float>(turn, turn.page.inputs[0]) += 1;
  }));
  ASSERT_TRUE(side);
  ASSERT_TRUE(side->make_timed_trial(fixture_.plan, {1, 1}));
  EXPECT_EQ(side->mutable_inputs(), (std::vector<bool>{false, false}));
  ASSERT_TRUE(side->make_timed_trial(fixture_.plan, {2, 2}));
  EXPECT_EQ(side->mutable_inputs(), (std::vector<bool>{true, false}));
  ASSERT_TRUE(side->make_timed_trial(fixture_.plan, {3, 3}));
  EXPECT_EQ(side->mutable_inputs(), (std::vector<bool>{true, false}));
}

TEST_F(ReferenceSideTest, the_determinism_check_restores_changed_inputs) {
  const auto side = open(at(Command::call, [](FakeTurn& turn) { *fake_data<float>(turn, turn.page.inputs[0]) += 1; }));
  ASSERT_TRUE(side);
  ASSERT_TRUE(side->make_timed_trial(fixture_.plan, {1, 1}));
  EXPECT_TRUE(side->check_determinism(fixture_.plan, 1));
}

TEST(PlainValue, is_compared_as_bytes) {
  EXPECT_EQ(plain_value({.name = "", .kind = channel::Kind::integer, .integer = 3}).dtype, channel::Dtype::int64);
  EXPECT_EQ(plain_value({.name = "", .kind = channel::Kind::boolean, .integer = 7}).bytes,
            plain_value({.name = "", .kind = channel::Kind::integer, .integer = 1}).bytes);
  EXPECT_EQ(plain_value({.name = "", .kind = channel::Kind::real, .real = 1}).dtype, channel::Dtype::float64);
  EXPECT_TRUE(plain_value({.name = ""}).bytes.empty());
}

// A problem with 256 MB of inputs.
struct LargeFixture : JudgeFixture {
  static constexpr std::int64_t kBytes = 256 << 20;
  LargeFixture() {
    plan.trials = {.correctness = 3, .warmup = 0, .timed = 0};
    plan.limits.window_bytes_max = 2 * kBytes;
    auto fake = std::make_unique<FakeDevice>();
    fake->can_compare = true;
    fake_device = fake.get();
    fake_device->at_comparison = [this] { record('l'); };
    use(std::move(fake));
  }
  Report run_large(Twist submission_twist = {}) {
    return run(
        [this, twist = std::move(submission_twist)](FakeTurn& turn) {
          if (turn.command == Command::call) record('c');
          if (twist) twist(turn);
        },
        [this](FakeTurn& turn) {
          if (turn.command == Command::load)
            turn.page.inputs[turn.page.input_count++] = fake_tensor("large", channel::Dtype::uint8, {kBytes});
          if (turn.command == Command::answer) record('a');
        });
  }
  void record(char event) {
    const std::lock_guard lock(mutex);
    events += event;
  }

  FakeDevice* fake_device = nullptr;
  std::mutex mutex;
  std::string events;  // a: the reference computes a trial, c: the submission is called, l: a comparison
};

TEST(ReferenceSide, a_large_trial_is_compared_in_place_before_the_reference_goes_on) {
  LargeFixture fixture;
  const Report report = fixture.run_large();
  ASSERT_TRUE(report.verdict) << report.error;
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed);
  EXPECT_EQ(correctness_of(*report.verdict)->trials_passed, 3u);
  // The first trial is timed: its inputs are copied once to be kept, twice back into the window, and once to the
  // submission. Inputs of the other trials are copied to the submission only.
  EXPECT_EQ(fixture.fake_device->copied_bytes / LargeFixture::kBytes, 4u + 2u);
  EXPECT_TRUE(fixture.events.ends_with("clacl")) << fixture.events;
}

// A fixture with an arena, as on a GPU. When requested, the fake reference draws its large input in the arena, between
// bytes that hold E.
struct ArenaFixture : LargeFixture {
  static constexpr std::int64_t kEach = kBytes / 2;  // the size of the input and of the output
  static constexpr std::uint64_t kAt = 1 << 20;
  explicit ArenaFixture(std::uint64_t where = kAt) : reported_offset(where) {
    plan.limits.bursts = Bursts::never;
    plan.limits.window_bytes_max = 2 * kBytes;
    fake_device->described.kind = DeviceKind::cuda;
  }
  Report run_in_arena(Twist submission_twist = {}) {
    return run(std::move(submission_twist), [this](FakeTurn& turn) {
      channel::Page& page = turn.page;
      if (turn.command == Command::load) {
        page.inputs[0] = fake_tensor("large", channel::Dtype::uint8, {kEach});
        page.outputs[0] = fake_tensor("out", channel::Dtype::uint8, {kEach});
      }
      const auto draw = [&](char* x) { std::fill_n(x, kEach, static_cast<char>(++drawn)); };
      const auto compute = [&](const char* x) {
        std::copy_n(x, kEach, fake_data<char>(turn, page.outputs[0]));
        *fake_data<std::int32_t>(turn, page.outputs[1]) = 8;
      };
      if (turn.command == Command::make_inputs) {
        if (in_arena_count == 0) at = page.inputs[0].offset;
        if (in_arena_count > 0) ++drawn_after;
        if (page.inputs[0].place != channel::Place::window || page.inputs[0].offset != at) ++misplaced;
        draw(fake_data<char>(turn, page.inputs[0]));
      }
      if (turn.command == Command::call) compute(fake_data<char>(turn, page.inputs[0]));
      if (turn.command != Command::answer) return;
      if (page.inputs[0].place == channel::Place::window) {
        draw(fake_data<char>(turn, page.inputs[0]));
        compute(fake_data<char>(turn, page.inputs[0]));
        return;
      }
      ++in_arena_count;
      char* const x = turn.window + page.window_bytes - page.arena_bytes + kAt;
      draw(x);
      compute(x);
      std::fill_n(x - 4096, 4096, 'E');
      std::fill_n(x + kEach, 4096, 'E');
      page.inputs[0].offset = reported_offset;
    });
  }
  const std::uint64_t reported_offset;
  int in_arena_count = 0;
  int drawn = 0;
  std::uint64_t at = 0;  // the input's offset in the window
  int drawn_after = 0;   // times that a timed reference drew after a trial in place
  int misplaced = 0;
};

TEST(ReferenceSide, a_timed_reference_draws_in_the_window_after_a_trial_in_place) {
  ArenaFixture fixture;
  fixture.plan.trials = {.correctness = 2, .warmup = 0, .timed = 5};
  const Report report = fixture.run_in_arena(at(Command::call, [&](FakeTurn& turn) {
    std::copy_n(fake_data<char>(turn, turn.page.inputs[0]), ArenaFixture::kEach,
                fake_data<char>(turn, turn.page.outputs[0]));
  }));
  ASSERT_TRUE(report.verdict) << report.error;
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed) << evidence_of(*report.verdict)->message;
  EXPECT_GT(fixture.drawn_after, 0);
  EXPECT_EQ(fixture.misplaced, 0);
}

TEST(ReferenceSide, a_large_input_stays_in_place_and_no_byte_beside_it_reaches_the_submission) {
  ArenaFixture fixture;
  int beside = 0;
  const Report report = fixture.run_in_arena(at(Command::call, [&](FakeTurn& turn) {
    const char* const x = fake_data<char>(turn, turn.page.inputs[0]);
    beside += static_cast<int>(std::count(x - channel::kAlign, x, 'E') +
                               std::count(x + ArenaFixture::kEach, x + ArenaFixture::kEach + channel::kAlign, 'E'));
    std::copy_n(x, ArenaFixture::kEach, fake_data<char>(turn, turn.page.outputs[0]));
  }));
  ASSERT_TRUE(report.verdict) << report.error;
  ASSERT_EQ(name_of(*report.verdict), VerdictName::passed) << evidence_of(*report.verdict)->message;
  EXPECT_EQ(fixture.in_arena_count, 2);
  EXPECT_EQ(beside, 0);
}

TEST(ReferenceSide, a_change_of_an_input_that_is_kept_in_place_is_found) {
  ArenaFixture fixture;
  int calls = 0;
  const Report report = fixture.run_in_arena(at(Command::call, [&](FakeTurn& turn) {
    char* const x = fake_data<char>(turn, turn.page.inputs[0]);
    std::copy_n(x, ArenaFixture::kEach, fake_data<char>(turn, turn.page.outputs[0]));
    if (++calls == 3) x[1'000] ^= 1;
  }));
  ASSERT_TRUE(report.verdict) << report.error;
  ASSERT_EQ(name_of(*report.verdict), VerdictName::wrong_answer);
  EXPECT_EQ(evidence_of(*report.verdict)->message, "the submission changed its input 0 (large) at [1000], in trial 2");
}

TEST(ReferenceSide, an_input_reported_outside_of_the_arena_is_invalid) {
  for (const std::uint64_t reported_offset : {~0ull, 1ull << 30}) {
    ArenaFixture fixture(reported_offset);
    const Report report = fixture.run_in_arena(at(Command::call, [&](FakeTurn& turn) {
      std::copy_n(fake_data<char>(turn, turn.page.inputs[0]), ArenaFixture::kEach,
                  fake_data<char>(turn, turn.page.outputs[0]));
    }));
    ASSERT_TRUE(report.verdict) << report.error;
    ASSERT_EQ(name_of(*report.verdict), VerdictName::problem_invalid);
    EXPECT_EQ(evidence_of(*report.verdict)->message, "the reference reported an input outside of its memory");
  }
}

TEST(ReferenceSide, a_wrong_output_is_found_against_expected_outputs_in_place) {
  LargeFixture fixture;
  int calls = 0;
  const Report report = fixture.run_large(at(Command::call, [&](FakeTurn& turn) {
    *fake_data<float>(turn, turn.page.outputs[0]) += ++calls == 3 ? 1.0f : 0.0f;
  }));
  ASSERT_TRUE(report.verdict) << report.error;
  ASSERT_EQ(name_of(*report.verdict), VerdictName::wrong_answer);
  EXPECT_EQ(evidence_of(*report.verdict)->mismatch->trial, 2u);
}

}  // namespace
}  // namespace kq::judge
