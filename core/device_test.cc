#include "core/device.h"

#include <gtest/gtest.h>

namespace kq {
namespace {

DeviceInfo device(DeviceKind kind, const std::string& model) {
  DeviceInfo info;
  info.kind = kind;
  info.model = model;
  return info;
}

TEST(Device, serves_the_wishes_of_this_table) {
  const DeviceInfo cpu = device(DeviceKind::cpu, "EPYC");
  const DeviceInfo h200 = device(DeviceKind::cuda, "NVIDIA H200");
  const struct {
    DeviceWish wish;
    std::string gpu_model;
    bool cpu_serves, h200_serves;
  } cases[] = {
      {DeviceWish::any, "", true, true},
      {DeviceWish::cpu, "", true, false},
      {DeviceWish::cuda, "", false, true},
      {DeviceWish::any, "NVIDIA H200", false, true},
      {DeviceWish::cuda, "NVIDIA H200", false, true},
      {DeviceWish::cuda, "NVIDIA H100", false, false},
      {DeviceWish::any, "EPYC", false, false},         // a GPU model never names a processor
      {DeviceWish::cpu, "NVIDIA H200", false, false},  // the two requirements contradict each other
  };
  for (const auto& [wish, gpu_model, cpu_serves, h200_serves] : cases) {
    EXPECT_EQ(serves(cpu, {.wish = wish, .gpu_model = gpu_model}), cpu_serves) << to_string(wish) << " " << gpu_model;
    EXPECT_EQ(serves(h200, {.wish = wish, .gpu_model = gpu_model}), h200_serves) << to_string(wish) << " " << gpu_model;
  }
}

TEST(Device, serves_jobs_that_need_no_more_devices_than_the_lane_has) {
  DeviceInfo pair = device(DeviceKind::cuda, "NVIDIA H200");
  EXPECT_FALSE(serves(pair, {.device_count = 2}));
  pair.device_count = 2;
  EXPECT_TRUE(serves(pair, {.device_count = 2}));
  EXPECT_TRUE(serves(pair, {}));
  EXPECT_FALSE(serves(pair, {.device_count = 3}));
  EXPECT_FALSE(serves(pair, {.wish = DeviceWish::cpu, .device_count = 2}));
}

}  // namespace
}  // namespace kq
