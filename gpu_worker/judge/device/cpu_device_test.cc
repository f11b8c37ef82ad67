#include "gpu_worker/judge/device/cpu_device.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include <gtest/gtest.h>

namespace kq::judge {
namespace {

std::unique_ptr<Device> cpu() {
  return std::move(*open_cpu_device());
}

TEST(CpuModel, is_the_first_model_name) {
  EXPECT_EQ(cpu_model("processor\t: 0\nmodel name\t: Fast 9000\nprocessor\t: 1\nmodel name\t: Other\n"), "Fast 9000");
  EXPECT_EQ(cpu_model("Features : fp asimd\n"), "CPU");
  EXPECT_EQ(cpu_model(""), "CPU");
  EXPECT_EQ(cpu_model("model name\t:"), "CPU");
}

TEST(AvailableBytes, are_read_from_meminfo) {
  EXPECT_EQ(available_bytes("MemTotal:  9 kB\nMemAvailable:   1000 kB\n"), 1'024'000u);
  EXPECT_EQ(available_bytes("MemTotal: 9 kB\n"), 0u);
}

TEST(CpuDevice, describes_the_host) {
  const auto device = cpu();
  EXPECT_EQ(device->info().kind, DeviceKind::cpu);
  EXPECT_FALSE(device->info().model.empty());
  EXPECT_GT(device->info().memory_bytes, 0u);
}

TEST(CpuDevice, window_is_shared_by_its_descriptor) {
  const auto device = cpu();
  const auto window = std::move(*device->make_window(10'000));
  ASSERT_TRUE(window);
  EXPECT_GE(window->bytes(), 10'000u);
  void* const other = ::mmap(nullptr, window->bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, window->fd(), 0);
  ASSERT_NE(other, MAP_FAILED);
  std::memcpy(static_cast<char*>(other) + 256, "hello", 5);
  std::array<std::byte, 5> got{};
  ASSERT_TRUE(device->read(got, *window, 256));
  EXPECT_EQ(std::memcmp(got.data(), "hello", 5), 0);
  ::munmap(other, window->bytes());
}

TEST(CpuDevice, window_cannot_be_shrunk_or_sealed_by_a_child) {
  const auto device = cpu();
  const auto window = std::move(*device->make_window(8192));
  EXPECT_NE(::ftruncate(window->fd(), 0), 0);
  EXPECT_NE(::ftruncate(window->fd(), 1 << 20), 0);
  EXPECT_NE(::fcntl(window->fd(), F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST(CpuDevice, copies_between_windows_and_private_buffers) {
  const auto device = cpu();
  const auto window = std::move(*device->make_window(8192));
  const auto buffer = std::move(*device->make_private(4096));
  EXPECT_EQ(buffer->fd(), -1);
  ASSERT_TRUE(device->fill(*window, 512, 8, 0x01020304));
  ASSERT_TRUE(device->copy(*buffer, 4, *window, 508, 16));
  std::array<std::uint32_t, 4> words{};
  ASSERT_TRUE(device->read(std::as_writable_bytes(std::span(words)), *buffer, 4));
  EXPECT_EQ(words, (std::array<std::uint32_t, 4>{0, 0x01020304, 0x01020304, 0}));
  EXPECT_TRUE(device->check_context());
}

TEST(CpuDevice, returns_null_where_there_is_no_room) {
  const auto device = cpu();
  const auto window = device->make_window(1ull << 46);
  ASSERT_TRUE(window);
  EXPECT_EQ(*window, nullptr);
  const auto buffer = device->make_private(1ull << 46);
  ASSERT_TRUE(buffer);
  EXPECT_EQ(*buffer, nullptr);
}

TEST(CpuDevice, an_empty_window_is_a_window) {
  const auto device = cpu();
  EXPECT_TRUE(*device->make_window(0));
}

}  // namespace
}  // namespace kq::judge
