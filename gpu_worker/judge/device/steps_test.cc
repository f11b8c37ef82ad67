#include "gpu_worker/judge/device/steps.h"

#include <string>

#include <gtest/gtest.h>

#include "gpu_worker/judge/device/device.h"

namespace kq::judge {
namespace {

using Steps = std::vector<std::string>;

// Records the steps that it takes; one of them may fail.
class RecordingDevice : public Device {
 public:
  Steps steps;
  std::string failing;

  const DeviceInfo& info() const override { return info_; }
  Expected<std::unique_ptr<Memory>> make_window(std::uint64_t) override { return nullptr; }
  Expected<std::unique_ptr<Memory>> make_private(std::uint64_t) override { return nullptr; }
  Expected<void> copy(const Memory&, std::uint64_t, const Memory&, std::uint64_t, std::uint64_t) override { return {}; }
  Expected<void> read(std::span<std::byte>, const Memory&, std::uint64_t) override { return {}; }
  Expected<void> fill(const Memory&, std::uint64_t, std::uint64_t, std::uint32_t) override { return {}; }
  std::int64_t occupancy_gap_ns() override { return 0; }

 private:
  void begin_copies() override { steps.push_back("begin_copies"); }
  Expected<void> finish_copies() override { return record("finish_copies"); }
  Expected<void> send_comparisons(std::span<const DeviceComparison>) override { return record("send"); }
  Expected<std::vector<std::optional<Agreement>>> receive_comparisons() override {
    KQ_TRY(record("receive"));
    return std::vector<std::optional<Agreement>>(2);
  }
  Expected<void> close_gate() override { return record("close_gate"); }
  Expected<void> start_spin() override { return record("start_spin"); }
  void stop_spin() override { steps.push_back("stop_spin"); }
  Expected<void> run_probe() override { return record("probe"); }
  Expected<void> settle() override { return record("settle"); }

  Expected<void> record(const char* step) {
    steps.push_back(step);
    return failing == step ? Expected<void>(our_fault(step)) : Expected<void>();
  }

  DeviceInfo info_{};
};

class StepsTest : public testing::Test {
 protected:
  RecordingDevice device_;
};

TEST_F(StepsTest, a_queue_a_spin_and_a_probe_run_in_order_and_once) {
  {
    auto queue = device_.open_queue();
    ASSERT_TRUE(queue);
    auto spin = std::move(*queue).start_spin();
    ASSERT_TRUE(spin);
    spin->stop();
    Probe probe = device_.probe();
    EXPECT_TRUE(probe.result());
    EXPECT_TRUE(std::move(probe).settle());
  }
  EXPECT_EQ(device_.steps, (Steps{"close_gate", "start_spin", "stop_spin", "probe", "settle"}));
}

TEST_F(StepsTest, an_abandoned_step_is_closed) {
  ASSERT_TRUE(device_.open_queue());
  EXPECT_EQ(device_.steps, (Steps{"close_gate", "stop_spin"}));
  device_.steps.clear();
  ASSERT_TRUE(std::move(*device_.open_queue()).start_spin());
  EXPECT_EQ(device_.steps, (Steps{"close_gate", "start_spin", "stop_spin"}));
  device_.steps.clear();
  (void)device_.probe();
  EXPECT_EQ(device_.steps, (Steps{"probe", "settle"}));
  device_.steps.clear();
  (void)device_.batch_copies();
  EXPECT_EQ(device_.steps, (Steps{"begin_copies", "finish_copies"}));
  device_.steps.clear();
  ASSERT_TRUE(device_.start_comparisons({}));
  EXPECT_EQ(device_.steps, (Steps{"send", "receive"}));
}

TEST_F(StepsTest, a_step_that_fails_is_followed_by_none) {
  device_.failing = "close_gate";
  EXPECT_FALSE(device_.open_queue());
  EXPECT_EQ(device_.steps, (Steps{"close_gate"}));
  device_.steps.clear();
  device_.failing = "start_spin";
  EXPECT_FALSE(std::move(*device_.open_queue()).start_spin());
  EXPECT_EQ(device_.steps, (Steps{"close_gate", "start_spin"}));
  device_.steps.clear();
  device_.failing = "send";
  EXPECT_FALSE(device_.start_comparisons({}));
  EXPECT_EQ(device_.steps, (Steps{"send"}));
  device_.steps.clear();
  device_.failing = "probe";
  EXPECT_FALSE(device_.check_context());
  EXPECT_EQ(device_.steps, (Steps{"probe"}));
}

TEST_F(StepsTest, a_failed_probe_can_be_settled) {
  device_.failing = "probe";
  Probe probe = device_.probe();
  EXPECT_FALSE(probe.result());
  EXPECT_TRUE(std::move(probe).settle());
  EXPECT_EQ(device_.steps, (Steps{"probe", "settle"}));
}

TEST_F(StepsTest, comparisons_have_a_result_each) {
  const std::vector<DeviceComparison> comparisons(2);
  EXPECT_EQ(device_.start_comparisons(comparisons)->count(), 2u);
  EXPECT_EQ(device_.compare(comparisons)->size(), 2u);
  device_.failing = "receive";
  EXPECT_FALSE(device_.compare(comparisons));
}

}  // namespace
}  // namespace kq::judge
