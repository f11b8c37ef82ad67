#include "gpu_worker/judge/device/cuda_device.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "gpu_worker/judge/device/cuda_compare.h"
#include "gpu_worker/judge/device/cuda_kernels.h"
#include "gpu_worker/judge/device/cuda_measure.h"
#include "gpu_worker/judge/device/cuda_spin_kernel.h"
#include "sys/fd.h"

namespace kq::judge {
namespace {

using cuda::Driver;
using cuda::error_of;
using cuda::kSuccess;
using cuda::Pointer;
using cuda::Result;

tl::unexpected<Error> failed(const Driver& driver, const char* function, Result result) {
  return failure(error_of(driver, function, result));
}

// Memory of cuMemAlloc.
class PrivateMemory : public Memory {
 public:
  PrivateMemory(const Driver& driver, Pointer at, std::uint64_t bytes) : driver_(driver) {
    address_ = at;
    bytes_ = bytes;
  }
  ~PrivateMemory() override { driver_.free(address_); }

 private:
  const Driver& driver_;
};

// A mapped allocation with its exported descriptor. build() makes it in several steps, and the destructor undoes those
// that succeeded.
class WindowMemory : public Memory {
 public:
  WindowMemory(const Driver& driver, std::uint64_t bytes) : driver_(driver) { bytes_ = bytes; }
  ~WindowMemory() override {
    if (is_mapped_) driver_.memory_unmap(address_, bytes_);
    if (address_ != 0) driver_.address_free(address_, bytes_);
    if (allocation_) driver_.memory_release(*allocation_);
  }

  // Returns false where the device has no room.
  Expected<bool> build(const cuda::AllocationProperties& properties) {
    cuda::Allocation allocation = 0;
    const Result created = driver_.memory_create(&allocation, bytes_, &properties, 0);
    if (created == cuda::kOutOfMemory) return false;
    if (created != kSuccess) return failed(driver_, "cuMemCreate", created);
    allocation_ = allocation;
    int exported = -1;
    if (const Result r = driver_.memory_export(&exported, allocation, cuda::kPosixFileDescriptor, 0); r != kSuccess) {
      return failed(driver_, "cuMemExportToShareableHandle", r);
    }
    file_ = sys::Fd(exported);
    fd_ = exported;
    if (const Result r = driver_.address_reserve(&address_, bytes_, 0, 0, 0); r != kSuccess) {
      address_ = 0;
      return failed(driver_, "cuMemAddressReserve", r);
    }
    if (const Result r = driver_.memory_map(address_, bytes_, 0, allocation, 0); r != kSuccess)
      return failed(driver_, "cuMemMap", r);
    is_mapped_ = true;
    const cuda::AccessDescription access{properties.location, cuda::kReadWrite};
    if (const Result r = driver_.set_access(address_, bytes_, &access, 1); r != kSuccess)
      return failed(driver_, "cuMemSetAccess", r);
    return true;
  }

 private:
  const Driver& driver_;
  std::optional<cuda::Allocation> allocation_;
  sys::Fd file_;
  bool is_mapped_ = false;
};

class CudaDevice : public Device {
 public:
  CudaDevice(const Driver& driver, cuda::Ordinal ordinal) : driver_(driver), ordinal_(ordinal) {}
  ~CudaDevice() override {
    spin_.reset();
    comparisons_.reset();
    kernels_.reset();
    if (is_retained_) driver_.context_release(ordinal_);
  }

  Expected<void> open(int index) {
    return describe(index).and_then([this] { return make_context(); }).and_then([this] { return make_kernels(); });
  }

  const DeviceInfo& info() const override { return info_; }

  Expected<std::unique_ptr<Memory>> make_window(std::uint64_t asked) override {
    const cuda::AllocationProperties properties = window_properties();
    const std::uint64_t bytes = std::max<std::uint64_t>((asked + granularity_ - 1) / granularity_, 1) * granularity_;
    auto window = std::make_unique<WindowMemory>(driver_, bytes);
    KQ_TRY_VALUE(const auto built, window->build(properties));
    return std::unique_ptr<Memory>(built ? std::move(window) : nullptr);
  }

