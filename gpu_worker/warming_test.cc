#include "gpu_worker/warming.h"

#include <unistd.h>

#include <gtest/gtest.h>

namespace kq {
namespace {

TEST(Warming, what_one_end_says_the_other_reads) {
  auto control = Warming::make();
  ASSERT_TRUE(control);
  const auto judge = Warming::map(Fd(::dup(control->fd())));
  ASSERT_TRUE(judge);
  EXPECT_EQ(judge->process(3), 0);
  control->set(3, 4711);
  EXPECT_EQ(judge->process(3), 4711);
  EXPECT_EQ(judge->process(2), 0);
  const Warming moved = std::move(*control);
  EXPECT_EQ(moved.process(3), 4711);
}

TEST(Warming, the_judge_says_when_nobody_should_begin) {
  auto control = Warming::make();
  ASSERT_TRUE(control);
  auto judge = Warming::map(Fd(::dup(control->fd())));
  ASSERT_TRUE(judge);
  EXPECT_FALSE(control->is_calibrating());
  judge->set_calibrating(true);
  EXPECT_TRUE(control->is_calibrating());
  EXPECT_EQ(control->process(0), 0);
  judge->set_calibrating(false);
  EXPECT_FALSE(control->is_calibrating());
}

TEST(Warming, a_descriptor_that_is_no_page_is_an_error) { EXPECT_FALSE(Warming::map(Fd())); }

}  // namespace
}  // namespace kq
