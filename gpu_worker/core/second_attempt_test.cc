#include "gpu_worker/core/second_attempt.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace kq::worker {
namespace {

Verdict with_reason(VerdictName name, const char* reason) {
  return Ended{
      name,
      {.stage = Stage::run, .reason = reason, .message = {}, .hint = {}, .rule = {}, .place = {}, .mismatch = {}}};
}

TEST(is_killed_externally, is_true_of_a_kill_that_is_not_for_a_limit_of_memory) {
  EXPECT_TRUE(is_killed_externally(SIGKILL));
  EXPECT_FALSE(is_killed_externally(SIGKILL | kKilledForMemory));
  EXPECT_FALSE(is_killed_externally(SIGSEGV));
  EXPECT_FALSE(is_killed_externally(0));
}

TEST(is_death_of_child, is_true_of_what_a_killed_child_ends_as) {
  EXPECT_TRUE(is_death_of_child(with_reason(VerdictName::crashed, "")));
  EXPECT_TRUE(is_death_of_child(with_reason(VerdictName::problem_invalid, "")));
  EXPECT_FALSE(is_death_of_child(with_reason(VerdictName::wrong_answer, "value")));
}

TEST(is_short_of_device_memory, is_true_of_the_memory_that_other_children_may_have) {
  EXPECT_TRUE(is_short_of_device_memory(with_reason(VerdictName::out_of_memory, "gpu"), DeviceKind::cuda));
  EXPECT_TRUE(is_short_of_device_memory(with_reason(VerdictName::too_large, "gpu"), DeviceKind::cuda));
  EXPECT_TRUE(is_short_of_device_memory(with_reason(VerdictName::too_large, "host"), DeviceKind::cpu));
  EXPECT_FALSE(is_short_of_device_memory(with_reason(VerdictName::too_large, ""), DeviceKind::cuda));
  EXPECT_FALSE(is_short_of_device_memory(with_reason(VerdictName::too_large, "host"), DeviceKind::cuda));
  EXPECT_FALSE(is_short_of_device_memory(with_reason(VerdictName::out_of_memory, "host"), DeviceKind::cpu));
  EXPECT_FALSE(is_short_of_device_memory(with_reason(VerdictName::crashed, "gpu"), DeviceKind::cuda));
}

}  // namespace
}  // namespace kq::worker
