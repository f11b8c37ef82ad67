#include "tools/views/run_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

namespace kq::tools {
namespace {

constexpr std::size_t kForEver = 1'000'000;
const RunQuery kFromTheStart{.run = "r1", .after_label = "", .limit = 1};

// Pages of one row each, labelled by their number from 0; after `page_count` of them, or an Error instead of the last.
class NumberedPages final : public Source {
 public:
  explicit NumberedPages(std::size_t page_count, bool fails = false) : page_count_(page_count), fails_(fails) {}

  Expected<RunReply> run_page(const RunQuery& query) override {
    const std::size_t i = query.after_label.empty() ? 0 : std::stoul(query.after_label) + 1;
    ++request_count;
    if (fails_ && i + 1 == page_count_) return our_fault("the disk is gone");
    RunReply reply{.rows = std::vector<RunRow>(1), .more = i + 1 < page_count_};
    reply.rows[0].entry.submission.label = std::to_string(i);
    return reply;
  }
  Expected<BoardReply> board_page(const BoardQuery&) override { return BoardReply{}; }

  std::atomic<std::size_t> request_count = 0;

 private:
  const std::size_t page_count_;
  const bool fails_;
};

TEST(run_pages, pages_are_returned_in_order) {
  NumberedPages source(20);
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

TEST(run_pages, an_error_is_returned_in_its_place) {
  NumberedPages source(3, true);
  RunPages pages(source, kFromTheStart);
  EXPECT_TRUE(pages.next({}));
  EXPECT_TRUE(pages.next({}));
  const auto failed = pages.next({});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "the disk is gone");
}

TEST(run_pages, no_more_are_read_ahead_than_the_limit) {
  NumberedPages source(kForEver);
  {
    RunPages pages(source, kFromTheStart);
    for (std::size_t taken_count = 1; taken_count <= 10; ++taken_count) {
      EXPECT_TRUE(pages.next({}));
      EXPECT_LE(source.request_count, taken_count + kPagesAheadMax);
    }
  }
  EXPECT_LE(source.request_count, 10 + kPagesAheadMax);
}

TEST(run_pages, the_destructor_does_not_read_further_pages) {
  NumberedPages source(kForEver);
  { const RunPages pages(source, kFromTheStart); }
  EXPECT_LE(source.request_count, kPagesAheadMax);
}

}  // namespace
}  // namespace kq::tools
