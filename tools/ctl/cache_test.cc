#include "tools/ctl/cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>

#include "tools/ctl/world.h"

namespace kq::tools {
namespace {

// The verb replaces its process by kq-cache, so the test runs it in a child process. Where kq-cache is missing, the
// verb returns an Error that names the program.
TEST(ctl_cache, becomes_kq_cache_or_names_the_missing_program) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const CtlWorld world{
        .out = std::cout, .err = std::cerr, .connect = {}, .unix_now_ms = {}, .sleep = {}, .verify = {}, .restore = {}};
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
