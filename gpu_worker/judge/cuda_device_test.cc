// The CUDA device over a driver made of host memory: what it asks for, that it gives everything back, and how it fails. What only a GPU
// can show is in tests/gpu.
#include "gpu_worker/judge/cuda_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace kq::judge {
namespace {

using cuda::Driver;
using cuda::Pointer;
using cuda::Result;

constexpr std::size_t kGranularity = 2u << 20;
constexpr Result kBroken = 700;

// What the fake driver holds. Function pointers carry no state, so there is one for the program; each test begins with a new one.
struct FakeGpu {
  int devices_n = 1;
  std::string failing;                 // the function that fails
  Result failure = kBroken;
  std::map<std::uint64_t, int> allocations;  // handle -> memfd
  std::set<std::uint64_t> mapped;
  std::map<std::uint64_t, std::size_t> reserved;
  std::set<std::uint64_t> allocated;
  int retained = 0;
  int modules = 0;
  int syncs_needed = 0;                // asynchronous work not waited for
  cuda::AllocationProperties asked{};
};
FakeGpu gpu;

Result result(const char* function) { return gpu.failing == function ? gpu.failure : cuda::kSuccess; }

template <class T>
T* host(Pointer at) {
  return reinterpret_cast<T*>(at);
}

Driver fake_driver() {
  Driver driver{};
  driver.init = [](unsigned) { return result("init"); };
  driver.error_string = [](Result, const char** text) {
    *text = "told";
    return cuda::kSuccess;
  };
  driver.device_count = [](int* count) {
    *count = gpu.devices_n;
    return cuda::kSuccess;
  };
  driver.device_get = [](cuda::Ordinal* device, int index) {
    *device = index;
    return result("device_get");
  };
  driver.device_name = [](char* name, int bytes, cuda::Ordinal) {
    std::snprintf(name, static_cast<std::size_t>(bytes), "NVIDIA H200");
    return result("device_name");
  };
  driver.device_uuid = [](cuda::Uuid* uuid, cuda::Ordinal) {
    for (unsigned i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<unsigned char>(i * 17);
    return cuda::kSuccess;
  };
  driver.device_attribute = [](int* value, int attribute, cuda::Ordinal) {
    *value = attribute == cuda::kCapabilityMajor ? 9 : attribute == cuda::kCapabilityMinor ? 0 : gpu.failing != "no posix handles";
    return result("device_attribute");
  };
  driver.device_memory = [](std::size_t* bytes, cuda::Ordinal) {
    *bytes = 1ull << 37;
    return cuda::kSuccess;
  };
  driver.context_flags = [](cuda::Ordinal, unsigned) { return cuda::kSuccess; };
  driver.context_retain = [](cuda::Context* context, cuda::Ordinal) {
    *context = &gpu;
    if (result("context_retain") == cuda::kSuccess) ++gpu.retained;
    return result("context_retain");
  };
  driver.context_release = [](cuda::Ordinal) {
    --gpu.retained;
    return cuda::kSuccess;
  };
  driver.context_set_current = [](cuda::Context) { return cuda::kSuccess; };
  driver.synchronize = [] {
    gpu.syncs_needed = 0;
    return result("synchronize");
  };
  driver.granularity = [](std::size_t* bytes, const cuda::AllocationProperties*, int) {
    *bytes = kGranularity;
    return cuda::kSuccess;
  };
  driver.memory_create = [](cuda::Allocation* allocation, std::size_t bytes, const cuda::AllocationProperties* properties, unsigned long long) {
    if (result("memory_create") != cuda::kSuccess) return result("memory_create");
    if (bytes % kGranularity != 0) return Result{1};
    gpu.asked = *properties;
    const int fd = ::memfd_create("fake", MFD_CLOEXEC);
    EXPECT_EQ(::ftruncate(fd, static_cast<off_t>(bytes)), 0);
    *allocation = static_cast<cuda::Allocation>(fd);
    gpu.allocations[*allocation] = fd;
    return cuda::kSuccess;
  };
  driver.memory_export = [](void* handle, cuda::Allocation allocation, int, unsigned long long) {
    if (result("memory_export") != cuda::kSuccess) return result("memory_export");
    *static_cast<int*>(handle) = ::dup(gpu.allocations.at(allocation));
    return cuda::kSuccess;
  };
  driver.memory_release = [](cuda::Allocation allocation) {
    ::close(gpu.allocations.at(allocation));
    gpu.allocations.erase(allocation);
    return cuda::kSuccess;
  };
  driver.address_reserve = [](Pointer* at, std::size_t bytes, std::size_t, Pointer, unsigned long long) {
    if (result("address_reserve") != cuda::kSuccess) return result("address_reserve");
    *at = reinterpret_cast<Pointer>(::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    gpu.reserved[*at] = bytes;
    return cuda::kSuccess;
  };
  driver.address_free = [](Pointer at, std::size_t bytes) {
    EXPECT_EQ(gpu.reserved.at(at), bytes);
    ::munmap(host<void>(at), bytes);
    gpu.reserved.erase(at);
    return cuda::kSuccess;
  };
  driver.memory_map = [](Pointer at, std::size_t bytes, std::size_t, cuda::Allocation allocation, unsigned long long) {
    if (result("memory_map") != cuda::kSuccess) return result("memory_map");
    ::mmap(host<void>(at), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, gpu.allocations.at(allocation), 0);
    gpu.mapped.insert(at);
    return cuda::kSuccess;
  };
  driver.memory_unmap = [](Pointer at, std::size_t) {
    gpu.mapped.erase(at);
    return cuda::kSuccess;
  };
  driver.set_access = [](Pointer, std::size_t, const cuda::AccessDescription*, std::size_t) { return result("set_access"); };
  driver.allocate = [](Pointer* at, std::size_t bytes) {
    if (result("allocate") != cuda::kSuccess) return result("allocate");
    *at = reinterpret_cast<Pointer>(::operator new(bytes));
    gpu.allocated.insert(*at);
    return cuda::kSuccess;
  };
  driver.free = [](Pointer at) {
    ::operator delete(host<void>(at));
    gpu.allocated.erase(at);
    return cuda::kSuccess;
  };
  driver.copy = [](Pointer to, Pointer from, std::size_t bytes) {
    std::memcpy(host<void>(to), host<void>(from), bytes);
    ++gpu.syncs_needed;
    return result("copy");
  };
  driver.copy_to_host = [](void* to, Pointer from, std::size_t bytes) {
    std::memcpy(to, host<void>(from), bytes);
    return result("copy_to_host");
  };
  driver.fill_words = [](Pointer to, unsigned word, std::size_t words) {
    std::fill_n(host<unsigned>(to), words, word);
    ++gpu.syncs_needed;
    return result("fill_words");
  };
  driver.module_load = [](cuda::Module* module, const void* image) {
    EXPECT_NE(std::strstr(static_cast<const char*>(image), "kq_probe"), nullptr);
    if (result("module_load") != cuda::kSuccess) return result("module_load");
    *module = &gpu;
    ++gpu.modules;
    return cuda::kSuccess;
  };
  driver.module_unload = [](cuda::Module) {
    --gpu.modules;
    return cuda::kSuccess;
  };
  driver.module_function = [](cuda::Function* function, cuda::Module, const char*) {
    *function = &gpu;
    return result("module_function");
  };
  driver.launch = [](cuda::Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cuda::Stream, void** parameters,
                     void**) {
    **static_cast<std::uint32_t**>(parameters[0]) = 1;
    ++gpu.syncs_needed;
    return result("launch");
  };
  return driver;
}

class CudaDeviceTest : public testing::Test {
 protected:
  CudaDeviceTest() { gpu = FakeGpu(); }
  ~CudaDeviceTest() override {
    device_.reset();
    EXPECT_TRUE(gpu.allocations.empty());
    EXPECT_TRUE(gpu.mapped.empty());
    EXPECT_TRUE(gpu.reserved.empty());
    EXPECT_TRUE(gpu.allocated.empty());
    EXPECT_EQ(gpu.retained, 0);
    EXPECT_EQ(gpu.modules, 0);
  }

  Device& device() {
    if (!device_) device_ = std::move(*open_cuda_device(fake_driver(), 0));
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

TEST_F(CudaDeviceTest, an_absent_device_is_nothing) {
  EXPECT_EQ(open_cuda_device(fake_driver(), 1).error().code, ExitCode::nothing);
  EXPECT_EQ(open_cuda_device(fake_driver(), -1).error().code, ExitCode::nothing);
  gpu.devices_n = 0;
  EXPECT_EQ(open_cuda_device(fake_driver(), 0).error().message, "no CUDA device 0: 0 are here");
  gpu.failing = "init";
  EXPECT_EQ(open_cuda_device(fake_driver(), 0).error().message, "no CUDA device 0: cuInit: told (700)");
}

TEST_F(CudaDeviceTest, a_device_without_shared_handles_is_refused) {
  gpu.failing = "no posix handles";
  const auto opened = open_cuda_device(fake_driver(), 0);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("cannot share memory by descriptors"), std::string::npos);
}

TEST_F(CudaDeviceTest, gives_back_what_it_had_when_opening_fails) {
  for (const char* function : {"device_get", "device_name", "device_attribute", "context_retain", "module_load", "module_function", "allocate",
                               "launch", "synchronize"}) {
    gpu = FakeGpu();
    gpu.failing = function;
    const auto opened = open_cuda_device(fake_driver(), 0);
    ASSERT_FALSE(opened) << function;
    EXPECT_EQ(opened.error().code, ExitCode::our_fault);
    EXPECT_EQ(gpu.retained, 0) << function;
    EXPECT_EQ(gpu.modules, 0) << function;
    EXPECT_TRUE(gpu.allocated.empty()) << function;
  }
}

TEST_F(CudaDeviceTest, a_window_is_an_exported_allocation_of_whole_granules) {
  const auto window = std::move(*device().make_window(kGranularity + 1));
  ASSERT_TRUE(window);
  EXPECT_EQ(window->bytes(), 2 * kGranularity);
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
  gpu.failure = kBroken;
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
  EXPECT_EQ(gpu.syncs_needed, 0);
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
  EXPECT_EQ(device().probe().error().message, "cuLaunchKernel of the probe: told (700)");
  gpu.failing = "synchronize";
  EXPECT_EQ(device().probe().error().message, "cuCtxSynchronize: told (700)");
}

}  // namespace
}  // namespace kq::judge
