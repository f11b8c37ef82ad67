#include "gpu_worker/compile/zygotes.h"

#include <gtest/gtest.h>

#include "gpu_worker/lane/test_lane.h"

namespace kq::worker {
namespace {

TEST(BuildZygotesTest, each_kind_has_one_zygote_and_a_dead_one_is_replaced) {
  BuildZygotes zygotes(TestLane::options().zygote);
  const auto gpu = zygotes.get(DeviceKind::cuda);
  ASSERT_TRUE(gpu) << gpu.error().message;
  EXPECT_EQ(*zygotes.get(DeviceKind::cuda), *gpu);
  const auto cpu = zygotes.get(DeviceKind::cpu);
  ASSERT_TRUE(cpu) << cpu.error().message;
  EXPECT_NE(*cpu, *gpu);
  EXPECT_EQ((*cpu)->compilers(), (*gpu)->compilers()) << "builds of one must be valid on the machine of the other";
  EXPECT_NE((*cpu)->compilers().find("g++"), std::string::npos) << (*cpu)->compilers();
  (*gpu)->stop();
  while ((*gpu)->alive()) std::this_thread::yield();
  const auto next = zygotes.get(DeviceKind::cuda);
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_NE(*next, *gpu);
}

}  // namespace
}  // namespace kq::worker
