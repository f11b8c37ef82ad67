// The CUDA device over a fake driver made of host memory: its requests, that it releases everything, and its errors.
// tests/gpu has the tests that need a GPU.
#include "gpu_worker/judge/device/cuda_device.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

#include "gpu_worker/judge/testing/fake_driver.h"

namespace kq::judge {
namespace {

using fake::gpu;
using fake::kBroken;

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

TEST_F(CudaDeviceTest, describes_the_gpu) {
  const DeviceInfo& info = device().info();
  EXPECT_EQ(info.kind, DeviceKind::cuda);
  EXPECT_EQ(info.model, "NVIDIA H200");
  EXPECT_EQ(info.uuid, "GPU-00112233-4455-6677-8899-aabbccddeeff");
  EXPECT_EQ(info.arch, "sm_90");
  EXPECT_EQ(info.memory_bytes, 1ull << 37);
}

// 3201 MHz, both edges, 768 bytes for each edge: 4.9 TB/s. The fake cache has one byte.
TEST_F(CudaDeviceTest, knows_the_least_time_of_a_write) {
  EXPECT_EQ(device().write_floor_ns(0), 0);
  EXPECT_EQ(device().write_floor_ns(1), 0);
  EXPECT_NEAR(device().write_floor_ns(268'435'457), 54'597, 1);
}

TEST_F(CudaDeviceTest, an_absent_device_is_not_found) {
  EXPECT_EQ(open_cuda_device(fake::fake_driver(), 1).error().kind, ErrorKind::not_found);
  EXPECT_EQ(open_cuda_device(fake::fake_driver(), -1).error().kind, ErrorKind::not_found);
  gpu.device_count = 0;
  EXPECT_EQ(open_cuda_device(fake::fake_driver(), 0).error().message, "no CUDA device 0: there are 0");
  gpu.failing = "init";
  EXPECT_EQ(open_cuda_device(fake::fake_driver(), 0).error().message, "no CUDA device 0: cuInit: fake error (700)");
}

TEST_F(CudaDeviceTest, a_device_without_shared_handles_is_refused) {
  gpu.failing = "no posix handles";
  const auto opened = open_cuda_device(fake::fake_driver(), 0);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("cannot share memory by descriptors"), std::string::npos);
}

TEST_F(CudaDeviceTest, releases_all_when_opening_fails) {
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
  EXPECT_NE(*device().make_window(0), nullptr);
}

TEST_F(CudaDeviceTest, returns_null_without_room_and_an_error_of_a_broken_driver) {
  device();
  gpu.failing = "memory_create";
  gpu.failure = cuda::kOutOfMemory;
  EXPECT_EQ(*device().make_window(1), nullptr);
  gpu.failing = "allocate";
  EXPECT_EQ(*device().make_private(1), nullptr);
  gpu.failure = fake::kBroken;
  EXPECT_EQ(device().make_private(1).error().message, "cuMemAlloc: fake error (700)");
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
  Probe probe = device().probe();
  ASSERT_TRUE(probe.result());
  ASSERT_TRUE(device().copy(*buffer, 4, *window, 508, 16));
  EXPECT_NE(gpu.syncs_needed, 0) << "between probe and settle copies are only queued";
  ASSERT_TRUE(std::move(probe).settle());
  EXPECT_EQ(gpu.syncs_needed, 0);
}

TEST_F(CudaDeviceTest, waits_once_for_a_batch_of_copies) {
  const auto window = std::move(*device().make_window(4096));
  const int syncs = gpu.syncs;
  CopyBatch copies = device().batch_copies();
  for (std::uint64_t at = 8; at < 64; at += 8) ASSERT_TRUE(device().copy(*window, at, *window, 0, 8));
  EXPECT_EQ(gpu.syncs, syncs);
  ASSERT_TRUE(std::move(copies).finish());
  EXPECT_EQ(gpu.syncs, syncs + 1);
  ASSERT_TRUE(device().copy(*window, 8, *window, 0, 8));
  EXPECT_EQ(gpu.syncs, syncs + 2);
  CopyBatch failing = device().batch_copies();
  gpu.failing = "synchronize";
  EXPECT_FALSE(std::move(failing).finish());
}

TEST_F(CudaDeviceTest, waits_for_nothing_in_a_gated_queue) {
  const auto window = std::move(*device().make_window(4096));
  gpu.launched.clear();
  auto queue = device().open_queue();
  ASSERT_TRUE(queue);
  ASSERT_TRUE(device().fill(*window, 0, 8, 1));
  ASSERT_TRUE(device().copy(*window, 8, *window, 0, 8));
  EXPECT_GE(gpu.syncs_needed, 3);
  auto spin = std::move(*queue).start_spin();
  ASSERT_TRUE(spin);
  EXPECT_EQ(gpu.launched, (std::vector<std::string>{"kq_spin", "kq_stamp", "kq_stamp", "kq_spin"}));
  spin->stop();
  ASSERT_TRUE(device().check_context());
  EXPECT_EQ(gpu.syncs_needed, 0);
  EXPECT_GE(device().occupancy_gap_ns(), 1'000 + 3'000);
  ASSERT_TRUE(device().fill(*window, 0, 8, 1));
  EXPECT_EQ(gpu.syncs_needed, 0);
}

TEST_F(CudaDeviceTest, compares_memory_on_the_device) {
  const auto a = std::move(*device().make_private(64));
  const auto b = std::move(*device().make_private(64));
  ASSERT_TRUE(device().fill(*a, 0, 64, 7));
  ASSERT_TRUE(device().fill(*b, 0, 64, 7));
  const auto comparison = [&](std::uint64_t at, std::uint64_t bytes, std::optional<channel::Dtype> dtype = {}) {
    return DeviceComparison{
        .expected = a.get(), .expected_offset = at, .got = b.get(), .got_offset = at, .bytes = bytes, .dtype = dtype};
  };
  reinterpret_cast<char*>(b->address())[60] = 1;
  const int syncs = gpu.syncs;
  const std::vector<DeviceComparison> comparisons{comparison(0, 60),
                                                  comparison(0, 61),
                                                  comparison(3, 58),
                                                  comparison(0, 60, channel::Dtype::int32),
                                                  comparison(0, 64, channel::Dtype::uint8),
                                                  {.got = b.get(), .got_offset = 4, .bytes = 56, .word = 7},
                                                  {.got = b.get(), .bytes = 64, .word = 7}};
  const auto seen = device().compare(comparisons);
  ASSERT_TRUE(seen) << seen.error().message;
  std::vector<bool> is_right;
  for (const auto& one : *seen) is_right.push_back(one.has_value());
  EXPECT_EQ(is_right, (std::vector<bool>{true, false, false, true, false, true, false}));
  EXPECT_EQ(gpu.syncs, syncs) << "the kernels publish their results without a synchronisation";
}

TEST_F(CudaDeviceTest, measures_real_numbers_on_the_device) {
  using channel::Dtype;
  const auto memory = std::move(*device().make_private(256));
  const std::set<std::uint64_t> before = gpu.allocated;
  const auto comparison = [&](Dtype dtype) {
    return DeviceComparison{.expected = memory.get(),
                            .expected_offset = 64,
                            .got = memory.get(),
                            .got_offset = 128,
                            .bytes = 64,
                            .dtype = dtype};
  };
  gpu.launched.clear();
  const auto errors = device().measure(comparison(Dtype::float32));
  ASSERT_TRUE(errors && *errors);
  EXPECT_EQ((*errors)->wrong, 16u);
  EXPECT_EQ((*errors)->last, 15u);
  EXPECT_EQ((*errors)->worst, 0u);
  const DeviceTruth truth{.memory = memory.get(), .dtype = Dtype::float64};
  const auto found = device().measure_by_truth(truth, comparison(Dtype::bfloat16));
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->count, 32u);
  EXPECT_EQ((*found)->truth_squares, 4 * 32);
  EXPECT_EQ(gpu.launched, (std::vector<std::string>{"kq_measure_float32", "kq_truth_float64_bfloat16"}));
  for (const Dtype other : {Dtype::complex64, Dtype::complex32, Dtype::int32, Dtype::boolean, Dtype::float8_e8m0fnu}) {
    EXPECT_FALSE(*device().measure(comparison(other)));
    EXPECT_FALSE(*device().measure_by_truth(truth, comparison(other)));
  }
  EXPECT_FALSE(*device().measure_by_truth({.memory = memory.get(), .dtype = Dtype::int64}, comparison(Dtype::float32)));
  EXPECT_EQ(gpu.allocated, before) << "the records' memory is freed";
}

TEST_F(CudaDeviceTest, measures_nothing_without_room_and_fails_with_a_broken_driver) {
  const auto memory = std::move(*device().make_private(64));
  const DeviceComparison comparison{
      .expected = memory.get(), .got = memory.get(), .bytes = 64, .dtype = channel::Dtype::float64};
  gpu.failing = "allocate";
  gpu.failure = cuda::kOutOfMemory;
  EXPECT_FALSE(*device().measure(comparison));
  gpu.failure = kBroken;
  EXPECT_FALSE(device().measure(comparison));
  gpu.failing = "launch";
  EXPECT_EQ(device().measure(comparison).error().message, "cuLaunchKernel of kq_measure_float64: fake error (700)");
  gpu.failing = "copy_to_host";
  EXPECT_FALSE(device().measure(comparison));
}

TEST_F(CudaDeviceTest, errors_name_the_operation) {
  const auto window = std::move(*device().make_window(4096));
  std::array<std::byte, 4> bytes{};
  gpu.failing = "copy";
  EXPECT_EQ(device().copy(*window, 0, *window, 8, 8).error().message, "cuMemcpyDtoD: fake error (700)");
  gpu.failing = "fill_words";
  EXPECT_EQ(device().fill(*window, 0, 8, 0).error().message, "cuMemsetD32: fake error (700)");
  gpu.failing = "copy_to_host";
  EXPECT_EQ(device().read(bytes, *window, 0).error().message, "cuMemcpyDtoH: fake error (700)");
  gpu.failing = "launch";
  Probe probe = device().probe();
  EXPECT_EQ(probe.result().error().message, "cuLaunchKernel of kq_probe: fake error (700)");
  EXPECT_EQ(std::move(probe).settle().error().message, "cuLaunchKernel of kq_stamp: fake error (700)");
  gpu.failing = "synchronize";
  EXPECT_EQ(device().copy(*window, 0, *window, 8, 8).error().message, "cuCtxSynchronize: fake error (700)");
}

}  // namespace
}  // namespace kq::judge
