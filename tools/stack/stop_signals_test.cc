#include "tools/stack/stop_signals.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace kq::tools {
namespace {

TEST(stop_signals, stay_pending_until_they_are_taken) {
  StopSignals signals;
  EXPECT_EQ(signals.take(0), std::nullopt);
  ::raise(SIGINT);
  ::raise(SIGPIPE);
  EXPECT_EQ(signals.take(1000), SIGINT);
  EXPECT_EQ(signals.take(0), std::nullopt);
  StopSignals::give_back();
}

TEST(stop_signals, have_the_exit_codes_of_a_shell) {
  EXPECT_EQ(exit_code_of_signal(SIGINT), static_cast<int>(ExitCode::interrupted));
  EXPECT_EQ(exit_code_of_signal(SIGTERM), 143);
}

}  // namespace
}  // namespace kq::tools
