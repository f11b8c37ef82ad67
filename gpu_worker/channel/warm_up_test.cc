#include "gpu_worker/channel/warm_up.h"

#include <unistd.h>

#include <gtest/gtest.h>

namespace kq::channel {
namespace {

TEST(WarmUpPage, both_ends_see_the_running_warm_ups) {
  auto control = WarmUpPage::make();
  ASSERT_TRUE(control);
  auto judge = WarmUpPage::map(sys::Fd(::dup(control->fd())));
  ASSERT_TRUE(judge);
  EXPECT_FALSE(judge->any_running());
  control->set_running(3, true);
  EXPECT_TRUE(judge->any_running());
  const WarmUpPage moved = std::move(*control);
  EXPECT_TRUE(moved.any_running());
  judge->set_running(3, false);
  EXPECT_FALSE(moved.any_running());
}

TEST(WarmUpPage, a_mark_of_the_judge_holds_for_a_scope) {
  auto control = WarmUpPage::make();
  ASSERT_TRUE(control);
  auto judge = WarmUpPage::map(sys::Fd(::dup(control->fd())));
  ASSERT_TRUE(judge);
  EXPECT_TRUE(!control->is_preparing() && control->is_untimed());
  {
    const ScopedMark preparing(&*judge, &WarmUpPage::set_preparing, true);
    const ScopedMark attempt(&*judge, &WarmUpPage::set_untimed, false);
    const ScopedMark nothing(nullptr, &WarmUpPage::set_untimed, true);
    EXPECT_TRUE(control->is_preparing() && !control->is_untimed());
    {
      const ScopedMark load(&*judge, &WarmUpPage::set_untimed, true);
      EXPECT_TRUE(control->is_untimed());
    }
    EXPECT_FALSE(control->is_untimed());
  }
  EXPECT_TRUE(!control->is_preparing() && control->is_untimed());
}

TEST(WarmUpPage, counts_parts_that_have_begun) {
  auto control = WarmUpPage::make();
  ASSERT_TRUE(control);
  const std::uint32_t before = control->begun();
  control->set_running(1, true);
  control->set_running(1, false);
  EXPECT_FALSE(control->any_running());
  EXPECT_NE(control->begun(), before);
}

TEST(WarmUpPage, a_descriptor_that_cannot_be_mapped_is_an_error) {
  EXPECT_FALSE(WarmUpPage::map(sys::Fd()));
}

}  // namespace
}  // namespace kq::channel
