#include "gpu_worker/build/header_maker.h"

#include <atomic>
#include <condition_variable>
#include <thread>

#include <gtest/gtest.h>

namespace kq {
namespace {

const Hash kOne = sha256("one");
const Hash kOther = sha256("other");

// Headers that are made when the test says so, or when it is told to stop.
struct Workshop {
  HeaderMaker::Make make(const Expected<bool>& result = true) {
    return [this, result](const std::stop_token& stop) -> Expected<bool> {
      ++begun;
      std::unique_lock lock(mutex);
      changed.wait(lock, stop, [&] { return is_open; });
      if (stop.stop_requested()) return our_fault("stopped");
      return result;
    };
  }
  void open() {
    const std::lock_guard lock(mutex);
    is_open = true;
    changed.notify_all();
  }
  // Whether it is begun, once nothing else is being made.
  bool begins(HeaderMaker& maker, const Hash& header, const Expected<bool>& result = true) {
    while (maker.is_making()) std::this_thread::yield();
    const int before = begun;
    maker.want(header, make(result));
    while (maker.is_making() && begun == before) std::this_thread::yield();
    return begun > before;
  }

  std::atomic<int> begun = 0;
  std::mutex mutex;
  std::condition_variable_any changed;
  bool is_open = false;
};

TEST(HeaderMaker, nobody_waits_and_one_is_made_at_a_time) {
  Workshop workshop;
  HeaderMaker maker;
  EXPECT_TRUE(workshop.begins(maker, kOne));
  maker.want(kOne, workshop.make());
  maker.want(kOther, workshop.make());
  EXPECT_EQ(workshop.begun, 1);
  workshop.open();
  EXPECT_TRUE(workshop.begins(maker, kOther));
  EXPECT_EQ(workshop.begun, 2);
}

TEST(HeaderMaker, what_cannot_be_made_is_not_tried_again_and_what_failed_by_accident_is) {
  Workshop workshop;
  workshop.open();
  HeaderMaker maker;
  EXPECT_TRUE(workshop.begins(maker, kOne, false));
  EXPECT_TRUE(workshop.begins(maker, kOther, our_fault("the disk was full")));
  EXPECT_FALSE(workshop.begins(maker, kOne));
  EXPECT_TRUE(workshop.begins(maker, kOther));
}

TEST(HeaderMaker, its_end_stops_what_it_is_at) {
  Workshop workshop;
  HeaderMaker maker;
  EXPECT_TRUE(workshop.begins(maker, kOne));
}

}  // namespace
}  // namespace kq
