#include "gpu_worker/lanes.h"

#include <gtest/gtest.h>

#include "gpu_worker/lane/test_lane.h"

namespace kq::worker {
namespace {

LaneOptions working() {
  LaneOptions options = TestLane::options();
  options.scratch = TestLane::root() / "one-of-several";
  return options;
}

LaneOptions broken(int index) {
  LaneOptions options = working();
  options.index = index;
  options.judge_program = "/nonsense/kq-judge";
  return options;
}

TEST(Lanes, a_device_that_cannot_be_opened_is_left_out) {
  const auto lanes = open_lanes({broken(1), working(), broken(2)});
  ASSERT_TRUE(lanes) << lanes.error().message;
  ASSERT_EQ(lanes->open.size(), 1u);
  EXPECT_TRUE(zygote_of(lanes->open));
  ASSERT_EQ(lanes->unopened.size(), 2u);
  EXPECT_EQ(lanes->unopened[0], "cpu:1 did not open: the judge did not start: /nonsense/kq-judge");
  EXPECT_TRUE(lanes->unopened[1].starts_with("cpu:2"));
}

TEST(Lanes, a_lane_counts_its_further_devices) {
  LaneOptions options = working();
  options.further_indices = {1, 2};
  const auto lanes = open_lanes({options});
  ASSERT_TRUE(lanes) << lanes.error().message;
  EXPECT_EQ(lanes->open[0]->device().device_count, 3u);
  options.judge_program = "/nonsense/kq-judge";
  EXPECT_TRUE(open_lanes({options, working()})->unopened[0].starts_with("cpu:0+1+2 did not open: "));
}

TEST(Lanes, without_any_lane_the_first_error_is_returned) {
  const auto lanes = open_lanes({broken(1), broken(2)});
  ASSERT_FALSE(lanes);
  EXPECT_EQ(lanes.error().message, "the judge did not start: /nonsense/kq-judge");
  EXPECT_FALSE(open_lanes({broken(0)}));
}

}  // namespace
}  // namespace kq::worker
