#include "tools/report/boards/board_feed.h"

#include <gmock/gmock.h>

#include "producer/client/json.h"
#include "tools/testing.h"

namespace kq::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<Board> boards() {
  BoardCollector collector;
  for (Sequence seq : {Sequence{1}, Sequence{2}}) {
    RunRow row = passed_row("<relu>/" + std::to_string(seq), 3'000 / static_cast<double>(seq), 6'000, seq);
    row.result->samples.submission_ns = {1'000};
    row.job.finished_at_ms += static_cast<std::int64_t>(seq) * 1000;
    collector.add(row);
  }
  return collector.finish();
}

TEST(BoardFeed, the_newest_record_is_first_and_says_what_it_beat) {
  const std::string feed = boards_feed(boards(), "https://example.org/kq", "2026-01-01T00:00:00Z");
  const std::size_t newest =
      feed.find("&lt;relu&gt;/2 is the fastest &lt;relu&gt; on Test CPU: 1.50 us ±1%, 4.00x ±1% of the reference");
  ASSERT_NE(newest, std::string::npos) << feed;
  EXPECT_LT(newest, feed.find("The first entry of the board."));
  EXPECT_THAT(feed, HasSubstr("Before: &lt;relu&gt;/1 with 3.00 us ±1%, 2.00x of this time."));
  EXPECT_THAT(feed, HasSubstr("href=\"https://example.org/kq/boards/relu"));
  EXPECT_THAT(feed, Not(HasSubstr("<relu>")));
}

TEST(BoardFeed, a_feed_without_records_has_a_time) {
  EXPECT_THAT(boards_feed({}, "", "2026-01-01T00:00:00Z"), HasSubstr("<updated>2026-01-01T00:00:00Z</updated>"));
}

TEST(BoardFeed, json_has_entries_with_ranks_and_the_history) {
  const std::string json = boards_json(boards(), "now");
  ASSERT_TRUE(producer::parse_json(json)) << json;
  EXPECT_THAT(json, HasSubstr("\"schema\": \"kq.boards/1\""));
  EXPECT_THAT(json, HasSubstr("\"entry_count\": 2"));
  EXPECT_THAT(json, HasSubstr("\"rank\": 2"));
  EXPECT_THAT(json, HasSubstr("\"tie_count\": 0, \"noise_us\": 0.015"));
  EXPECT_THAT(json, HasSubstr("\"run_count\": 1, \"sample_count\": 20, \"noisy\": false"));
  EXPECT_THAT(json, HasSubstr("\"runs\": [\"r1\"]"));
}

}  // namespace
}  // namespace kq::tools
