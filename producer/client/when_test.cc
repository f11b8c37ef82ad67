#include "producer/client/when.h"

#include <gtest/gtest.h>

namespace kq::producer {
namespace {

constexpr std::int64_t kNow = 1'790'000'000'000;  // 2026-09-21T14:13:20Z

TEST(When, a_date_needs_its_zone) {
  EXPECT_EQ(parse_when("2026-11-21T18:00Z", kNow).value(), 1'795'284'000'000);
  EXPECT_EQ(parse_when("2026-11-21T18:00:30Z", kNow).value(), 1'795'284'030'000);
  EXPECT_EQ(parse_when("2026-11-21 19:30:00+01:30", kNow).value(), 1'795'284'000'000);
  EXPECT_EQ(parse_when("2026-11-21T13:00-0500", kNow).value(), 1'795'284'000'000);
  EXPECT_EQ(parse_when("2026-11-21T18:00", kNow).error().message,
            "must be a time such as 2026-11-21T18:00Z or +30m (s, m, h, d), got '2026-11-21T18:00'");
}

TEST(When, a_span_counts_from_now) {
  EXPECT_EQ(parse_when("+0s", kNow).value(), kNow);
  EXPECT_EQ(parse_when("+90s", kNow).value(), kNow + 90'000);
  EXPECT_EQ(parse_when("+30m", kNow).value(), kNow + 1'800'000);
  EXPECT_EQ(parse_when("+2h", kNow).value(), kNow + 7'200'000);
  EXPECT_EQ(parse_when("+1d", kNow).value(), kNow + 86'400'000);
}

TEST(When, an_invalid_time_is_refused) {
  for (const char* wrong : {"", "+", "30m", "+m", "+3", "+-3m", "+3w", "+99999999999s", "tomorrow", "2026-13-01T00:00Z",
                            "2026-02-30T00:00Z", "2026-11-21T24:00Z", "2026-11-21T18:60Z", "2026-11-21T18:00Zx",
                            "-026-11-21T18:00Z", "2026-11-21"}) {
    EXPECT_FALSE(parse_when(wrong, kNow)) << wrong;
  }
  EXPECT_EQ(parse_when("+4000d", kNow).error().message, "must be after 1970 and at most 3660 days ahead, got '+4000d'");
}

TEST(When, a_limit_is_in_seconds) {
  EXPECT_EQ(parse_limit("180").value(), 180'000u);
  EXPECT_EQ(parse_limit("0.5").value(), 500u);
  for (const char* wrong : {"", "0", "-1", "nan", "1e9", "5s"}) EXPECT_FALSE(parse_limit(wrong)) << wrong;
  EXPECT_EQ(parse_limit("5s").error().message, "must be a number of seconds from 0.001 to 86400, got '5s'");
}

TEST(When, is_printed_as_it_is_parsed) {
  EXPECT_EQ(when_text(1'795'284'030'999), "2026-11-21T18:00:30Z");
  EXPECT_EQ(parse_when(when_text(kNow), kNow).value(), kNow);
}

}  // namespace
}  // namespace kq::producer
