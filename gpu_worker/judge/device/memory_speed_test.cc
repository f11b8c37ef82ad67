#include "gpu_worker/judge/device/memory_speed.h"

#include <memory>

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_device.h"
#include "gpu_worker/judge/testing/fake_problem.h"
#include "gpu_worker/judge/trial/schedule.h"

namespace kq::judge {
namespace {

using channel::Command;

void add(MemorySpeed& speed, std::size_t times, std::int64_t ns) {
  for (std::size_t i = 0; i < times; ++i) speed.add(ns);
}

TEST(MemorySpeed, nothing_is_slow_before_there_is_a_usual_time) {
  MemorySpeed speed;
  EXPECT_EQ(speed.slowness(), 1);
  add(speed, kSamplesMin - 1, 20'000);
  speed.add(0);
  EXPECT_EQ(speed.slowness(), 1) << "it was not measured";
  speed.add(20'000);
  speed.add(25'000);
  EXPECT_DOUBLE_EQ(speed.slowness(), 1.25);
  speed.add(0);
  EXPECT_EQ(speed.slowness(), 1);
}

TEST(MemorySpeed, the_usual_time_follows_a_lasting_change_only) {
  MemorySpeed speed;
  add(speed, kSamplesKept, 20'000);
  add(speed, kSamplesKept / 2, 23'000);
  EXPECT_DOUBLE_EQ(speed.slowness(), 1.15);
  add(speed, kSamplesKept / 2, 23'000);
  EXPECT_DOUBLE_EQ(speed.slowness(), 1);
  add(speed, kSamplesKept, 20'000);
  EXPECT_DOUBLE_EQ(speed.slowness(), 1) << "the usual time has changed back";
}

// A judge whose device has slow memory until the judge waits for it, or for good.
class SlowDevice {
 public:
  explicit SlowDevice(bool of_reference, bool for_good = false) {
    auto fake = std::make_unique<FakeDevice>();
    fake->slowness = [this, of_reference] { return is_slow_ && (is_reference_ || !of_reference) ? 1.12 : 1.0; };
    fake->at_slow_memory = [this, for_good] {
      ++waits;
      is_slow_ = for_good;
    };
    fixture.use(std::move(fake));
    fixture.plan.trials = {.correctness = 1, .warmup = 1, .timed = kTimed};
  }
  Report run() {
    const auto noted = [this](bool is_reference, int& count) {
      return [this, is_reference, &count](FakeTurn& turn) {
        if (turn.command != Command::call) return;
        is_reference_ = is_reference;
        ++count;
      };
    };
    return fixture.run(noted(false, calls), noted(true, references));
  }

  static constexpr std::uint32_t kTimed = 9;
  JudgeFixture fixture;
  int waits = 0, calls = 0, references = 0;

 private:
  bool is_slow_ = true;
  bool is_reference_ = false;
};

TEST(MemorySpeed, calls_with_slow_memory_are_repeated_when_it_is_fast_again) {
  for (const bool for_good : {false, true}) {
    SlowDevice slow(false, for_good);
    const Report report = slow.run();
    ASSERT_TRUE(report.verdict) << report.error;
    EXPECT_EQ(name_of(*report.verdict), VerdictName::passed);
    EXPECT_EQ(slow.waits, 1) << "once";
    EXPECT_EQ(report.samples.submission_ns.size(), SlowDevice::kTimed);
    EXPECT_GE(report.samples.reference_ns.size(), kTimedSamplesMin);
    EXPECT_GE(slow.calls, 2 * static_cast<int>(SlowDevice::kTimed));
  }
}

TEST(MemorySpeed, a_reference_with_slow_memory_is_timed_again) {
  SlowDevice slow(true);
  const Report report = slow.run();
  ASSERT_TRUE(report.verdict) << report.error;
  EXPECT_EQ(slow.waits, 1);
  EXPECT_EQ(report.samples.submission_ns.size(), SlowDevice::kTimed);
  EXPECT_EQ(report.samples.reference_ns.size(), kTimedSamplesMin);
  EXPECT_GE(slow.references, 2 * static_cast<int>(kTimedSamplesMin));
}

}  // namespace
}  // namespace kq::judge
