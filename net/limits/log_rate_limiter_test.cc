#include "net/limits/log_rate_limiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::net {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::string text() {
  return "text";
}

TEST(FewNotes, keeps_one_line_per_subject_and_period) {
  FewNotes notes;
  for (int i = 0; i < 1'000'000; ++i) notes.add("a", 1, [] { return std::string("about a"); });
  notes.add("b", 2, [] { return std::string("about b"); });
  EXPECT_THAT(notes.take(3), ElementsAre("about a", "about b"));
  EXPECT_THAT(notes.take(4), IsEmpty());
}

TEST(FewNotes, keeps_a_limited_number_of_lines_per_period_and_counts_the_rest) {
  FewNotes notes;
  for (std::size_t i = 0; i < kNotesPerPeriod + 5; ++i) notes.add(std::to_string(i), 0, text);
  EXPECT_THAT(notes.take(1), SizeIs(kNotesPerPeriod));
  EXPECT_THAT(notes.take(kNotesPeriodMs - 1), IsEmpty());
  EXPECT_THAT(notes.take(kNotesPeriodMs), ElementsAre("5 more lines of this kind were suppressed within 10 s"));
}

TEST(FewNotes, the_next_period_keeps_lines_again) {
  FewNotes notes;
  notes.add("a", 0, text);
  notes.add("a", kNotesPeriodMs, text);
  EXPECT_THAT(notes.take(kNotesPeriodMs), SizeIs(2));
}

}  // namespace
}  // namespace kq::net
