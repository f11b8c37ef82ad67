// For tests: a fixture that opens the first GPU, and skips its tests where there is none.
#pragma once

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "gpu_worker/judge/device/cuda_device.h"

namespace kq::judge {

class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = open_cuda_device(0);
    if (!opened && opened.error().kind == ErrorKind::not_found)
      GTEST_SKIP() << "skipped: no GPU (" << opened.error().message << ")";
    ASSERT_TRUE(opened) << opened.error().message;
    device_ = std::move(*opened);
  }

  std::unique_ptr<Device> device_;
};

}  // namespace kq::judge
