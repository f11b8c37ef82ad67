#include "sys/log_pump.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <future>

#include <gtest/gtest.h>

namespace kq::sys {
namespace {

TEST(CappedLog, keeps_a_short_text_whole) {
  CappedLog log(100);
  log.append("one\n");
  log.append("two\tthree");
  EXPECT_EQ(log.text(), "one\ntwo\tthree");
}

TEST(CappedLog, keeps_head_and_tail_and_counts_the_dropped_bytes) {
  CappedLog log(8);
  for (char c = 'a'; c <= 'z'; ++c) log.append(std::string(1, c));
  EXPECT_EQ(log.text(), "abcd\n[18 bytes left out]\nwxyz");
}

TEST(CappedLog, replaces_terminal_escapes) {
  CappedLog log(100);
  log.append("\x1b[31mred\x7f\r\n");
  EXPECT_EQ(log.text(), "?[31mred??\n");
}

TEST(LogPump, reads_until_the_writer_closes) {
  auto opened = LogPump::open();
  ASSERT_TRUE(opened);
  const std::string much(1 << 20, 'x');  // far more than a pipe holds
  for (std::size_t sent = 0; sent < much.size();) {
    const ssize_t size = ::write(opened->second.get(), much.data() + sent, much.size() - sent);
    ASSERT_GT(size, 0);
    sent += static_cast<std::size_t>(size);
  }
  opened->second = Fd();
  const std::string text = opened->first.finish(60'000);
  EXPECT_LE(text.size(), kLogBytesMax + 100);
  EXPECT_NE(text.find("bytes left out"), std::string::npos);
}

TEST(LogPump, so_far_returns_what_was_written_up_to_now) {
  auto opened = LogPump::open();
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->first.so_far(), "");
  for (const std::string_view piece : {"one ", "two ", "three"}) {
    ASSERT_EQ(::write(opened->second.get(), piece.data(), piece.size()), static_cast<ssize_t>(piece.size()));
  }
  EXPECT_EQ(opened->first.so_far(), "one two three");
}

TEST(LogPump, finish_returns_after_its_timeout_if_the_writer_does_not_close) {
  auto opened = LogPump::open();
  ASSERT_TRUE(opened);
  ASSERT_EQ(::write(opened->second.get(), "hi", 2), 2);
  EXPECT_EQ(opened->first.so_far(), "hi");
  EXPECT_EQ(opened->first.finish(100), "hi");
}

TEST(LogPump, finish_returns_after_its_timeout_although_signals_interrupt_the_thread) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &action, nullptr);
  auto opened = LogPump::open();
  ASSERT_TRUE(opened);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // so that the pump's thread gets it
  for (int i = 0; i < 20; ++i) {
    ::kill(::getpid(), SIGUSR1);
    ::usleep(2000);
  }
  auto finished = std::async(std::launch::async, [&] { return opened->first.finish(100); });
  EXPECT_EQ(finished.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  opened->second = Fd();
  finished.wait();
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace
}  // namespace kq::sys
