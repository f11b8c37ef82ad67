#include "broker/standby/lease_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "store/temporary_directory.h"

namespace kq::broker {
namespace {

using testing::HasSubstr;

class LeaseFileTest : public testing::Test {
 protected:
  std::unique_ptr<HeldLease> take(std::uint64_t epoch, const std::string& holder,
                                  const std::optional<LeaseRecord>& before) {
    auto taken = HeldLease::take(options_, before, {.epoch = epoch, .holder = holder, .url = "ipc:///b"});
    EXPECT_TRUE(taken) << (taken ? "" : taken.error().message);
    return std::move(*taken);
  }
  LeaseRecord record() const { return **read_lease(options_.path); }
  static void pause(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

  store::TemporaryDirectory directory_;
  HeldLease::Options options_{.path = directory_.path() + "/lease", .takeover_ms = 4'000, .stuck_ms = 30'000};
};

TEST_F(LeaseFileTest, the_holder_renews_it_and_releases_it_at_its_end) {
  EXPECT_FALSE(*read_lease(options_.path));
  auto lease = take(3, "a:/s", std::nullopt);
  ASSERT_NE(lease, nullptr);
  LeaseWatch watch(options_.takeover_ms);
  std::int64_t now_ms = 0;
  for (int renewal = 0; renewal < 4; ++renewal, now_ms += options_.takeover_ms - 1) {
    const std::uint64_t beat = record().beat;
    for (int i = 0; i < 3'000 && record().beat == beat; ++i) pause(10);
    EXPECT_FALSE(watch.is_over(record(), now_ms)) << renewal;
    EXPECT_TRUE(lease->is_valid());
  }
  ASSERT_TRUE(lease->set_standby("b:/s"));
  EXPECT_EQ(record().standby, "b:/s");
  lease.reset();
  EXPECT_TRUE(record().is_released);
  EXPECT_TRUE(watch.is_over(record(), now_ms));
}

TEST_F(LeaseFileTest, one_that_is_not_renewed_is_over_after_the_takeover_time) {
  LeaseWatch watch(1'000);
  const LeaseRecord record{.epoch = 1, .beat = 7, .holder = "a"};
  EXPECT_FALSE(watch.is_over(record, 5'000));
  EXPECT_FALSE(watch.is_over(record, 5'999));
  EXPECT_TRUE(watch.is_over(record, 6'000));
}

TEST_F(LeaseFileTest, a_holder_that_lost_it_stays_without_it) {
  auto first = take(1, "a:/s", std::nullopt);
  auto second = take(2, "b:/s", record());
  ASSERT_NE(second, nullptr);
  for (int i = 0; i < 3'000 && first->is_valid(); ++i) pause(10);
  EXPECT_FALSE(first->is_valid());
  EXPECT_FALSE(first->set_standby("c:/s"));
  first.reset();
  EXPECT_EQ(record().epoch, 2) << "the loser does not release it";
  EXPECT_FALSE(record().is_released);
}

TEST_F(LeaseFileTest, a_late_write_of_an_earlier_holder_does_not_last) {
  auto first = take(1, "a:/s", std::nullopt);
  std::ostringstream old;
  old << std::ifstream(options_.path).rdbuf();
  first.reset();
  const auto second = take(2, "b:/s", record());
  ASSERT_NE(second, nullptr);
  std::ofstream(options_.path) << old.str();
  for (int i = 0; i < 3'000 && record().epoch != 2; ++i) pause(10);
  EXPECT_EQ(record().epoch, 2);
  EXPECT_TRUE(second->is_valid());
}

TEST_F(LeaseFileTest, only_one_of_two_takes_it) {
  auto lease = take(1, "a:/s", std::nullopt);
  EXPECT_EQ(take(1, "b:/s", std::nullopt), nullptr);
}

TEST_F(LeaseFileTest, a_loop_that_hangs_loses_it) {
  options_.stuck_ms = 100;
  const auto lease = take(1, "a:/s", std::nullopt);
  for (int i = 0; i < 3'000 && lease->is_valid(); ++i) pause(10);
  EXPECT_FALSE(lease->is_valid());
}

TEST_F(LeaseFileTest, a_file_of_something_else_is_refused) {
  std::ofstream(options_.path) << "shopping list\n";
  const auto read = read_lease(options_.path);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("it is not a lease of kq"));
}

}  // namespace
}  // namespace kq::broker
