#include "sys/process.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "sys/fd.h"

namespace kq::sys {
namespace {

TEST(Process, gets_its_socket_at_descriptor_3_and_the_added_environment) {
  auto pair = packet_pair();
  ASSERT_TRUE(pair);
  const auto pid = start_process({.argv = {"sh", "-c", "printf %s \"$KQ_WORD\" >&3"},
                                  .environment = {{"KQ_WORD", "hello"}},
                                  .socket = pair->second.get()});
  ASSERT_TRUE(pid);
  const auto packet = receive_packet(pair->first.get(), 5000);
  ASSERT_TRUE(packet && *packet);
  EXPECT_EQ((*packet)->bytes, "hello");
  end_process(*pid);
}

TEST(Process, inherits_nothing_above_its_socket) {
  auto kept = packet_pair();
  auto pair = packet_pair();
  ASSERT_TRUE(kept && pair);
  const auto pid = start_process(
      {.argv = {"sh", "-c", "ls /proc/self/fd | wc -w >&3"}, .environment = {}, .socket = pair->second.get()});
  ASSERT_TRUE(pid);
  const auto packet = receive_packet(pair->first.get(), 5000);
  ASSERT_TRUE(packet && *packet);
  EXPECT_LE(std::stoi((*packet)->bytes), 5);  // 0-3, and the directory ls reads
  end_process(*pid);
}

TEST(Process, the_gpus_are_those_that_cuda_visible_devices_leaves) {
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_FALSE(visible_gpus());
  EXPECT_EQ(gpu_word(1), "1");
  ::setenv("CUDA_VISIBLE_DEVICES", "6,GPU-12,-1,3", 1);
  EXPECT_EQ(visible_gpus(), (std::vector<std::string>{"6", "GPU-12"}));
  EXPECT_EQ(gpu_word(0), "6");
  EXPECT_EQ(gpu_word(1), "GPU-12");
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_EQ(visible_gpus(), std::vector<std::string>{});
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST(Process, end_of_an_endless_program_returns) {
  const auto pid = start_process({.argv = {"sleep", "1000"}, .environment = {}, .socket = -1});
  ASSERT_TRUE(pid);
  end_process(*pid);
  EXPECT_NE(::kill(*pid, 0), 0);
}

}  // namespace
}  // namespace kq::sys
