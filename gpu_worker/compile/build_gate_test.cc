#include "gpu_worker/compile/build_gate.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <stop_token>
#include <thread>

#include "sys/clock.h"

namespace kq::worker {
namespace {

constexpr std::int64_t kLongMs = 60'000;

BuildTime time_of(std::int64_t ms, std::stop_token stop = {}) {
  return {.stop = std::move(stop), .end_ms = sys::monotonic_now_ms() + ms, .limit_ms = ms};
}

TEST(BuildGate, builds_run_together_or_one_runs_alone) {
  BuildGate gate;
  {
    const BuildGate::Pass first(gate, BuildGate::Kind::together, time_of(0));
    const BuildGate::Pass second(gate, BuildGate::Kind::together, time_of(0));
    EXPECT_TRUE(first.is_held() && second.is_held());
    EXPECT_FALSE(BuildGate::Pass(gate, BuildGate::Kind::alone, time_of(0)).is_held());
  }
  const BuildGate::Pass alone(gate, BuildGate::Kind::alone, time_of(0));
  EXPECT_TRUE(alone.is_held());
  EXPECT_FALSE(BuildGate::Pass(gate, BuildGate::Kind::together, time_of(0)).is_held());
  EXPECT_FALSE(BuildGate::Pass(gate, BuildGate::Kind::alone, time_of(0)).is_held());
}

TEST(BuildGate, a_build_that_waits_to_be_alone_gets_its_turn_and_a_stop_ends_the_wait) {
  BuildGate gate;
  std::optional<BuildGate::Pass> running(std::in_place, gate, BuildGate::Kind::together, time_of(kLongMs));
  bool was_alone = false;
  std::jthread waits([&] { was_alone = BuildGate::Pass(gate, BuildGate::Kind::alone, time_of(kLongMs)).is_held(); });
  running.reset();
  waits.join();
  EXPECT_TRUE(was_alone);

  running.emplace(gate, BuildGate::Kind::together, time_of(kLongMs));
  std::stop_source stop;
  bool was_held = true;
  std::jthread stopped(
      [&] { was_held = BuildGate::Pass(gate, BuildGate::Kind::alone, time_of(kLongMs, stop.get_token())).is_held(); });
  stop.request_stop();
  stopped.join();
  EXPECT_FALSE(was_held);
  EXPECT_TRUE(BuildGate::Pass(gate, BuildGate::Kind::together, time_of(0)).is_held());
}

}  // namespace
}  // namespace kq::worker
