#include "tools/views/run_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

namespace kq::tools {
namespace {

constexpr std::size_t kForEver = 1'000'000;
const RunQuery kFromTheStart{.run = "r1", .after_label = "", .limit = 1};

// Pages of one row each, labelled by their number from 0; after `pages_n` of them, or an Error instead of the last.
class Numbered final : public Source {
 public:
  explicit Numbered(std::size_t pages_n, bool fails = false) : pages_n_(pages_n), fails_(fails) {}

  Expected<RunReply> run_page(const RunQuery& query) override {
    const std::size_t i = query.after_label.empty() ? 0 : std::stoul(query.after_label) + 1;
    ++asked_n;
    if (fails_ && i + 1 == pages_n_) return our_fault("the disk is gone");
    RunReply reply{.rows = std::vector<RunRow>(1), .more = i + 1 < pages_n_};
    reply.rows[0].entry.submission.label = std::to_string(i);
    return reply;
  }
  Expected<BoardReply> board_page(const BoardQuery&) override { return BoardReply{}; }

  std::atomic<std::size_t> asked_n = 0;

 private:
  const std::size_t pages_n_;
  const bool fails_;
};

TEST(run_pages, pages_come_in_their_order) {
  Numbered source(20);
  RunPages pages(source, kFromTheStart);
  RunReply page;
  for (std::size_t i = 0; i < 20; ++i) {
    Expected<RunReply> next = pages.next(std::move(page));
    ASSERT_TRUE(next) << next.error().message;
    ASSERT_EQ(next->rows.size(), 1u);
    EXPECT_EQ(next->rows[0].entry.submission.label, std::to_string(i));
    EXPECT_EQ(next->more, i < 19);
    page = std::move(*next);
  }
}

TEST(run_pages, an_error_comes_in_its_place) {
  Numbered source(3, true);
  RunPages pages(source, kFromTheStart);
  EXPECT_TRUE(pages.next({}));
  EXPECT_TRUE(pages.next({}));
  const auto failed = pages.next({});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "the disk is gone");
}

TEST(run_pages, no_more_are_read_ahead_than_the_limit) {
  Numbered source(kForEver);
  {
    RunPages pages(source, kFromTheStart);
    for (std::size_t taken_n = 1; taken_n <= 10; ++taken_n) {
      EXPECT_TRUE(pages.next({}));
      EXPECT_LE(source.asked_n, taken_n + kPagesAheadMax);
    }
  }
  EXPECT_LE(source.asked_n, 10 + kPagesAheadMax);
}

TEST(run_pages, whoever_wants_no_more_waits_for_no_more) {
  Numbered source(kForEver);
  { const RunPages pages(source, kFromTheStart); }
  EXPECT_LE(source.asked_n, kPagesAheadMax);
}

}  // namespace
}  // namespace kq::tools
