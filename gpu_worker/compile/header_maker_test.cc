#include "gpu_worker/compile/header_maker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <semaphore>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/bytes/hash.h"
#include "sys/clock.h"

namespace kq::worker {
namespace {

HeaderOrder order(const std::string& variant) {
  return {.group = sha256("compilers"), .variant = variant, .zygote = nullptr, .arch = "sm_90"};
}

TEST(HeaderMaker, makes_each_prefix_once_and_a_failed_one_never_again) {
  std::vector<std::string> made;
  HeaderMaker maker([&](const HeaderOrder& wanted, std::size_t, const std::stop_token&) {
    made.push_back(wanted.variant);
    return wanted.variant != "bad";
  });
  for (const char* variant : {"good", "bad", "other"}) maker.request(order(variant));
  maker.wait_until_idle();
  maker.request(order("bad"));
  maker.wait_until_idle();
  EXPECT_EQ(made, (std::vector<std::string>{"good", "bad", "other"}));
}

TEST(HeaderMaker, a_prefix_that_a_build_requests_is_made_before_those_ahead) {
  std::vector<std::pair<std::string, bool>> made;
  std::binary_semaphore has_begun(0), may_go_on(0);
  HeaderMaker maker([&](const HeaderOrder& wanted, std::size_t, const std::stop_token&) {
    if (wanted.variant == "first") {
      has_begun.release();
      may_go_on.acquire();
    }
    made.emplace_back(wanted.variant, wanted.is_ahead);
    return true;
  });
  for (const char* variant : {"first", "other", "wanted"}) {
    HeaderOrder early = order(variant);
    early.is_ahead = true;
    maker.request(early);
  }
  while (!has_begun.try_acquire_for(std::chrono::seconds(1))) continue;
  maker.request(order("wanted"));
  may_go_on.release();
  maker.wait_until_idle();
  EXPECT_EQ(made, (std::vector<std::pair<std::string, bool>>{{"first", true}, {"wanted", false}, {"other", true}}));
}

TEST(HeaderMaker, does_not_make_a_build_wait_and_ends_at_once) {
  std::atomic<bool> was_stopped = false;
  std::binary_semaphore has_begun(0);
  {
    HeaderMaker maker([&](const HeaderOrder&, std::size_t, const std::stop_token& stop) {
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

TEST(HeaderMaker, makes_several_prefixes_at_once_in_threads_with_numbers) {
  std::barrier both(2);
  std::mutex mutex;
  std::set<std::size_t> threads;
  HeaderMaker maker(
      [&](const HeaderOrder&, std::size_t thread, const std::stop_token&) {
        both.arrive_and_wait();
        const std::lock_guard lock(mutex);
        threads.insert(thread);
        return true;
      },
      2);
  for (const char* variant : {"a", "b"}) maker.request(order(variant));
  maker.wait_until_idle();
  EXPECT_EQ(threads, (std::set<std::size_t>{0, 1}));
}

BuildTime seconds_left(std::int64_t seconds) {
  return {.end_ms = sys::monotonic_now_ms() + seconds * 1000, .limit_ms = seconds * 1000};
}

TEST(HeaderMaker, few_builds_go_on_without_a_prefix_and_the_others_wait_for_it) {
  std::binary_semaphore may_end(0);
  HeaderMaker maker([&](const HeaderOrder&, std::size_t, const std::stop_token&) {
    may_end.acquire();
    return true;
  });
  const Hash group = sha256("compilers");
  { const HeaderMaker::Turn unknown(maker, group, "a", seconds_left(60)); }
  maker.request(order("a"));
  std::vector<std::unique_ptr<HeaderMaker::Turn>> unaided;
  for (std::size_t i = 0; i < kUnaidedBuildsMax; ++i)
    unaided.push_back(std::make_unique<HeaderMaker::Turn>(maker, group, "a", seconds_left(60)));
  { const HeaderMaker::Turn other(maker, group, "b", seconds_left(60)); }  // this turn makes no prefix
  { const HeaderMaker::Turn late(maker, group, "a", seconds_left(0)); }    // the build has no time left

  std::atomic<int> gone_on = 0;
  const auto wait_for_turn = [&] {
    const HeaderMaker::Turn turn(maker, group, "a", seconds_left(60));
    ++gone_on;
  };
  {
    const std::jthread first(wait_for_turn);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(gone_on, 0);
    unaided.pop_back();
  }
  EXPECT_EQ(gone_on, 1) << "a build without the prefix has ended";
  unaided.push_back(std::make_unique<HeaderMaker::Turn>(maker, group, "a", seconds_left(60)));
  {
    const std::jthread second(wait_for_turn), third(wait_for_turn);
    may_end.release();
  }
  EXPECT_EQ(gone_on, 3) << "the prefix has been made";
}

}  // namespace
}  // namespace kq::worker
