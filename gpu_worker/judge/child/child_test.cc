#include "gpu_worker/judge/child/child.h"

#include <unistd.h>

#include <atomic>
#include <random>

#include <gtest/gtest.h>

#include "gpu_worker/judge/device/clock.h"
#include "gpu_worker/judge/device/cpu_device.h"
#include "gpu_worker/judge/testing/fake_child.h"
#include "gpu_worker/judge/testing/fake_problem.h"

namespace kq::judge {
namespace {

using channel::Command;
using channel::Dtype;
using channel::Failure;
using channel::Kind;
using channel::Page;
using channel::Status;

constexpr std::int64_t kShortMs = 30;
constexpr std::int64_t kLongMs = 60'000;

// Returns when `flag` is set. Returns after kLongMs at the latest, so that a failure does not hang the test.
void await(const std::atomic<bool>& flag) {
  for (int ms = 0; !flag && ms < kLongMs; ++ms) ::usleep(1'000);
}

struct Pair {
  explicit Pair(FakeChild::Script script, ChildRole role = ChildRole::submission, WaitMode wait_mode = WaitMode::sleep)
      : fake(std::move(script)), child(std::move(*Child::start(fake.take_socket(), role, exits, wait_mode))) {}

  Outcome command(Command command, std::int64_t limit_ms = kLongMs, std::uint64_t seed = 0) {
    return std::move(*child->command({.command = command, .limit_ms = limit_ms, .seed = seed}));
  }

  FakeExits exits;
  FakeChild fake;
  std::unique_ptr<Child> child;
};

std::string malformed(const Outcome& outcome) {
  const auto* what = std::get_if<Malformed>(&outcome);
  return what == nullptr ? "well-formed" : what->what;
}

channel::TensorDesc float_row(std::vector<std::int64_t> shape) {
  return row_of({.name = "x", .kind = Kind::tensor, .dtype = Dtype::float32, .shape = std::move(shape)});
}

void nothing(FakeTurn&) {}

TEST(Child, answers_one_command_after_another) {
  std::uint64_t seed = 0;
  Pair pair([&](FakeTurn& turn) {
    seed = turn.seed;
    turn.page.event_ns = 77;
  });
  for (int i = 0; i < 20; ++i) {
    const Outcome outcome = pair.command(Command::null_call, kLongMs, 42);
    ASSERT_TRUE(std::holds_alternative<Answered>(outcome));
    EXPECT_TRUE(std::get<Answered>(outcome).ok);
    EXPECT_EQ(std::get<Answered>(outcome).event_ns, 77);
    EXPECT_GT(std::get<Answered>(outcome).interval_ns, 0);
  }
  EXPECT_EQ(seed, 42u);
  EXPECT_TRUE(pair.child->usable());
}

TEST(Child, spinning_answers_too) {
  Pair pair(nothing, ChildRole::submission, WaitMode::spin);
  EXPECT_TRUE(std::holds_alternative<Answered>(pair.command(Command::null_call)));
}

// The interval begins when the child reports its launches, or when the time for them is over.
TEST(Child, launches_before_the_interval_begins) {
  constexpr int kLaunchingUs = 20'000;
  for (const bool says_so : {true, false}) {
    std::atomic<bool> has_begun = false;
    Pair pair([&](FakeTurn& turn) {
      ::usleep(kLaunchingUs);
      if (says_so) std::atomic_ref(turn.page.launched).store(turn.page.go, std::memory_order_release);
      await(has_begun);
      ::usleep(kLaunchingUs);
    });
    const std::int64_t launch_ns = (says_so ? 10'000 : 1) * kLaunchingUs * 1'000LL;
    std::int64_t began_ns = 0;
    const std::int64_t go_ns = clock_ns();
    const auto outcome =
        pair.child->command({.command = Command::call, .limit_ms = kLongMs},
                            {.launch_ns = launch_ns, .at_start = [&] { began_ns = clock_ns(), has_begun = true; }});
    ASSERT_TRUE(std::holds_alternative<Answered>(*outcome));
    EXPECT_GE(began_ns - go_ns, kLaunchingUs * 1'000LL);
    const auto& answered = std::get<Answered>(*outcome);
    EXPECT_GE(answered.interval_ns, kLaunchingUs * 900LL) << "work behind the launches is in the interval";
    EXPECT_LE(answered.interval_ns, clock_ns() - go_ns - kLaunchingUs * 900LL) << "the time of the launches is not";
    EXPECT_FALSE(answered.is_early);
  }
}

TEST(Child, an_answer_before_the_interval_begins_is_early) {
  Pair pair([](FakeTurn& turn) {
    if (turn.command == Command::call) turn.fail(Failure::runtime_error, "no");
  });
  bool has_begun = false;
  const std::int64_t go_ns = clock_ns();
  for (const Command command : {Command::stage, Command::call}) {
    const auto outcome = pair.child->command({.command = command, .limit_ms = kLongMs},
                                             {.launch_ns = kLongMs * 1'000'000, .at_start = [&] { has_begun = true; }});
    ASSERT_TRUE(std::holds_alternative<Answered>(*outcome));
    EXPECT_TRUE(std::get<Answered>(*outcome).is_early);
    EXPECT_TRUE(has_begun);
  }
  EXPECT_LT(clock_ns() - go_ns, kLongMs * 1'000'000);
  EXPECT_FALSE(std::get<Answered>(pair.command(Command::stage)).is_early) << "the judge did not wait for launches";
}

// The judge announces the slots while the child launches. The interval begins when all calls are launched.
TEST(Child, launches_all_calls_of_a_burst_before_the_interval_begins) {
  std::atomic<bool> has_begun = false;
  Pair pair([&](FakeTurn& turn) {
    channel::Page& page = turn.page;
    for (std::uint32_t returned = 0;; ++returned) {
      std::atomic_ref(page.returned).store(returned, std::memory_order_release);
      std::uint32_t turn_word = 0;
      while ((turn_word = std::atomic_ref(page.turn).load(std::memory_order_acquire)) >> 16 != returned + 1)
        std::this_thread::yield();
      if ((turn_word & channel::kNoSlot) == channel::kNoSlot) break;
    }
    std::atomic_ref(page.launched).store(page.go, std::memory_order_release);
    await(has_begun);
    ::usleep(20'000);
  });
  const std::vector<std::uint16_t> slots{2, 0, 1};
  const auto outcome = pair.child->command({.command = Command::burst, .limit_ms = kLongMs, .slots = slots},
                                           {.launch_ns = kLongMs * 1'000'000, .at_start = [&] { has_begun = true; }});
  ASSERT_TRUE(std::holds_alternative<Answered>(*outcome)) << malformed(*outcome);
  EXPECT_FALSE(std::get<Answered>(*outcome).is_early);
  EXPECT_GE(std::get<Answered>(*outcome).interval_ns, 18'000'000);
}

TEST(Child, gets_tables_and_a_window) {
  const auto device = std::move(*open_cpu_device());
  const auto window = std::move(*device->make_window(4096));
  std::uint64_t offset = 0;
  Pair pair([&](FakeTurn& turn) {
    offset = turn.page.outputs[0].offset;
    std::memcpy(turn.window + offset, "done", 4);
  });
  pair.child->write_outputs(
      {{.name = "out0", .kind = Kind::tensor, .dtype = Dtype::uint8, .shape = {4}, .bytes = 4, .offset = 512}});
  pair.child->send_window(*window);
  ASSERT_TRUE(std::holds_alternative<Answered>(pair.command(Command::attach)));
  std::array<std::byte, 4> got{};
  ASSERT_TRUE(device->read(got, *window, 512));
  EXPECT_EQ(std::memcmp(got.data(), "done", 4), 0);
}

TEST(Child, describes_a_problem_when_a_reference_loads) {
  Pair pair(
      [](FakeTurn& turn) {
        turn.page.input_count = 1;
        turn.page.inputs[0] = float_row({2, 3});
        turn.page.output_count = 1;
        turn.page.outputs[0] = float_row({2});
        turn.page.state_count = 1;
        turn.page.states[0] = float_row({});
      },
      ChildRole::reference);
  const Outcome outcome = pair.command(Command::load);
  const Tables& tables = std::get<Answered>(outcome).tables;
  EXPECT_EQ(describe(tables.inputs.at(0)), "float32[2, 3]");
  EXPECT_EQ(describe(tables.outputs.at(0)), "float32[2]");
  EXPECT_EQ(describe(tables.states.at(0)), "float32[]");
}

TEST(Child, hands_a_description_of_values_from_the_reference_on_unread) {
  const std::string tree("{\"tuple\":[]}\0\xff", 15);
  Pair reference(
      [&](FakeTurn& turn) {
        turn.page.input_tree_bytes = static_cast<std::uint32_t>(tree.size());
        std::memcpy(turn.page.input_tree, tree.data(), tree.size());
      },
      ChildRole::reference);
  const Outcome outcome = reference.command(Command::load);
  const Trees& trees = std::get<Answered>(outcome).trees;
  EXPECT_EQ(trees.inputs, tree);
  EXPECT_EQ(trees.outputs, "");
  std::string received;
  Pair submission([&](FakeTurn& turn) { received.assign(turn.page.output_tree, turn.page.output_tree_bytes); });
  submission.child->write_trees({.inputs = "", .outputs = tree});
  (void)submission.command(Command::load);
  EXPECT_EQ(received, tree);
  Pair hostile([](FakeTurn& turn) { turn.page.output_tree_bytes = channel::kTreeMax + 1; }, ChildRole::reference);
  EXPECT_EQ(malformed(hostile.command(Command::load)), "a description of its outputs of 32769 bytes, at most 32768");
}

TEST(Child, a_failure_has_a_text) {
  Pair pair([](FakeTurn& turn) { turn.fail(Failure::load_failed, "no \x1b[1mmodule"); });
  const Outcome outcome = pair.command(Command::load);
  const auto& answered = std::get<Answered>(outcome);
  EXPECT_FALSE(answered.ok);
  EXPECT_EQ(answered.failure, Failure::load_failed);
  EXPECT_EQ(answered.text, "no ?[1mmodule");
  EXPECT_TRUE(pair.child->usable());
}

TEST(Child, runs_at_done_in_the_timed_interval) {
  bool was_answered_first = false;
  bool is_answered = false;
  Pair pair([&](FakeTurn&) { is_answered = true; });
  const auto outcome =
      pair.child->command({.command = Command::call, .limit_ms = kLongMs}, {.at_done = [&]() -> Expected<void> {
                            was_answered_first = is_answered;
                            const std::int64_t start_ns = clock_ns();
                            while (clock_ns() - start_ns < 1'000'000) {
                            }
                            return {};
                          }});
  EXPECT_TRUE(was_answered_first);
  EXPECT_GE(std::get<Answered>(*outcome).interval_ns, 1'000'000);
}

TEST(Child, a_failing_at_done_is_our_error) {
  Pair pair(nothing);
  EXPECT_FALSE(pair.child->command({.command = Command::call, .limit_ms = kLongMs},
                                   {.at_done = []() -> Expected<void> { return our_fault("probe"); }}));
  EXPECT_FALSE(pair.child->usable());
}

TEST(Child, silence_ends_at_the_limit) {
  Pair pair([](FakeTurn& turn) { turn.answers = false; });
  const std::int64_t start_ns = clock_ns();
  EXPECT_EQ(std::get<TimedOut>(pair.command(Command::call, kShortMs)).limit_ms, kShortMs);
  EXPECT_GE(clock_ns() - start_ns, kShortMs * 1'000'000);
  EXPECT_FALSE(pair.child->usable());
}

TEST(Child, silence_ends_at_the_limit_while_spinning) {
  Pair pair([](FakeTurn& turn) { turn.answers = false; }, ChildRole::submission, WaitMode::spin);
  EXPECT_TRUE(std::holds_alternative<TimedOut>(pair.command(Command::call, kShortMs)));
}

TEST(Child, an_exit_is_noticed_before_the_limit) {
  FakeExits* exits = nullptr;
  Pair pair([&](FakeTurn& turn) {
    exits->tell(ChildRole::reference, 1);  // the exit of another child
    exits->tell(ChildRole::submission, 139);
    turn.ends = true;
  });
  exits = &pair.exits;
  EXPECT_EQ(std::get<Exited>(pair.command(Command::call)).wait_status, 139);
}

TEST(Child, an_answer_before_the_exit_counts) {
  FakeExits* exits = nullptr;
  Pair pair([&](FakeTurn& turn) {
    std::atomic_ref(turn.page.done).store(1);
    exits->tell(ChildRole::submission, 0);
    turn.ends = true;
  });
  exits = &pair.exits;
  EXPECT_TRUE(std::holds_alternative<Answered>(pair.command(Command::call)));
  EXPECT_TRUE(std::holds_alternative<Exited>(pair.command(Command::call)));
}

TEST(Child, after_a_closed_socket_waits_for_the_exit) {
  FakeExits exits;
  auto ends = std::move(*sys::packet_pair());
  ends.second = sys::Fd();
  exits.tell(ChildRole::submission, 256);
  const auto child = std::move(*Child::start(std::move(ends.first), ChildRole::submission, exits, WaitMode::sleep));
  const auto outcome = child->command({.command = Command::attach, .limit_ms = kLongMs});
  EXPECT_EQ(std::get<Exited>(*outcome).wait_status, 256);
}

TEST(Child, lost_control_is_an_error) {
  Pair pair([](FakeTurn& turn) { turn.answers = false; });
  pair.exits.is_control_gone = true;
  EXPECT_FALSE(pair.child->command({.command = Command::call, .limit_ms = kLongMs}));
}

// ---- hostile children ----

TEST(HostileChild, counts_beyond_the_tables_are_malformed) {
  Pair pair([](FakeTurn& turn) { turn.page.output_count = 65; });
  EXPECT_EQ(malformed(pair.command(Command::call)), "65 outputs, at most 64");
  Pair reference([](FakeTurn& turn) { turn.page.state_count = 0xFFFFFFFF; }, ChildRole::reference);
  EXPECT_EQ(malformed(reference.command(Command::load)), "4294967295 states, at most 2048");
  EXPECT_FALSE(reference.child->usable());
}

TEST(HostileChild, negative_and_overflowing_shapes_are_malformed) {
  Pair pair([](FakeTurn& turn) {
    turn.page.output_count = 1;
    turn.page.outputs[0] = float_row({3, -1});
  });
  EXPECT_EQ(malformed(pair.command(Command::call)), "output 0 with a negative size");
  Pair large([](FakeTurn& turn) {
    turn.page.output_count = 1;
    turn.page.outputs[0] = float_row({1ll << 40, 1ll << 40});
  });
  EXPECT_EQ(malformed(large.command(Command::call)), "output 0 with a size beyond any memory");
}

TEST(HostileChild, a_huge_text_is_malformed) {
  Pair pair([](FakeTurn& turn) { turn.page.text_bytes = 0x80000000; });
  EXPECT_EQ(malformed(pair.command(Command::null_call)), "a text of 2147483648 bytes");
}

TEST(HostileChild, unknown_values_are_malformed) {
  Pair status([](FakeTurn& turn) { turn.page.status = static_cast<Status>(2); });
  EXPECT_EQ(malformed(status.command(Command::null_call)), "an unknown status");
  Pair failure([](FakeTurn& turn) { turn.page.failure = static_cast<Failure>(99); });
  EXPECT_EQ(malformed(failure.command(Command::null_call)), "an unknown failure");
}

TEST(HostileChild, done_that_jumps_ahead_is_malformed) {
  Pair pair([](FakeTurn& turn) { std::atomic_ref(turn.page.done).store(7); });
  EXPECT_EQ(malformed(pair.command(Command::call)), "answered a command it was not given");
}

TEST(HostileChild, an_answer_before_the_command_is_malformed) {
  Page* page = nullptr;
  Pair pair([&](FakeTurn& turn) { page = &turn.page; });
  ASSERT_TRUE(std::holds_alternative<Answered>(pair.command(Command::null_call)));
  std::atomic_ref(page->done).store(2);
  EXPECT_EQ(malformed(pair.command(Command::call)), "answered before it was asked");
}

TEST(HostileChild, a_scribbled_page_ends_in_an_outcome) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 60; ++round) {
    Pair pair(
        [&](FakeTurn& turn) {
          auto* bytes = reinterpret_cast<unsigned char*>(&turn.page);
          for (int i = 0; i < 2'000; ++i)
            bytes[48 + random() % (sizeof(Page) - 48)] = static_cast<unsigned char>(random());
          if (round % 2 == 0) turn.page.failure = Failure::none;
          if (round % 3 == 0) turn.page.text_bytes = 5;
          if (round % 3 == 0) turn.page.input_count = turn.page.output_count = turn.page.state_count = 2;
        },
        round % 2 == 0 ? ChildRole::reference : ChildRole::submission);
    const Outcome outcome = pair.command(round % 4 < 2 ? Command::load : Command::call, kShortMs);
    const auto* answered = std::get_if<Answered>(&outcome);
    if (answered == nullptr) continue;
    for (const auto* table : {&answered->tables.inputs, &answered->tables.outputs, &answered->tables.states}) {
      for (const Tensor& tensor : *table) EXPECT_LE(tensor.bytes, kTensorBytesMax);
    }
  }
}

// The child goes on writing while the judge reads. The judge must use the copy that it has checked.
TEST(HostileChild, a_page_that_changes_all_the_time_ends_in_an_outcome) {
  std::atomic<bool> is_over = false;
  std::thread writer;
  Pair pair([&](FakeTurn& turn) {
    if (writer.joinable()) return;
    writer = std::thread([&is_over, page = &turn.page] {
      auto* const words = reinterpret_cast<volatile std::uint32_t*>(page);
      for (std::uint32_t i = 0; !is_over; ++i) {
        words[offsetof(Page, text_bytes) / 4] = i % 2 == 0 ? 3 : 0xFFFFFFFF;
        words[offsetof(Page, output_count) / 4] = i % 2 == 0 ? 1 : 0xFFFF;
        words[(offsetof(Page, outputs) + offsetof(channel::TensorDesc, ndim)) / 4] = i % 2 == 0 ? 1 : 0xFFFF;
      }
    });
  });
  for (int i = 0; i < 200 && pair.child->usable(); ++i) (void)pair.command(Command::call);
  is_over = true;
  if (writer.joinable()) writer.join();
}

// ---- of an attempt ----

// Where a limit of a call must not depend on the host, call_limit_factor is 0: the reference's time is longer on a busy
// host. The limits are long enough for the calls that must stay within them, and hanging calls reach them.

TEST(Limits, a_hanging_call_times_out) {
  JudgeFixture fixture;
  fixture.plan.limits.call_limit_ms = 30;
  const Report report = fixture.run(at(Command::call, [](FakeTurn& turn) { turn.answers = false; }));
  EXPECT_EQ(outcome_text(report), "timed_out/run at run");
  EXPECT_TRUE(report.reference_usable);
}

TEST(Limits, a_first_call_may_compile_for_longer_than_a_call_may_take) {
  JudgeFixture fixture;
  fixture.plan.limits.call_limit_ms = 1'000;
  fixture.plan.limits.call_limit_factor = 0;
  fixture.plan.limits.first_launch_limit_ms = 60'000;
  const Report slow_first = fixture.run(at(Command::call, [call = 0](FakeTurn&) mutable {
    if (call++ == 0) ::usleep(1'200'000);
  }));
  EXPECT_EQ(outcome_text(slow_first), "passed");
  const Report hanging_second = fixture.run_again(at(Command::call, [call = 0](FakeTurn& turn) mutable {
    if (call++ == 1) turn.answers = false;
  }));
  ASSERT_EQ(outcome_text(hanging_second), "timed_out/run at run");
  EXPECT_NE(evidence_in(hanging_second).message.find("longer than 1000 ms"), std::string::npos)
      << "only the first call may compile: " << evidence_in(hanging_second).message;
}

TEST(Limits, a_first_call_that_has_launched_its_work_has_the_limit_of_any_call) {
  JudgeFixture fixture;
  fixture.plan.limits.call_limit_ms = 500;
  fixture.plan.limits.call_limit_factor = 0;
  fixture.plan.limits.first_launch_limit_ms = 60'000;
  const Report launched = fixture.run(at(Command::call, [](FakeTurn& turn) {
    std::atomic_ref(turn.page.launched).store(std::atomic_ref(turn.page.go).load());
    turn.answers = false;
  }));
  ASSERT_EQ(outcome_text(launched), "timed_out/run at run");
  EXPECT_NE(evidence_in(launched).message.find("longer than 500 ms"), std::string::npos)
      << evidence_in(launched).message;
  fixture.plan.limits.first_launch_limit_ms = 250;
  const Report never = fixture.run_again(at(Command::call, [](FakeTurn& turn) { turn.answers = false; }));
  ASSERT_EQ(outcome_text(never), "timed_out/run at run");
  EXPECT_NE(evidence_in(never).message.find("longer than 750 ms"), std::string::npos) << evidence_in(never).message;
}

TEST(Limits, the_limit_of_a_call_grows_with_the_reference) {
  JudgeFixture fixture;
  fixture.plan.trials = {.correctness = 1, .warmup = 0, .timed = 0};
  fixture.plan.limits.call_limit_ms = 1;
  fixture.plan.limits.call_limit_factor = 200;
  const Report report = fixture.run(at(Command::call, [](FakeTurn&) { ::usleep(100'000); }),
                                    at(Command::call, [](FakeTurn&) { ::usleep(100'000); }));
  EXPECT_EQ(outcome_text(report), "passed");
}

TEST(Limits, a_hanging_load_times_out) {
  JudgeFixture fixture;
  fixture.plan.limits.load_limit_ms = 2'000;  // also the limit of honest commands before the load
  EXPECT_EQ(outcome_text(fixture.run(at(Command::load, [](FakeTurn& turn) { turn.answers = false; }))),
            "timed_out/load at load");
}

}  // namespace
}  // namespace kq::judge
