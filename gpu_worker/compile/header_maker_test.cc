#include "gpu_worker/compile/header_maker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <semaphore>
#include <string>
#include <vector>

#include "core/bytes/hash.h"

namespace kq::worker {
namespace {

HeaderOrder order(const std::string& variant) {
  return {.group = sha256("compilers"), .variant = variant, .zygote = nullptr, .arch = "sm_90"};
}

TEST(HeaderMaker, makes_each_prefix_once_and_a_failed_one_never_again) {
  std::vector<std::string> made;
  HeaderMaker maker([&](const HeaderOrder& wanted, const std::stop_token&) {
    made.push_back(wanted.variant);
    return wanted.variant != "bad";
  });
  for (const char* variant : {"good", "bad", "other"}) maker.request(order(variant));
  maker.wait_until_idle();
  maker.request(order("bad"));
  maker.wait_until_idle();
  EXPECT_EQ(made, (std::vector<std::string>{"good", "bad", "other"}));
}

TEST(HeaderMaker, a_build_that_waits_makes_a_prefix_urgent) {
  std::vector<bool> ahead;
  std::binary_semaphore may_go_on(0);
  HeaderMaker maker([&](const HeaderOrder& wanted, const std::stop_token&) {
    if (wanted.variant == "first") may_go_on.acquire();
    ahead.push_back(wanted.is_ahead);
    return true;
  });
  for (const char* variant : {"first", "wanted", "other"}) {
    HeaderOrder early = order(variant);
    early.is_ahead = true;
    maker.request(early);
  }
  maker.request(order("wanted"));
  may_go_on.release();
  maker.wait_until_idle();
  EXPECT_EQ(ahead, (std::vector<bool>{true, false, true}));
}

TEST(HeaderMaker, does_not_make_a_build_wait_and_ends_at_once) {
  std::atomic<bool> was_stopped = false;
  std::binary_semaphore has_begun(0);
  {
    HeaderMaker maker([&](const HeaderOrder&, const std::stop_token& stop) {
      has_begun.release();
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any().wait(lock, stop, [] { return false; });
      was_stopped = stop.stop_requested();
      return false;
    });
    for (const char* variant : {"a", "a", "b"}) maker.request(order(variant));
    has_begun.acquire();
  }
  EXPECT_TRUE(was_stopped);
}

}  // namespace
}  // namespace kq::worker