  Expected<std::unique_ptr<Memory>> make_private(std::uint64_t asked) override {
    const std::uint64_t bytes = std::max<std::uint64_t>(asked, 4);
    Pointer at = 0;
    const Result allocated = driver_.allocate(&at, bytes);
    if (allocated == cuda::kOutOfMemory) return std::unique_ptr<Memory>();
    if (allocated != kSuccess) return failed(driver_, "cuMemAlloc", allocated);
    return std::unique_ptr<Memory>(new PrivateMemory(driver_, at, bytes));
  }

  Expected<void> copy(const Memory& to, std::uint64_t to_offset, const Memory& from, std::uint64_t from_offset,
                      std::uint64_t bytes) override {
    const Pointer target = at(to, to_offset, bytes);
    const Pointer source = at(from, from_offset, bytes);
    if (bytes == 0) return {};
    if (const Result r = driver_.copy(target, source, bytes); r != kSuccess) return failed(driver_, "cuMemcpyDtoD", r);
    if (spin_) spin_->note_copied(bytes);
    return complete();
  }

  Expected<void> read(std::span<std::byte> to, const Memory& from, std::uint64_t offset) override {
    const Pointer source = at(from, offset, to.size());
    if (to.empty()) return {};
    const Result r = driver_.copy_to_host(to.data(), source, to.size());
    return r == kSuccess ? Expected<void>() : failed(driver_, "cuMemcpyDtoH", r);
  }

  Expected<void> fill(const Memory& to, std::uint64_t offset, std::uint64_t bytes, std::uint32_t word) override {
    KQ_CHECK(offset % 4 == 0 && bytes % 4 == 0);
    const Pointer target = at(to, offset, bytes);
    if (bytes == 0) return {};
    if (const Result r = driver_.fill_words(target, word, bytes / 4); r != kSuccess)
      return failed(driver_, "cuMemsetD32", r);
    if (spin_) spin_->note_copied(bytes);
    return complete();
  }

  Expected<std::optional<ErrorRecord>> measure(const DeviceComparison& comparison) override {
    const auto format = real_format(comparison);
    if (!format) return std::optional<ErrorRecord>();
    const auto [expected, got] = sides(comparison);
    return measured<ErrorRecord>([&](Pointer records) {
      return kernels_->measure(*format, expected, got, comparison.bytes / format->part_bytes, comparison.tolerance.rtol,
                               comparison.tolerance.atol, records);
    });
  }

  Expected<std::optional<TruthRecord>> measure_by_truth(const DeviceTruth& truth,
                                                        const DeviceComparison& comparison) override {
    const auto format = real_format(comparison);
    if (!format || (truth.dtype != channel::Dtype::float64 && truth.dtype != channel::Dtype::float32))
      return std::optional<TruthRecord>();
    const auto [expected, got] = sides(comparison);
    const auto truth_format = *cuda::float_format(truth.dtype);
    const std::uint64_t numbers = comparison.bytes / format->part_bytes;
    const Pointer exact = at(*truth.memory, truth.offset, numbers * truth_format.part_bytes);
    return measured<TruthRecord>([&](Pointer records) {
      return kernels_->truth(truth_format, exact, *format, expected, got, numbers, comparison.tolerance.rtol,
                             comparison.tolerance.atol, records);
    });
  }

  // Bytes beyond the cache's size go to the memory, on both edges of the memory's clock.
  double write_floor_ns(std::uint64_t bytes) const override {
    const std::uint64_t to_memory = bytes - std::min(bytes, cache_bytes_);
    return memory_bytes_per_ns_ > 0 ? static_cast<double>(to_memory) / memory_bytes_per_ns_ : 0;
  }

  std::int64_t launch_ns(std::int64_t usual_ns) const override { return usual_ns; }
  std::int64_t occupancy_gap_ns() override { return spin_->occupancy_gap_ns(); }
  double memory_slowness() override { return spin_->memory_slowness(); }
  Expected<void> await_quick_memory(std::int64_t limit_ns) override { return spin_->await_quick_memory(limit_ns); }
  Expected<void> run_without_call() override { return spin_->run_once(); }

 private:
  void begin_copies() override { is_copying_ = true; }
  Expected<void> finish_copies() override {
    is_copying_ = false;
    return complete();
  }

  Expected<void> send_comparisons(std::span<const DeviceComparison> comparisons) override {
    KQ_CHECK(comparisons.size() <= kDeviceComparisonsMax);
    comparisons_->begin();
    for (const DeviceComparison& comparison : comparisons) {
      KQ_TRY(add_comparison(comparison));
      spin_->note_copied(comparison.bytes);  // a comparison reads at least half as much as a copy reads and writes
    }
    spin_->note_copied(0);
    return comparisons_->send();
  }
  Expected<std::vector<std::optional<Agreement>>> receive_comparisons() override { return comparisons_->receive(); }

