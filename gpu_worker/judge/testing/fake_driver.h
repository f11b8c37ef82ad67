// For tests: a CUDA driver made of host memory. Its kernels run at their launch; run_kernel() knows by a kernel's name
// what the kernel does.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "gpu_worker/judge/device/cuda_kernels.h"
#include "gpu_worker/judge/device/cuda_measure.h"
#include "gpu_worker/judge/device/records.h"

namespace kq::judge::fake {

using cuda::Driver;
using cuda::Pointer;
using cuda::Result;

inline constexpr std::size_t kGranularity = 2u << 20;
inline constexpr Result kBroken = 700;

// The state of the fake driver. The driver's functions are plain pointers without state, so the program has one object;
// each test begins with a new one.
struct FakeGpu {
  int device_count = 1;
  std::string failing;  // the name of the function that fails
  Result failure = kBroken;
  std::map<std::uint64_t, int> allocations;  // handle -> memfd
  std::set<std::uint64_t> mapped;
  std::map<std::uint64_t, std::size_t> reserved;
  std::set<std::uint64_t> allocated;
  int retained = 0;
  int modules = 0;
  std::set<void*> host_allocated;
  std::set<std::string> functions;  // the names that were looked up
  std::vector<std::string> launched;
  std::uint64_t now_ns = 1'000;       // the clock of the GPU; each reading advances it by a microsecond
  std::uint64_t spin_gap_ns = 3'000;  // the longest gap that a spin kernel finds
  std::uint64_t fill_ns = 20'000;     // the time of a fill
  int syncs_needed = 0;               // the number of asynchronous operations that nothing has waited for
  int syncs = 0;                      // the number of synchronisations
  cuda::AllocationProperties asked{};
};
inline FakeGpu gpu;

inline Result result(const char* function) {
  return gpu.failing == function ? gpu.failure : cuda::kSuccess;
}

template <class T>
T* host(Pointer at) {
  return reinterpret_cast<T*>(at);
}

template <class T>
T parameter(void** parameters, int i) {
  return *static_cast<T*>(parameters[i]);
}

inline void run_kernel(const std::string& name, void** parameters) {
  gpu.launched.push_back(name);
  const Pointer at = parameter<Pointer>(parameters, 0);
  if (name == "kq_probe") *host<std::uint32_t>(at) = parameter<std::uint32_t>(parameters, 1);
  if (name == "kq_stamp") *host<std::uint64_t>(at) = gpu.now_ns += 1'000;
  if (name == "kq_spin") {
    auto& words = *host<cuda::SpinWords>(at);
    words.running = parameter<std::uint32_t>(parameters, 1);
    words.began_ns = gpu.now_ns += 1'000;
    words.gap_ns = gpu.spin_gap_ns;
    words.ended_ns = gpu.now_ns;
  }
  if (name == "kq_word") {
    const auto word = parameter<std::uint32_t>(parameters, 1);
    for (Pointer byte = at; byte < at + parameter<std::uint64_t>(parameters, 2); ++byte) {
      if (*host<std::uint8_t>(byte) != static_cast<std::uint8_t>(word >> (byte % 4 * 8)))
        *host<std::uint32_t>(parameter<Pointer>(parameters, 3)) = 1;
    }
  }
  if (name == "kq_publish") {
    void* const from = host<void>(parameter<Pointer>(parameters, 1));
    const std::uint64_t bytes = parameter<std::uint64_t>(parameters, 2) * 8;
    std::memcpy(host<void>(at), from, bytes);
    std::memset(from, 0, bytes);
    *host<std::uint32_t>(parameter<Pointer>(parameters, 3)) = parameter<std::uint32_t>(parameters, 4);
  }
  // Every element is wrong, and its thread is the one of its number.
  if (name.starts_with("kq_measure")) {
    auto* const records = host<ErrorRecord>(parameter<Pointer>(parameters, 5));
    std::fill_n(records, cuda::kMeasureThreads, ErrorRecord{});
    for (std::uint64_t i = 0; i < parameter<std::uint64_t>(parameters, 2); ++i)
      records[i] = {.wrong = 1, .first = i, .last = i, .worst = i, .worst_excess = 2};
  }
  if (name.starts_with("kq_truth")) {
    auto* const records = host<TruthRecord>(parameter<Pointer>(parameters, 6));
    std::fill_n(records, cuda::kMeasureThreads, TruthRecord{});
    for (std::uint64_t i = 0; i < parameter<std::uint64_t>(parameters, 3); ++i)
      records[i] = {.count = 1, .truth_squares = 4};
  }
  if (name.starts_with("kq_differ")) {
    const auto bytes = parameter<std::uint64_t>(parameters, 2) * (name == "kq_differ_quads"   ? 16
                                                                  : name == "kq_differ_words" ? 4
                                                                                              : 1);
    if (std::memcmp(host<void>(at), host<void>(parameter<Pointer>(parameters, 1)), bytes) != 0) {
      *host<std::uint32_t>(parameter<Pointer>(parameters, 3)) = 1;
    }
  }
}

// The driver and its one device.
inline void set_device_functions(Driver& driver) {
  driver.init = [](unsigned) { return result("init"); };
  driver.error_string = [](Result, const char** text) {
    *text = "fake error";
    return cuda::kSuccess;
  };
  driver.device_count = [](int* count) {
    *count = gpu.device_count;
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
    switch (attribute) {
      case cuda::kCapabilityMajor:
        *value = 9;
        break;
      case cuda::kCapabilityMinor:
        *value = 0;
        break;
      case cuda::kMemoryClockKhz:
        *value = 3'201'000;
        break;
      case cuda::kMemoryBusBits:
        *value = 6'144;
        break;
      default:
        *value = gpu.failing != "no posix handles";
    }
    return result("device_attribute");
  };
  driver.device_memory = [](std::size_t* bytes, cuda::Ordinal) {
    *bytes = 1ull << 37;
    return cuda::kSuccess;
  };
}

// Contexts and waiting. All work is done at once, so waiting only counts.
inline void set_context_functions(Driver& driver) {
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
    ++gpu.syncs;
    return result("synchronize");
  };
  driver.stream_query = [](cuda::Stream) { return result("stream_query"); };
  driver.reset_persisting = [] { return result("reset_persisting"); };
}

