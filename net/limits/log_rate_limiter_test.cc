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

TEST(FewNotes, each_subject_speaks_once_in_a_period) {
  FewNotes notes;
  for (int i = 0; i < 1'000'000; ++i) notes.add("a", 1, [] { return std::string("about a"); });
  notes.add("b", 2, [] { return std::string("about b"); });
  EXPECT_THAT(notes.take(3), ElementsAre("about a", "about b"));
  EXPECT_THAT(notes.take(4), IsEmpty());
}

TEST(FewNotes, a_period_has_so_many_lines_and_then_a_count) {
  FewNotes notes;
  for (std::size_t i = 0; i < kNotesPerPeriod + 5; ++i) notes.add(std::to_string(i), 0, text);
  EXPECT_THAT(notes.take(1), SizeIs(kNotesPerPeriod));
  EXPECT_THAT(notes.take(kNotesPeriodMs - 1), IsEmpty());
  EXPECT_THAT(notes.take(kNotesPeriodMs), ElementsAre("and 5 more of such within 10 s"));
}

TEST(FewNotes, the_next_period_begins_anew) {
  FewNotes notes;
  notes.add("a", 0, text);
  notes.add("a", kNotesPeriodMs, text);
  EXPECT_THAT(notes.take(kNotesPeriodMs), SizeIs(2));
}

}  // namespace
}  // namespace kq::net
