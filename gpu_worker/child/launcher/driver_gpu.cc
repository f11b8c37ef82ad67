// Implements Gpu with the CUDA driver, which is opened with dlopen.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <utility>

#include "gpu_worker/child/launcher/gpu.h"
#include "gpu_worker/child/runtime/runtime.h"
#include "gpu_worker/judge/device/cuda_driver.h"

namespace kq::launcher {
namespace {

namespace cuda = judge::cuda;
using channel::Failure;

constexpr char kLibrary[] = "libcuda.so.1";
constexpr int kMaxDynamicShared = 8;                   // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr std::uint32_t kSharedByDefault = 48u << 10;  // bytes that a kernel may use without the attribute
constexpr std::size_t kErrorBytes = 512;
// CUDA results that mean a fault of the kernel: ECC error, illegal address, launch out of resources, assertion,
// hardware stack error, illegal instruction, misaligned address, invalid address space, invalid program counter, launch
// failure.
constexpr cuda::Result kFaults[] = {214, 700, 701, 710, 714, 715, 716, 717, 718, 719};

class DriverGpu : public Gpu {
 public:
  Outcome<void> open() {
    auto driver = cuda::open_driver(kLibrary);
    if (!driver) return tl::unexpected(Fault{Failure::unsupported_here, driver.error().message});
    driver_ = *driver;
    void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_NOLOAD);
    set_attribute_ =
        library == nullptr ? nullptr : reinterpret_cast<SetAttribute>(::dlsym(library, "cuFuncSetAttribute"));
    memory_info_ = library == nullptr ? nullptr : reinterpret_cast<MemoryInfo>(::dlsym(library, "cuMemGetInfo_v2"));
    if (set_attribute_ == nullptr || memory_info_ == nullptr) {
      return tl::unexpected(
          Fault{Failure::unsupported_here, "the CUDA driver has no cuFuncSetAttribute or no cuMemGetInfo"});
    }
    cuda::Ordinal device = 0;
    cuda::Context context = nullptr;
    return checked("starting CUDA", driver_.init(0))
        .and_then([&] { return checked("finding the device", driver_.device_get(&device, 0)); })
        .and_then([&] { return checked("making a context", driver_.context_flags(device, cuda::kScheduleSpin)); })
        .and_then([&] { return checked("making a context", driver_.context_retain(&context, device)); })
        .and_then([&] { return checked("making a context", driver_.context_set_current(context)); })
        .and_then([&] { return write_own(256); })
        .and_then([&] { return use_clock(); })
        .and_then([&] { return synchronize(); });
  }

  Outcome<std::uint64_t> map(int fd, std::uint64_t bytes) override {
    std::array<char, kErrorBytes> error{};
    std::uint64_t address = 0;
    if (kq_map_cuda_window(fd, bytes, &address, error.data(), error.size()) != 0)
      return tl::unexpected(Fault{Failure::runtime_error, error.data()});
    return address;
  }

  Outcome<void> unmap(std::uint64_t address, std::uint64_t bytes) override {
    std::array<char, kErrorBytes> error{};
    if (kq_unmap_cuda_window(address, bytes, error.data(), error.size()) != 0)
      return tl::unexpected(Fault{Failure::runtime_error, error.data()});
    return {};
  }

  Outcome<void> load(std::string_view cubin, const LaunchPlan& plan) override {
    cuda::Module module = nullptr;  // is never unloaded: the process loads one
    auto loaded = checked("loading the module", driver_.module_load(&module, cubin.data())).and_then([&] {
      return checked("finding kernel " + plan.kernel, driver_.module_function(&function_, module, plan.kernel.c_str()));
    });
    if (loaded && plan.shared_bytes > kSharedByDefault) {
      loaded = checked("asking for " + std::to_string(plan.shared_bytes) + " bytes of shared memory",
                       set_attribute_(function_, kMaxDynamicShared, static_cast<int>(plan.shared_bytes)));
    }
    return loaded;
  }

  Outcome<void> copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) override {
    return checked("copying an input", driver_.copy(to, from, bytes));
  }

  // Launches on the legacy default stream. No code of a submission runs here that could choose another stream.
  Outcome<void> launch(const LaunchPlan& plan, void** parameters) override {
    const auto& [grid, block] = std::pair(plan.grid, plan.block);
    return checked("launching", driver_.launch(function_, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                               plan.shared_bytes, nullptr, parameters, nullptr));
  }

  Outcome<void> write(std::uint64_t at, std::uint64_t bytes) override {
    return checked("writing memory", driver_.fill_words(at, 1, std::max<std::uint64_t>(bytes / 4, 1)));
  }
  Outcome<void> write_own(std::uint64_t bytes) override {
    if (bytes > own_bytes_) {
      if (auto had = checked("giving back memory", driver_.free(own_)); !had) return had;
      own_ = 0;
      own_bytes_ = 0;
      if (auto got = checked("getting memory", driver_.allocate(&own_, bytes)); !got) return got;
      own_bytes_ = bytes;
    }
    return write(own_, bytes);
  }
  Outcome<void> synchronize() override { return checked("waiting", driver_.synchronize()); }
  bool is_short() const override {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    return memory_info_(&free_bytes, &total_bytes) == cuda::kSuccess && free_bytes < kShortBytes;
  }

 private:
  using SetAttribute = cuda::Result (*)(cuda::Function, int, int);
  using MemoryInfo = cuda::Result (*)(std::size_t* free, std::size_t* total);

  static Outcome<void> use_clock() {
    std::array<char, kErrorBytes> error{};
    if (kq_clock_use_cuda(error.data(), error.size()) != 0)
      return tl::unexpected(Fault{Failure::runtime_error, error.data()});
    return {};
  }

  // Turns a result of the driver into an Outcome; `what` says what was being done.
  Outcome<void> checked(const std::string& what, cuda::Result result) const {
    if (result == cuda::kSuccess) return {};
    const char* words = nullptr;
    if (driver_.error_string(result, &words) != cuda::kSuccess || words == nullptr) words = "unknown error";
    const bool is_fault = std::find(std::begin(kFaults), std::end(kFaults), result) != std::end(kFaults);
    const Failure failure = is_fault                       ? Failure::gpu_fault
                            : result == cuda::kOutOfMemory ? Failure::out_of_gpu_memory
                                                           : Failure::runtime_error;
    return tl::unexpected(
        Fault{failure, "CUDA error: " + std::string(words) + " (" + std::to_string(result) + "), " + what});
  }

  cuda::Driver driver_{};
  SetAttribute set_attribute_ = nullptr;
  MemoryInfo memory_info_ = nullptr;
  cuda::Function function_ = nullptr;
  cuda::Pointer own_ = 0;
  std::uint64_t own_bytes_ = 0;
};

}  // namespace

Outcome<std::unique_ptr<Gpu>> open_gpu() {
  auto gpu = std::make_unique<DriverGpu>();
  KQ_TRY(gpu->open());
  return std::unique_ptr<Gpu>(std::move(gpu));
}

}  // namespace kq::launcher
