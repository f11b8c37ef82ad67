#include "gpu_worker/judge/timing/concurrent_warm_ups.h"

#include <unistd.h>

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace kq::judge {
namespace {

TEST(Bystanders, are_there_as_long_as_control_says_so) {
  channel::WarmUpPage control = *channel::WarmUpPage::make();
  const Bystanders bystanders(*channel::WarmUpPage::map(sys::Fd(::dup(control.fd()))));
  EXPECT_FALSE(bystanders.any());
  control.set_running(2, true);
  EXPECT_TRUE(bystanders.any());
  control.set_running(2, false);
  EXPECT_FALSE(bystanders.any());
  bystanders.wait();
}

TEST(Bystanders, are_waited_for) {
  channel::WarmUpPage control = *channel::WarmUpPage::make();
  const Bystanders bystanders(*channel::WarmUpPage::map(sys::Fd(::dup(control.fd()))));
  control.set_running(0, true);
  std::thread warm([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    control.set_running(0, false);
  });
  bystanders.wait();
  EXPECT_FALSE(bystanders.any());
  warm.join();
}

}  // namespace
}  // namespace kq::judge
