#include "gpu_worker/judge/timing/timed_interval.h"

#include <gtest/gtest.h>

#include "gpu_worker/judge/device/clock.h"
#include "gpu_worker/judge/device/cpu_device.h"
#include "gpu_worker/judge/testing/fake_child.h"

namespace kq::judge {
namespace {

using channel::Command;

constexpr std::int64_t kLimitMs = 20'000;

class TimedIntervalTest : public testing::Test {
 protected:
  Expected<Outcome> run(FakeChild::Script script, const IntervalHooks& hooks) {
    FakeChild fake(std::move(script));
    const auto child = std::move(*Child::start(fake.take_socket(), ChildRole::submission, exits_, WaitMode::sleep));
    const CommandRequest request{.command = Command::call, .limit_ms = kLimitMs, .seed = 99};
    auto staged = stage(*child, request);
    if (!staged || !std::get<Answered>(*staged).ok) return staged;
    return time_command(*device_, *child, request, hooks);
  }

  std::unique_ptr<Device> device_ = std::move(*open_cpu_device());
  FakeExits exits_;
};

TEST_F(TimedIntervalTest, prepares_calls_and_takes_in_this_order) {
  std::vector<std::string> events;
  std::uint64_t seed = 0;
  std::uint64_t staged_seed = 1;
  const auto outcome = run(
      [&](FakeTurn& turn) {
        events.push_back(turn.command == Command::call ? "call" : "null");
        (turn.command == Command::call ? seed : staged_seed) = turn.seed;
      },
      {.prepare = [&]() -> Expected<void> {
         events.push_back("prepare");
         return {};
       },
       .take = [&](const Answered&) -> Expected<void> {
         events.push_back("take");
         return {};
       }});
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(std::holds_alternative<Answered>(*outcome));
  EXPECT_EQ(events, (std::vector<std::string>{"null", "prepare", "call", "take"}));
  EXPECT_EQ(seed, 99u);
  EXPECT_EQ(staged_seed, 0u) << "a child that knew the seed could draw its numbers before the interval";
}

TEST_F(TimedIntervalTest, excludes_the_preparation) {
  const std::int64_t start_ns = clock_ns();
  const auto outcome = run([](FakeTurn&) {}, {.prepare = []() -> Expected<void> {
                             ::usleep(20'000);
                             return {};
                           }});
  EXPECT_LE(std::get<Answered>(*outcome).interval_ns, clock_ns() - start_ns - 20'000'000);
}

TEST_F(TimedIntervalTest, takes_nothing_of_a_call_that_failed) {
  bool is_taken = false;
  const auto outcome = run(
      [](FakeTurn& turn) {
        if (turn.command == Command::call) turn.fail(channel::Failure::runtime_error, "no");
      },
      {.take = [&](const Answered&) -> Expected<void> {
        is_taken = true;
        return {};
      }});
  EXPECT_FALSE(std::get<Answered>(*outcome).ok);
  EXPECT_FALSE(is_taken);
}

TEST_F(TimedIntervalTest, a_hook_that_fails_is_an_error) {
  EXPECT_FALSE(run([](FakeTurn&) {}, {.prepare = []() -> Expected<void> { return our_fault("no"); }}));
  EXPECT_FALSE(run([](FakeTurn&) {}, {.take = [](const Answered&) -> Expected<void> { return our_fault("no"); }}));
}

TEST(Sample, is_the_interval_less_the_overhead_and_at_least_1_ns) {
  EXPECT_EQ(sample_ns(1'000, 300.4), 700);
  EXPECT_EQ(sample_ns(1'000, 999.9), 1);
  EXPECT_EQ(sample_ns(1'000, 5'000), 1);
}

}  // namespace
}  // namespace kq::judge