  Expected<void> close_gate() override { return spin_->close_gate(); }
  Expected<void> start_spin() override { return spin_->start_spin(); }
  void stop_spin() override { spin_->stop_spin(); }
  Expected<void> run_probe() override { return spin_->probe(); }
  Expected<void> settle() override { return spin_->settle(); }

  Expected<void> describe(int index) {
    if (const Result r = driver_.device_get(&ordinal_, index); r != kSuccess) return failed(driver_, "cuDeviceGet", r);
    std::array<char, 256> name{};
    if (const Result r = driver_.device_name(name.data(), static_cast<int>(name.size()) - 1, ordinal_); r != kSuccess) {
      return failed(driver_, "cuDeviceGetName", r);
    }
    cuda::Uuid uuid{};
    if (const Result r = driver_.device_uuid(&uuid, ordinal_); r != kSuccess)
      return failed(driver_, "cuDeviceGetUuid", r);
    std::size_t memory_bytes = 0;
    if (const Result r = driver_.device_memory(&memory_bytes, ordinal_); r != kSuccess)
      return failed(driver_, "cuDeviceTotalMem", r);
    const auto major = attribute(cuda::kCapabilityMajor);
    const auto minor = attribute(cuda::kCapabilityMinor);
    const auto has_virtual_memory = attribute(cuda::kHasVirtualMemory);
    const auto has_posix_handles = attribute(cuda::kHasPosixHandles);
    const auto cache_bytes = attribute(cuda::kL2Bytes);
    const auto clock_khz = attribute(cuda::kMemoryClockKhz);
    const auto bus_bits = attribute(cuda::kMemoryBusBits);
    for (const auto& value : {major, minor, has_virtual_memory, has_posix_handles, cache_bytes, clock_khz, bus_bits}) {
      if (!value) return failure(value.error());
    }
    if (*has_virtual_memory == 0 || *has_posix_handles == 0) {
      return our_fault(std::string(name.data()) + " cannot share memory by descriptors, which windows need");
    }
    info_ = {.kind = DeviceKind::cuda,
             .model = name.data(),
             .uuid = uuid_text(uuid),
             .arch = "sm_" + std::to_string(*major) + std::to_string(*minor),
             .memory_bytes = memory_bytes};
    cache_bytes_ = static_cast<std::uint64_t>(*cache_bytes);
    memory_bytes_per_ns_ = 2.0 * *clock_khz / 1e6 * *bus_bits / 8;
    return {};
  }

  Expected<void> make_context() {
    // With this flag the judge spins for the end of the probe, which saves a wake-up. A context that exists already
    // keeps its own flags.
    driver_.context_flags(ordinal_, cuda::kScheduleSpin);
    cuda::Context context = nullptr;
    if (const Result r = driver_.context_retain(&context, ordinal_); r != kSuccess)
      return failed(driver_, "cuDevicePrimaryCtxRetain", r);
    is_retained_ = true;
    if (const Result r = driver_.context_set_current(context); r != kSuccess)
      return failed(driver_, "cuCtxSetCurrent", r);
    const cuda::AllocationProperties properties = window_properties();
    if (const Result r = driver_.granularity(&granularity_, &properties, cuda::kGranularityMinimum); r != kSuccess) {
      return failed(driver_, "cuMemGetAllocationGranularity", r);
    }
    if (granularity_ == 0) return our_fault("cuMemGetAllocationGranularity returned 0");
    return {};
  }

  Expected<void> make_kernels() {
    kernels_.emplace();
    if (auto loaded = kernels_->load(driver_); !loaded) return loaded;
    comparisons_.emplace(driver_, *kernels_);
    if (const auto opened = comparisons_->open(); !opened) return opened;
    spin_.emplace(driver_, *kernels_);
    return spin_->open(cache_bytes_);
  }

  Expected<int> attribute(int number) {
    int value = 0;
    if (const Result r = driver_.device_attribute(&value, number, ordinal_); r != kSuccess)
      return failed(driver_, "cuDeviceGetAttribute", r);
    return value;
  }

