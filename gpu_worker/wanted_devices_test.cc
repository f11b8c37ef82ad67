#include "gpu_worker/wanted_devices.h"

#include <gtest/gtest.h>

namespace kq::worker {
namespace {

const DeviceId kCpu{DeviceKind::cpu, 0};
DeviceId gpu(int index) {
  return {DeviceKind::cuda, index};
}

std::string refusal(const std::string& text) {
  const auto wanted = wanted_devices(text, 2);
  if (wanted) return "none";
  EXPECT_EQ(wanted.error().kind, ErrorKind::bad_input);
  return wanted.error().message;
}

TEST(WantedDevices, are_every_gpu_or_the_cpu_or_the_named_ones) {
  EXPECT_EQ(wanted_devices("auto", 2), (std::vector{gpu(0), gpu(1)}));
  EXPECT_EQ(wanted_devices("auto", 0), std::vector{kCpu});
  EXPECT_EQ(wanted_devices("cuda", 0), std::vector{gpu(0)}) << "opening the lane fails with the reason";
  EXPECT_EQ(wanted_devices("cuda,cpu", 2), (std::vector{gpu(0), gpu(1), kCpu}));
  EXPECT_EQ(wanted_devices("cuda:11,cuda:3", 2), (std::vector{gpu(11), gpu(3)}));
}

TEST(WantedDevices, unknown_names_are_refused_with_the_known_ones) {
  for (const char* text : {"gpu", "", "cpu,", "cuda:", "cuda:x", "cuda:123", "cuda:-1"}) {
    EXPECT_NE(refusal(text).find("is none of auto, cpu, cuda, cuda:N"), std::string::npos) << text;
  }
}

TEST(WantedDevices, no_device_has_two_lanes) {
  EXPECT_EQ(refusal("cuda:0,cuda:0"), "--devices cuda:0,cuda:0: cuda:0 is there twice, and a device has one lane");
  EXPECT_EQ(refusal("cpu,cpu"), "--devices cpu,cpu: cpu is there twice, and a device has one lane");
  EXPECT_EQ(refusal("cuda:1,cuda"), "--devices cuda:1,cuda: cuda:1 is there twice, and a device has one lane");
  EXPECT_EQ(refusal("cuda:1,cuda:01"), "--devices cuda:1,cuda:01: cuda:1 is there twice, and a device has one lane");
}

TEST(LanesOfDevices, neighbours_share_a_lane) {
  const std::vector<LaneDevices> pairs{
      {DeviceKind::cuda, {2, 3}}, {DeviceKind::cpu, {0, 1}}, {DeviceKind::cuda, {1, 5}}};
  EXPECT_EQ(lanes_of_devices({gpu(2), gpu(3), kCpu, gpu(1), gpu(5)}, 2), pairs);
  const std::vector<LaneDevices> single{{DeviceKind::cuda, {1}}, {DeviceKind::cpu, {0}}};
  EXPECT_EQ(lanes_of_devices({gpu(1), kCpu}, 1), single);
}

TEST(LanesOfDevices, gpus_that_are_left_over_are_refused) {
  const auto refusal = [](const std::vector<DeviceId>& devices) {
    return lanes_of_devices(devices, 2).error().message;
  };
  EXPECT_EQ(refusal({gpu(0), gpu(1), gpu(2)}),
            "--gpus-per-lane 2: 3 GPUs do not make whole lanes; choose GPUs with --devices");
  EXPECT_EQ(refusal({gpu(0), kCpu}), "--gpus-per-lane 2: 1 GPU does not make whole lanes; choose GPUs with --devices");
}

}  // namespace
}  // namespace kq::worker
