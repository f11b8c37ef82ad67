#include "tools/ctl/cache.h"

#include <sys/wait.h>
#include <unistd.h>

#include <iostream>

#include <gtest/gtest.h>

namespace kq::tools {
namespace {

// It becomes another program: so in a process of its own. Where there is none beside it, it says so.
TEST(ctl_cache, becomes_the_program_that_may_look_or_says_that_there_is_none) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const CtlWorld world{
        .out = std::cout, .err = std::cerr, .connect = {}, .unix_now_ms = {}, .nap = {}, .verify = {}, .restore = {}};
    const char* argv[] = {"kq-ctl cache", "--version"};
    const auto done = ctl_cache(2, argv, world);
    ::_exit(!done && done.error().message.find("/kq-cache") != std::string::npos ? 0 : 9);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace kq::tools
