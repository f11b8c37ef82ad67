// These tests need no GPU: they cover the host's clock, and the errors where CUDA is missing.
#include "gpu_worker/child/runtime/call_clock.h"

#include <unistd.h>

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "gpu_worker/channel/channel.h"
#include "gpu_worker/child/runtime/runtime.h"

namespace kq::runtime {
namespace {

TEST(CallClock, measures_the_time_from_begin_to_complete) {
  const auto page = std::make_unique<channel::Page>();
  page->go = 1;
  kq_begin(page.get());
  ::usleep(2'000);
  EXPECT_EQ(kq_complete(page.get(), 1), 0);
  EXPECT_EQ(page->done, 1u);
  EXPECT_EQ(page->launched, 1u);
  EXPECT_GE(page->event_ns, 2'000'000);
}

// A staging command sends nothing to a GPU, not even the clock's own events.
TEST(CallClock, a_staging_command_is_not_timed) {
  const auto page = std::make_unique<channel::Page>();
  page->command = channel::Command::stage;
  page->go = 1;
  page->event_ns = 77;
  kq_begin(page.get());
  EXPECT_EQ(kq_complete(page.get(), 1), 0);
  EXPECT_EQ(page->done, 1u);
  EXPECT_EQ(page->event_ns, 0);
}

TEST(CallClock, without_a_driver_the_cuda_clock_is_an_error_and_the_host_clock_still_works) {
  char error[200] = "";
  if (kq_clock_use_cuda(error, sizeof error) == 0) GTEST_SKIP() << "skipped: there is a CUDA context here";
  EXPECT_NE(std::string(error), "");
  start_call_clock();
  std::int64_t elapsed_ns = -1;
  EXPECT_TRUE(stop_call_clock());
  EXPECT_TRUE(read_call_clock(elapsed_ns));
  EXPECT_GE(elapsed_ns, 0);
}

}  // namespace
}  // namespace kq::runtime
