#include "gpu_worker/channel/warm_up.h"

#include <unistd.h>

#include <gtest/gtest.h>

namespace kq::channel {
namespace {

TEST(Warming, what_one_end_says_the_other_reads) {
  auto control = Warming::make();
  ASSERT_TRUE(control);
  auto judge = Warming::map(sys::Fd(::dup(control->fd())));
  ASSERT_TRUE(judge);
  EXPECT_FALSE(judge->any());
  control->set(3, true);
  EXPECT_TRUE(judge->any());
  const Warming moved = std::move(*control);
  EXPECT_TRUE(moved.any());
  judge->set(3, false);
  EXPECT_FALSE(moved.any());
}

TEST(Warming, the_judge_says_when_nobody_should_begin) {
  auto control = Warming::make();
  ASSERT_TRUE(control);
  auto judge = Warming::map(sys::Fd(::dup(control->fd())));
  ASSERT_TRUE(judge);
  EXPECT_FALSE(control->is_preparing());
  {
    const Preparing preparing(&*judge);
    const Preparing nobody(nullptr);
    EXPECT_TRUE(control->is_preparing());
    EXPECT_FALSE(control->any());
  }
  EXPECT_FALSE(control->is_preparing());
}

TEST(Warming, a_descriptor_that_is_no_page_is_an_error) {
  EXPECT_FALSE(Warming::map(sys::Fd()));
}

}  // namespace
}  // namespace kq::channel
