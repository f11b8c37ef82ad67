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
    bool by_cpu, by_h200;
  } cases[] = {
      {DeviceWish::any, "", true, true},
      {DeviceWish::cpu, "", true, false},
      {DeviceWish::cuda, "", false, true},
      {DeviceWish::any, "NVIDIA H200", false, true},
      {DeviceWish::cuda, "NVIDIA H200", false, true},
      {DeviceWish::cuda, "NVIDIA H100", false, false},
      {DeviceWish::any, "EPYC", false, false},         // a gpu model never names a processor
      {DeviceWish::cpu, "NVIDIA H200", false, false},  // contradicts itself
  };
  for (const auto& [wish, gpu_model, by_cpu, by_h200] : cases) {
    EXPECT_EQ(serves(cpu, {.wish = wish, .gpu_model = gpu_model}), by_cpu) << to_string(wish) << " " << gpu_model;
    EXPECT_EQ(serves(h200, {.wish = wish, .gpu_model = gpu_model}), by_h200) << to_string(wish) << " " << gpu_model;
  }
}

}  // namespace
}  // namespace kq