// Exportable allocations are memfds; mapping one maps its memfd.
inline void set_window_functions(Driver& driver) {
  driver.granularity = [](std::size_t* bytes, const cuda::AllocationProperties*, int) {
    *bytes = kGranularity;
    return cuda::kSuccess;
  };
  driver.memory_create = [](cuda::Allocation* allocation, std::size_t bytes,
                            const cuda::AllocationProperties* properties, unsigned long long) {
    if (result("memory_create") != cuda::kSuccess) return result("memory_create");
    if (bytes % kGranularity != 0) return Result{1};
    gpu.asked = *properties;
    const int fd = ::memfd_create("fake", MFD_CLOEXEC);
    KQ_CHECK(::ftruncate(fd, static_cast<off_t>(bytes)) == 0);
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
    KQ_CHECK(gpu.reserved.at(at) == bytes);
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
  driver.set_access = [](Pointer, std::size_t, const cuda::AccessDescription*, std::size_t) {
    return result("set_access");
  };
}

// Memory of the device and of the host is host memory.
inline void set_memory_functions(Driver& driver) {
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
    std::fill(host<unsigned>(to), host<unsigned>(to) + words, word);
    gpu.now_ns += gpu.fill_ns;
    ++gpu.syncs_needed;
    return result("fill_words");
  };
  driver.host_allocate = [](void** at, std::size_t bytes, unsigned) {
    if (result("host_allocate") != cuda::kSuccess) return result("host_allocate");
    *at = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    gpu.host_allocated.insert(*at);
    return cuda::kSuccess;
  };
  driver.host_pointer = [](Pointer* at, void* host_at, unsigned) {
    *at = reinterpret_cast<Pointer>(host_at);
    return result("host_pointer");
  };
  driver.host_free = [](void* at) {
    gpu.host_allocated.erase(at);
    std::free(at);
    return cuda::kSuccess;
  };
}

// Kernels run at the launch, in run_kernel().
inline void set_kernel_functions(Driver& driver) {
  driver.module_load = [](cuda::Module* module, const void* image) {
    KQ_CHECK(std::string(static_cast<const char*>(image)) == cuda::ptx());
    if (result("module_load") != cuda::kSuccess) return result("module_load");
    *module = &gpu;
    ++gpu.modules;
    return cuda::kSuccess;
  };
  driver.module_unload = [](cuda::Module) {
    --gpu.modules;
    return cuda::kSuccess;
  };
  driver.module_function = [](cuda::Function* function, cuda::Module, const char* name) {
    *function = const_cast<std::string*>(&*gpu.functions.insert(name).first);
    return result("module_function");
  };
  driver.launch = [](cuda::Function function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     cuda::Stream, void** parameters, void**) {
    if (result("launch") != cuda::kSuccess) return result("launch");
    const auto& name = *static_cast<const std::string*>(function);
    run_kernel(name, parameters);
    // A host that sees the stamp knows that all work before it is complete.
    gpu.syncs_needed = name == "kq_stamp" ? 0 : gpu.syncs_needed + 1;
    return cuda::kSuccess;
  };
}

// Returns a driver whose functions work on fake::gpu.
inline Driver fake_driver() {
  Driver driver{};
  set_device_functions(driver);
  set_context_functions(driver);
  set_window_functions(driver);
  set_memory_functions(driver);
  set_kernel_functions(driver);
  return driver;
}

}  // namespace kq::judge::fake
