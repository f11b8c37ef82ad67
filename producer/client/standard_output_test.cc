#include "producer/client/standard_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <iostream>
#include <string>

namespace kq::producer {
namespace {

struct Ended {
  int code = 0;
  std::string err;
};
// Acts as a program that prints so many bytes in two pieces and ends with the exit code 1.
Ended print(int descriptor, std::size_t bytes) {
  testing::internal::CaptureStderr();
  StandardOutput output("kq-try", descriptor);
  std::cout << std::string(bytes, 'x') << std::flush << "y\n";
  const int code = output.end(1);
  return {code, testing::internal::GetCapturedStderr()};
}

TEST(StandardOutput, prints_everything_and_leaves_the_code_alone) {
  for (const std::size_t bytes : {std::size_t{3}, std::size_t{60'000}}) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const Ended ended = print(ends[1], bytes);
    EXPECT_EQ(ended.code, 1);
    EXPECT_EQ(ended.err, "");
    ::close(ends[1]);
    std::string got(bytes + 10, '\0');
    std::size_t n = 0;
    for (ssize_t more = 1; more > 0; n += static_cast<std::size_t>(more))
      more = ::read(ends[0], got.data() + n, got.size() - n);
    EXPECT_EQ(got.substr(0, n), std::string(bytes, 'x') + "y\n");
    ::close(ends[0]);
  }
}

TEST(StandardOutput, a_full_disk_is_our_fault_and_reported_once) {
  const int full = ::open("/dev/full", O_WRONLY);
  for (const std::size_t bytes : {3u, 1'000'000u}) {
    const Ended ended = print(full, bytes);
    EXPECT_EQ(ended.code, 3);
    EXPECT_EQ(ended.err, "kq-try: cannot write standard output: No space left on device\n");
    std::cout.clear();
  }
  ::close(full);
}

TEST(StandardOutput, a_reader_that_has_left_is_no_failure) {
  ::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const Ended ended = print(ends[1], 1'000'000);
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.err, "");
  std::cout.clear();
  ::close(ends[1]);
}

}  // namespace
}  // namespace kq::producer