  Expected<void> add_comparison(const DeviceComparison& comparison) {
    const Pointer got = at(*comparison.got, comparison.got_offset, comparison.bytes);
    if (comparison.expected == nullptr) return comparisons_->add_word(got, comparison.word, comparison.bytes);
    const Pointer expected = at(*comparison.expected, comparison.expected_offset, comparison.bytes);
    const auto format = comparison.dtype ? cuda::float_format(*comparison.dtype) : std::nullopt;
    return format ? comparisons_->add_numbers(*format, expected, got, comparison.bytes, comparison.tolerance)
                  : comparisons_->add_bytes(expected, got, comparison.bytes);
  }

  // Returns the format of elements that are one floating-point number each, and nothing for others.
  static std::optional<cuda::FloatFormat> real_format(const DeviceComparison& comparison) {
    const auto format = comparison.dtype ? cuda::float_format(*comparison.dtype) : std::nullopt;
    return format && format->part_bytes == channel::element_bytes(*comparison.dtype) ? format : std::nullopt;
  }

  static std::pair<Pointer, Pointer> sides(const DeviceComparison& comparison) {
    return {at(*comparison.expected, comparison.expected_offset, comparison.bytes),
            at(*comparison.got, comparison.got_offset, comparison.bytes)};
  }

  // Returns what the records say that `launch` has a kernel write. Reading them waits for the kernel.
  template <class Record>
  Expected<std::optional<Record>> measured(const std::function<Expected<void>(Pointer records)>& launch) {
    KQ_TRY_VALUE(const auto memory, make_private(cuda::kMeasureThreads * sizeof(Record)));
    if (!memory) return std::optional<Record>();
    KQ_TRY(launch(memory->address()));
    std::vector<Record> records(cuda::kMeasureThreads);
    KQ_TRY(read(std::as_writable_bytes(std::span(records)), *memory, 0));
    return std::optional<Record>(merged(records));
  }

  // Waits for a copy or fill, unless it is only to be queued.
  Expected<void> complete() {
    return is_copying_ || (spin_ && spin_->is_gate_closed()) ? Expected<void>() : synchronize();
  }

  Expected<void> synchronize() {
    const Result r = driver_.synchronize();
    return r == kSuccess ? Expected<void>() : failed(driver_, "cuCtxSynchronize", r);
  }

  cuda::AllocationProperties window_properties() const {
    return {.type = cuda::kPinned,
            .requested_handle_types = cuda::kPosixFileDescriptor,
            .location = {cuda::kOnDevice, ordinal_},
            .win32_handle_metadata = nullptr,
            .flags = {}};
  }

  static Pointer at(const Memory& memory, std::uint64_t offset, std::uint64_t bytes) {
    KQ_CHECK(offset <= memory.bytes() && bytes <= memory.bytes() - offset);
    return memory.address() + offset;
  }

  // Returns the form of nvidia-smi: GPU-12345678-1234-1234-1234-123456789abc
  static std::string uuid_text(const cuda::Uuid& uuid) {
    std::string text = "GPU";
    for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
      if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
      std::array<char, 3> hex{};
      std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned>(uuid.bytes[i]));
      text += hex.data();
    }
    return text;
  }

  Driver driver_;
  cuda::Ordinal ordinal_;
  DeviceInfo info_;
  std::uint64_t cache_bytes_ = 0;
  double memory_bytes_per_ns_ = 0;
  std::size_t granularity_ = 0;
  bool is_retained_ = false;
  bool is_copying_ = false;
  std::optional<cuda::Kernels> kernels_;
  std::optional<cuda::SpinKernel> spin_;
  std::optional<cuda::Comparisons> comparisons_;
};

}  // namespace

Expected<std::unique_ptr<Device>> open_cuda_device(int index) {
  KQ_TRY_VALUE(const auto driver, cuda::open_driver());
  return open_cuda_device(driver, index);
}

Expected<std::unique_ptr<Device>> open_cuda_device(const Driver& driver, int index) {
  int count = 0;
  const Result initialised = driver.init(0);
  if (initialised != kSuccess || driver.device_count(&count) != kSuccess || index < 0 || index >= count) {
    const std::string why = initialised == kSuccess ? "there are " + std::to_string(count)
                                                    : error_of(driver, "cuInit", initialised).message;
    return failure({ErrorKind::not_found, "no CUDA device " + std::to_string(index) + ": " + why});
  }
  auto device = std::make_unique<CudaDevice>(driver, 0);
  KQ_TRY(device->open(index));
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace kq::judge
