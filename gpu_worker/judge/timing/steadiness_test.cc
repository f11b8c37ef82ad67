#include "gpu_worker/judge/timing/steadiness.h"

#include <gtest/gtest.h>

namespace kq::judge {
namespace {

bool is_steady(const std::vector<std::int64_t>& intervals_ns) {
  Steadiness steadiness;
  for (const std::int64_t interval_ns : intervals_ns) steadiness.add(interval_ns);
  return steadiness.is_steady();
}

TEST(Steadiness, needs_two_groups_of_calls) {
  EXPECT_FALSE(is_steady({}));
  EXPECT_FALSE(is_steady({100, 100, 100, 100, 100, 100, 100}));
  EXPECT_TRUE(is_steady({100, 100, 100, 100, 100, 100, 100, 100}));
}

TEST(Steadiness, is_missing_while_calls_become_faster) {
  EXPECT_FALSE(is_steady({273, 162, 148, 156, 123, 113, 107, 100}));
  EXPECT_FALSE(is_steady({273, 162, 148, 156, 123, 113, 107, 100, 101, 99, 100, 100}));
  EXPECT_TRUE(is_steady({273, 162, 148, 156, 123, 113, 107, 100, 101, 99, 100, 100, 99, 100, 101, 100}));
  EXPECT_TRUE(is_steady({100, 101, 99, 100, 97, 500, 98, 99})) << "one long call does not count";
  EXPECT_TRUE(is_steady({100, 100, 100, 100, 140, 140, 140, 140})) << "slower calls are as fast as it gets";
}

}  // namespace
}  // namespace kq::judge
