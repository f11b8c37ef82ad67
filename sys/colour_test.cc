#include "sys/colour.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

namespace kq::sys {
namespace {

TEST(colour, a_coloured_text_ends_its_colour) {
  EXPECT_EQ(coloured("passed", Colour::green), "\x1b[32mpassed\x1b[0m");
  EXPECT_EQ(coloured("passed", Colour::none), "passed");
}

TEST(colour, a_pipe_takes_no_colour) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_FALSE(takes_colour(ends[1]));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(colour, a_terminal_takes_colour_unless_the_environment_refuses_it) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  ASSERT_EQ(::grantpt(terminal), 0);
  ASSERT_EQ(::unlockpt(terminal), 0);
  const int screen = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  ASSERT_GE(screen, 0);
  ::setenv("TERM", "xterm", 1);
  ::unsetenv("NO_COLOR");
  EXPECT_TRUE(takes_colour(screen));
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(takes_colour(screen));
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(takes_colour(screen));
  ::close(screen);
  ::close(terminal);
}

}  // namespace
}  // namespace kq::sys
