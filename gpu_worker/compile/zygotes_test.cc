#include "gpu_worker/compile/zygotes.h"

#include <gtest/gtest.h>

#include "gpu_worker/lane/lane_of_tests.h"

namespace kq::worker {
namespace {

TEST(BuildZygotesTest, each_kind_has_one_and_a_dead_one_is_started_again) {
  BuildZygotes zygotes(LaneOfTests::options().zygote);
  const auto gpu = zygotes.get(DeviceKind::cuda);
  ASSERT_TRUE(gpu) << gpu.error().message;
  EXPECT_EQ(*zygotes.get(DeviceKind::cuda), *gpu);
  const auto cpu = zygotes.get(DeviceKind::cpu);
  ASSERT_TRUE(cpu) << cpu.error().message;
  EXPECT_NE(*cpu, *gpu);
  EXPECT_EQ((*cpu)->compilers(), (*gpu)->compilers()) << "what one builds must match on the other's machine";
  EXPECT_NE((*cpu)->compilers().find("g++"), std::string::npos) << (*cpu)->compilers();
  (*gpu)->stop();
  while ((*gpu)->alive()) std::this_thread::yield();
  const auto next = zygotes.get(DeviceKind::cuda);
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_NE(*next, *gpu);
}

}  // namespace
}  // namespace kq::worker
