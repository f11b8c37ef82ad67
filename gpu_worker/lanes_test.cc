#include "gpu_worker/lanes.h"

#include <gtest/gtest.h>

#include "gpu_worker/lane/lane_of_tests.h"

namespace kq::worker {
namespace {

LaneOptions working() {
  LaneOptions options = LaneOfTests::options();
  options.scratch = LaneOfTests::root() / "one-of-several";
  return options;
}

LaneOptions broken(int index) {
  LaneOptions options = working();
  options.index = index;
  options.judge_program = "/nonsense/kq-judge";
  return options;
}

TEST(Lanes, one_device_that_does_not_open_does_not_keep_the_others_from_working) {
  const auto lanes = open_lanes({broken(1), working(), broken(2)});
  ASSERT_TRUE(lanes) << lanes.error().message;
  ASSERT_EQ(lanes->open.size(), 1u);
  EXPECT_TRUE(zygote_of(lanes->open));
  ASSERT_EQ(lanes->closed.size(), 2u);
  EXPECT_EQ(lanes->closed[0], "cpu:1 did not open: the judge did not start: /nonsense/kq-judge");
  EXPECT_TRUE(lanes->closed[1].starts_with("cpu:2"));
}

TEST(Lanes, where_none_opens_the_first_says_why) {
  const auto lanes = open_lanes({broken(1), broken(2)});
  ASSERT_FALSE(lanes);
  EXPECT_EQ(lanes.error().message, "the judge did not start: /nonsense/kq-judge");
  EXPECT_FALSE(open_lanes({broken(0)}));
}

}  // namespace
}  // namespace kq::worker
