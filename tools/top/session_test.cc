#include "tools/top/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/top/testing.h"

namespace kq::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

class SessionTest : public testing::Test {
 protected:
  void type(const std::string& text) {
    for (const char c : text) session_.press({.key = Key::character, .character = std::string(1, c)});
  }
  std::string screen(ScreenSize size = {.width = 120, .height = 30}) {
    std::string text;
    for (const Line& line : session_.screen_lines(snapshot_, size)) text += text_of(line, false);
    return text;
  }
  Snapshot snapshot_{.facts = std::make_shared<TopFacts>(top_facts())};
  Session session_{"tcp://broker:5555", 2'000};
};

TEST_F(SessionTest, the_screen_has_the_broker_the_counts_and_the_lists) {
  const std::string text = screen();
  EXPECT_THAT(text, HasSubstr("kq top  tcp://broker:5555  kq 0.2.0  2026-11-21T18:00:00Z  every 2 s\n"));
  EXPECT_THAT(text, HasSubstr("3 queued, 2 building, 1 running, 8.25 done/s"));
  EXPECT_THAT(text, HasSubstr("gpu-2"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 30);
}

TEST_F(SessionTest, keys_leave_pause_and_sort) {
  type("s");
  EXPECT_EQ(session_.options().order, WorkerOrder::name);
  EXPECT_THAT(screen(), HasSubstr("s sort: name"));
  type("sss");
  EXPECT_EQ(session_.options().order, WorkerOrder::attention);
  type("p");
  EXPECT_TRUE(session_.is_paused());
  EXPECT_THAT(screen(), HasSubstr("every 2 s  paused\n"));
  type("p");
  EXPECT_FALSE(session_.is_paused());
  EXPECT_FALSE(session_.is_over());
  type("q");
  EXPECT_TRUE(session_.is_over());
}

TEST_F(SessionTest, a_filter_is_typed_and_removed) {
  type("/gpu-1x");
  EXPECT_THAT(screen(), HasSubstr("\n/gpu-1x_\n"));
  session_.press({.key = Key::backspace});
  session_.press({.key = Key::enter});
  EXPECT_EQ(session_.options().filter, "gpu-1");
  EXPECT_THAT(screen(), HasSubstr("/ filter: gpu-1"));
  EXPECT_THAT(screen(), Not(HasSubstr("gpu-2")));
  session_.press({.key = Key::escape});
  EXPECT_THAT(screen(), HasSubstr("gpu-2"));
  type("/none");
  session_.press({.key = Key::enter});
  EXPECT_THAT(screen(), HasSubstr("nothing has 'none' in its name, label or model"));
}

TEST_F(SessionTest, letters_of_a_filter_are_no_commands_and_bounded) {
  type("/q");
  EXPECT_FALSE(session_.is_over());
  for (std::size_t i = 0; i < 2 * kFilterBytesMax; ++i) type("a");
  session_.press({.key = Key::enter});
  EXPECT_EQ(session_.options().filter.size(), kFilterBytesMax);
}

TEST_F(SessionTest, the_lists_scroll_within_their_lines) {
  auto facts = std::make_shared<TopFacts>(top_facts());
  for (int i = 0; i < 1'000; ++i) facts->workers.push_back(top_worker("w" + std::to_string(i)));
  snapshot_.facts = facts;
  const ScreenSize size{.width = 100, .height = 20};
  EXPECT_THAT(screen(size), HasSubstr("lines 1-14 of"));
  session_.press({.key = Key::up});
  session_.press({.key = Key::down});
  EXPECT_THAT(screen(size), HasSubstr("lines 2-15 of"));
  session_.press({.key = Key::page_down});
  EXPECT_THAT(screen(size), HasSubstr("lines 16-29 of"));
  session_.press({.key = Key::end});
  EXPECT_THAT(screen(size), HasSubstr("w999"));
  session_.press({.key = Key::down});
  EXPECT_THAT(screen(size), HasSubstr("w999"));
  session_.press({.key = Key::page_up});
  session_.press({.key = Key::home});
  EXPECT_THAT(screen(size), HasSubstr("lines 1-14 of"));
}

TEST_F(SessionTest, every_size_of_a_screen_is_filled_and_not_exceeded) {
  for (const ScreenSize size : {ScreenSize{1, 1}, ScreenSize{3, 2}, ScreenSize{20, 5}, ScreenSize{300, 100}}) {
    const auto lines = session_.screen_lines(snapshot_, size);
    EXPECT_EQ(lines.size(), size.height);
    for (const Line& line : lines) {
      std::size_t width = 0;
      for (const Piece& piece : line) width += shown_width(piece.text);
      EXPECT_LE(width, size.width);
    }
  }
}

TEST_F(SessionTest, an_outage_is_shown_above_the_last_facts) {
  snapshot_.silent_ms = 12'000;
  EXPECT_THAT(screen(), HasSubstr("the broker has not answered for 12 s\n"));
  EXPECT_THAT(screen(), HasSubstr("gpu-2"));
  snapshot_ = {};
  EXPECT_THAT(screen(), HasSubstr("the broker is asked for the first time"));
  snapshot_.error = Error{ErrorKind::bad_input, "the broker refuses\x1b[2J"};
  EXPECT_THAT(screen(), HasSubstr("the broker refuses\\x1b[2J\n"));
}

TEST_F(SessionTest, a_terminal_that_is_closed_ends_the_session) {
  type("/x");
  session_.press({.key = Key::closed});
  EXPECT_TRUE(session_.is_over());
}

TEST_F(SessionTest, help_replaces_the_lists) {
  type("?");
  EXPECT_THAT(screen(), HasSubstr("pauses, and goes on"));
  EXPECT_THAT(screen(), Not(HasSubstr("gpu-2")));
  type("?");
  EXPECT_THAT(screen(), HasSubstr("gpu-2"));
}

}  // namespace
}  // namespace kq::tools
