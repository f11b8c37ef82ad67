#include "gpu_worker/build/header_maker.h"

#include <atomic>
#include <condition_variable>

#include <gtest/gtest.h>

namespace kq {
namespace {

const Hash kOne = sha256("one");
const Hash kOther = sha256("other");

// Headers that are made when the test says so, or when it is told to stop.
struct Workshop {
  HeaderMaker::Make make(bool is_possible = true) {
    return [this, is_possible](const std::stop_token& stop) -> Expected<void> {
      ++begun;
      std::unique_lock lock(mutex);
      changed.wait(lock, stop, [&] { return is_open; });
      if (stop.stop_requested()) return our_fault("stopped");
      if (!is_possible) return our_fault("it cannot be made");
      return {};
    };
  }
  void open() {
    const std::lock_guard lock(mutex);
    is_open = true;
    changed.notify_all();
  }
  // Asks until it is begun: what was made before may still be ending.
  void begin(HeaderMaker& maker, const Hash& header, bool is_possible = true) {
    for (const int before = begun; begun == before;) maker.want(header, make(is_possible));
  }

  std::atomic<int> begun = 0;
  std::mutex mutex;
  std::condition_variable_any changed;
  bool is_open = false;
};

TEST(HeaderMaker, nobody_waits_and_one_is_made_at_a_time) {
  Workshop workshop;
  HeaderMaker maker;
  workshop.begin(maker, kOne);
  maker.want(kOne, workshop.make());
  maker.want(kOther, workshop.make());
  EXPECT_EQ(workshop.begun, 1);
  workshop.open();
  workshop.begin(maker, kOther);
  EXPECT_EQ(workshop.begun, 2);
}

TEST(HeaderMaker, what_cannot_be_made_is_not_tried_again) {
  Workshop workshop;
  workshop.open();
  HeaderMaker maker;
  workshop.begin(maker, kOne, false);
  workshop.begin(maker, kOther);  // once the first is known to have failed
  const int begun = workshop.begun;
  for (int i = 0; i < 100; ++i) maker.want(kOne, workshop.make());
  EXPECT_EQ(workshop.begun, begun);
}

TEST(HeaderMaker, its_end_stops_what_it_is_at) {
  Workshop workshop;
  HeaderMaker maker;
  workshop.begin(maker, kOne);
}

}  // namespace
}  // namespace kq
