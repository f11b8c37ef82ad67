// The CUDA device over a driver made of host memory: what it asks for, that it gives everything back, and how it fails.
// What only a GPU can show is in tests/gpu.
#include "gpu_worker/judge/device/cuda_device.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_driver.h"

namespace kq::judge {
namespace {

using fake::fake_driver;
using fake::FakeGpu;
using fake::gpu;
using fake::kBroken;
using fake::kGranularity;

class CudaDeviceTest : public testing::Test {
 protected:
  CudaDeviceTest() { gpu = fake::FakeGpu(); }
  ~CudaDeviceTest() override {
    device_.reset();
    EXPECT_TRUE(gpu.allocations.empty());
    EXPECT_TRUE(gpu.mapped.empty());
    EXPECT_TRUE(gpu.reserved.empty());
    EXPECT_TRUE(gpu.allocated.empty());
    EXPECT_TRUE(gpu.host_allocated.empty());
    EXPECT_EQ(gpu.retained, 0);
    EXPECT_EQ(gpu.modules, 0);
  }

  Device& device() {
    if (!device_) device_ = std::move(*open_cuda_device(fake::fake_driver(), 0));
    return *device_;
  }

  std::unique_ptr<Device> device_;
};

TEST_F(CudaDeviceTest, says_what_it_is) {
  const DeviceInfo& info = device().info();
  EXPECT_EQ(info.kind, DeviceKind::cuda);
  EXPECT_EQ(info.model, "NVIDIA H200");
  EXPECT_EQ(info.uuid, "GPU-00112233-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(info.arch, "sm_90");
  EXPECT_EQ(info.memory_bytes, 1ull << 37);
}

// 3201 MHz, both edges, 768 bytes each: 4.9 TB/s. Its cache has one byte.
TEST_F(CudaDeviceTest, says_what_takes_as_long_as_its_memory_does) {
  EXPECT_EQ(device().write_floor_ns(0), 0);
  EXPECT_EQ(device().write_floor_ns(1), 0);
  EXPECT_NEAR(device().write_floor_ns(268'435'457), 54'597, 1);
}

TEST_F(CudaDeviceTest, an_absent_device_is_nothing) {
  EXPECT_EQ(open_cuda_device(fake::fake_driver(), 1).error().kind, ErrorKind::not_found);
  EXPECT_EQ(open_cuda_device(fake::fake_driver(), -1).error().kind, ErrorKind::not_found);
  gpu.device_count = 0;
  EXPECT_EQ(open_cuda_device(fake::fake_driver(), 0).error().message, "no CUDA device 0: 0 are here");
  gpu.failing = "init";
  EXPECT_EQ(open_cuda_device(fake::fake_driver(), 0).error().message, "no CUDA device 0: cuInit: told (700)");
}

TEST_F(CudaDeviceTest, a_device_without_shared_handles_is_refused) {
  gpu.failing = "no posix handles";
  const auto opened = open_cuda_device(fake::fake_driver(), 0);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("cannot share memory by descriptors"), std::string::npos);
}

TEST_F(CudaDeviceTest, gives_back_what_it_had_when_opening_fails) {
  for (const char* function :
       {"device_get", "device_name", "device_attribute", "context_retain", "module_load", "module_function", "allocate",
        "launch", "host_allocate", "host_pointer", "reset_persisting", "fill_words"}) {
    gpu = fake::FakeGpu();
    gpu.failing = function;
    const auto opened = open_cuda_device(fake::fake_driver(), 0);
    ASSERT_FALSE(opened) << function;
    EXPECT_EQ(opened.error().kind, ErrorKind::our_fault);
    EXPECT_EQ(gpu.retained, 0) << function;
    EXPECT_EQ(gpu.modules, 0) << function;
    EXPECT_TRUE(gpu.allocated.empty() && gpu.host_allocated.empty()) << function;
  }
}

TEST_F(CudaDeviceTest, a_window_is_an_exported_allocation_of_whole_granules) {
  const auto window = std::move(*device().make_window(fake::kGranularity + 1));
  ASSERT_TRUE(window);
  EXPECT_EQ(window->bytes(), 2 * fake::kGranularity);
  EXPECT_GE(window->fd(), 0);
  EXPECT_EQ(gpu.asked.type, cuda::kPinned);
  EXPECT_EQ(gpu.asked.requested_handle_types, cuda::kPosixFileDescriptor);
  EXPECT_EQ(gpu.asked.location.type, cuda::kOnDevice);
  EXPECT_TRUE(std::move(*device().make_window(0)));
}

TEST_F(CudaDeviceTest, no_room_is_an_answer_and_a_broken_driver_an_error) {
  device();
  gpu.failing = "memory_create";
  gpu.failure = cuda::kOutOfMemory;
  EXPECT_EQ(*device().make_window(1), nullptr);
  gpu.failing = "allocate";
  EXPECT_EQ(*device().make_private(1), nullptr);
  gpu.failure = fake::kBroken;
  EXPECT_EQ(device().make_private(1).error().message, "cuMemAlloc: told (700)");
  for (const char* function : {"memory_create", "memory_export", "address_reserve", "memory_map", "set_access"}) {
    gpu.failing = function;
    EXPECT_FALSE(device().make_window(1)) << function;
    EXPECT_TRUE(gpu.allocations.empty() && gpu.reserved.empty() && gpu.mapped.empty()) << function;
  }
}

TEST_F(CudaDeviceTest, every_operation_is_complete_when_it_returns) {
  const auto window = std::move(*device().make_window(4096));
  const auto buffer = std::move(*device().make_private(4096));
  ASSERT_TRUE(device().fill(*window, 512, 8, 0x01020304));
  EXPECT_EQ(gpu.syncs_needed, 0);
  ASSERT_TRUE(device().copy(*buffer, 4, *window, 508, 16));
  EXPECT_EQ(gpu.syncs_needed, 0);
  std::array<std::uint32_t, 4> words{};
  ASSERT_TRUE(device().read(std::as_writable_bytes(std::span(words)), *buffer, 4));
  EXPECT_EQ(words, (std::array<std::uint32_t, 4>{0, 0x01020304, 0x01020304, 0}));
  ASSERT_TRUE(device().probe());
  ASSERT_TRUE(device().copy(*buffer, 4, *window, 508, 16));
  EXPECT_NE(gpu.syncs_needed, 0) << "between probe and settle nothing is waited for";
  ASSERT_TRUE(device().settle());
  EXPECT_EQ(gpu.syncs_needed, 0);
}

TEST_F(CudaDeviceTest, copies_that_belong_together_are_waited_for_together) {
  const auto window = std::move(*device().make_window(4096));
  const int syncs = gpu.syncs;
  device().begin_copies();
  for (std::uint64_t at = 8; at < 64; at += 8) ASSERT_TRUE(device().copy(*window, at, *window, 0, 8));
  EXPECT_EQ(gpu.syncs, syncs);
  ASSERT_TRUE(device().finish_copies());
  EXPECT_EQ(gpu.syncs, syncs + 1);
  ASSERT_TRUE(device().copy(*window, 8, *window, 0, 8));
  EXPECT_EQ(gpu.syncs, syncs + 2);
  device().begin_copies();
  gpu.failing = "synchronize";
  EXPECT_FALSE(device().finish_copies());
}

TEST_F(CudaDeviceTest, between_begin_and_hold_nothing_is_waited_for) {
  const auto window = std::move(*device().make_window(4096));
  gpu.launched.clear();
  ASSERT_TRUE(device().begin_hold());
  ASSERT_TRUE(device().fill(*window, 0, 8, 1));
  ASSERT_TRUE(device().copy(*window, 8, *window, 0, 8));
  EXPECT_GE(gpu.syncs_needed, 3);
  ASSERT_TRUE(device().hold());
  EXPECT_EQ(gpu.launched, (std::vector<std::string>{"kq_hold", "kq_stamp", "kq_stamp", "kq_hold"}));
  device().release();
  ASSERT_TRUE(device().probe());
  ASSERT_TRUE(device().settle());
  EXPECT_EQ(gpu.syncs_needed, 0);
  EXPECT_GE(device().occupancy_gap_ns(), 1'000 + 3'000);
  ASSERT_TRUE(device().fill(*window, 0, 8, 1));
  EXPECT_EQ(gpu.syncs_needed, 0);
}

TEST_F(CudaDeviceTest, sameness_is_found_on_the_device) {
  const auto a = std::move(*device().make_private(64));
  const auto b = std::move(*device().make_private(64));
  ASSERT_TRUE(device().fill(*a, 0, 64, 7));
  ASSERT_TRUE(device().fill(*b, 0, 64, 7));
  const auto look = [&](std::uint64_t at, std::uint64_t bytes, std::optional<channel::Dtype> dtype = {}) {
    return DeviceComparison{
        .expected = a.get(), .expected_offset = at, .got = b.get(), .got_offset = at, .bytes = bytes, .dtype = dtype};
  };
  reinterpret_cast<char*>(b->address())[60] = 1;
  const int syncs = gpu.syncs;
  const std::vector<DeviceComparison> looks{look(0, 60),
                                            look(0, 61),
                                            look(3, 58),
                                            look(0, 60, channel::Dtype::int32),
                                            look(0, 64, channel::Dtype::uint8),
                                            {.got = b.get(), .got_offset = 4, .bytes = 56, .word = 7},
                                            {.got = b.get(), .bytes = 64, .word = 7}};
  ASSERT_TRUE(device().begin_looks(looks));
  const auto seen = device().finish_looks();
  ASSERT_TRUE(seen) << seen.error().message;
  std::vector<bool> is_right;
  for (const auto& one : *seen) is_right.push_back(one.has_value());
  EXPECT_EQ(is_right, (std::vector<bool>{true, false, false, true, false, true, false}));
  EXPECT_EQ(gpu.syncs, syncs) << "what the kernels wrote comes by itself";
}

TEST_F(CudaDeviceTest, failing_operations_say_which) {
  const auto window = std::move(*device().make_window(4096));
  std::array<std::byte, 4> bytes{};
  gpu.failing = "copy";
  EXPECT_EQ(device().copy(*window, 0, *window, 8, 8).error().message, "cuMemcpyDtoD: told (700)");
  gpu.failing = "fill_words";
  EXPECT_EQ(device().fill(*window, 0, 8, 0).error().message, "cuMemsetD32: told (700)");
  gpu.failing = "copy_to_host";
  EXPECT_EQ(device().read(bytes, *window, 0).error().message, "cuMemcpyDtoH: told (700)");
  gpu.failing = "launch";
  EXPECT_EQ(device().probe().error().message, "cuLaunchKernel of kq_probe: told (700)");
  EXPECT_EQ(device().settle().error().message, "cuLaunchKernel of kq_stamp: told (700)");
  gpu.failing = "synchronize";
  EXPECT_EQ(device().copy(*window, 0, *window, 8, 8).error().message, "cuCtxSynchronize: told (700)");
}

}  // namespace
}  // namespace kq::judge
