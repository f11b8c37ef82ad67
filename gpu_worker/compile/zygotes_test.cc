#include "gpu_worker/compile/zygotes.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <thread>

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

TEST(BuildZygotesTest, a_start_is_given_up_when_the_worker_is_told_to_stop) {
  ZygoteOptions options = TestLane::options().zygote;
  options.gives_up = [] { return true; };
  const auto zygote = BuildZygotes(options).get(DeviceKind::cpu);
  ASSERT_FALSE(zygote);
  EXPECT_EQ(zygote.error().message, "the worker is told to stop before its Python has started");
}

// The worker handles its signals without SA_RESTART, so that a signal interrupts the wait for the zygote.
TEST(BuildZygotesTest, a_signal_that_does_not_stop_the_worker_does_not_end_a_start) {
  struct sigaction handled {
  }, former{};
  handled.sa_handler = [](int) {};
  ::sigaction(SIGUSR2, &handled, &former);
  const pthread_t starter = ::pthread_self();
  std::jthread signals([starter](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      ::pthread_kill(starter, SIGUSR2);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  const auto zygote = Zygote::start(TestLane::options().zygote);
  signals = {};
  ::sigaction(SIGUSR2, &former, nullptr);
  ASSERT_TRUE(zygote) << zygote.error().message;
}

}  // namespace
}  // namespace kq::worker
