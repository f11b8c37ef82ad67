#include "gpu_worker/judge/device/cpu_device.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include "core/base/check.h"
#include "sys/error_text.h"
#include "sys/fd.h"
#include "sys/text_line.h"

namespace kq::judge {
namespace {

std::string system_error(const char* what) {
  return sys::error_text(what);
}

std::string text_of(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class HostMemory : public Memory {
 public:
  HostMemory(void* at, std::uint64_t bytes, sys::Fd fd) : at_(at), file_(std::move(fd)) {
    bytes_ = bytes;
    address_ = reinterpret_cast<std::uint64_t>(at);
    fd_ = file_.get();
  }
  ~HostMemory() override { ::munmap(at_, bytes_); }

 private:
  void* at_;
  sys::Fd file_;
};

std::byte* at(const Memory& memory, std::uint64_t offset, std::uint64_t bytes) {
  KQ_CHECK(offset <= memory.bytes() && bytes <= memory.bytes() - offset);
  return reinterpret_cast<std::byte*>(memory.address()) + offset;
}

class CpuDevice : public Device {
 public:
  explicit CpuDevice(DeviceInfo info) : info_(std::move(info)) {}

  const DeviceInfo& info() const override { return info_; }

  Expected<std::unique_ptr<Memory>> make_window(std::uint64_t asked) override {
    const std::uint64_t bytes = rounded(asked);
    if (!has_room(bytes)) return std::unique_ptr<Memory>();
    sys::Fd file(::memfd_create("kq-window", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file) return our_fault(system_error("memfd_create for a window"));
    if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
      return our_fault(system_error("ftruncate of a window"));
    // Without the seals a child could shrink the file, and the judge would die of SIGBUS.
    if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
      return our_fault(system_error("sealing a window"));
    }
    return map(bytes, MAP_SHARED, std::move(file));
  }

  Expected<std::unique_ptr<Memory>> make_private(std::uint64_t asked) override {
    const std::uint64_t bytes = rounded(asked);
    if (!has_room(bytes)) return std::unique_ptr<Memory>();
    return map(bytes, MAP_PRIVATE | MAP_ANONYMOUS, sys::Fd());
  }

  Expected<void> copy(const Memory& to, std::uint64_t to_offset, const Memory& from, std::uint64_t from_offset,
                      std::uint64_t bytes) override {
    std::memcpy(at(to, to_offset, bytes), at(from, from_offset, bytes), bytes);
    return {};
  }

  Expected<void> read(std::span<std::byte> to, const Memory& from, std::uint64_t offset) override {
    if (!to.empty()) std::memcpy(to.data(), at(from, offset, to.size()), to.size());
    return {};
  }

  Expected<void> fill(const Memory& to, std::uint64_t offset, std::uint64_t bytes, std::uint32_t word) override {
    KQ_CHECK(offset % 4 == 0 && bytes % 4 == 0);
    std::byte* const start = at(to, offset, bytes);
    auto* const words = reinterpret_cast<std::uint32_t*>(start);
    std::fill(words, words + bytes / 4, word);
    return {};
  }

  std::int64_t occupancy_gap_ns() override { return 0; }

 private:
  // Any core may run a child at any time, so a spin could not occupy the device.
  Expected<void> close_gate() override { return {}; }
  Expected<void> start_spin() override { return {}; }
  void stop_spin() override {}
  Expected<void> run_probe() override { return {}; }
  Expected<void> settle() override { return {}; }

  static std::uint64_t rounded(std::uint64_t bytes) {
    constexpr std::uint64_t kPage = 4096;
    return std::max<std::uint64_t>((bytes + kPage - 1) / kPage * kPage, kPage);
  }
  static bool has_room(std::uint64_t bytes) {
    const std::uint64_t available = available_bytes(text_of("/proc/meminfo"));
    return available == 0 || bytes <= available;
  }
  static Expected<std::unique_ptr<Memory>> map(std::uint64_t bytes, int flags, sys::Fd file) {
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file.get(), 0);
    if (at == MAP_FAILED && errno == ENOMEM) return std::unique_ptr<Memory>();
    if (at == MAP_FAILED) return our_fault(system_error("mmap of a window or buffer"));
    return std::unique_ptr<Memory>(new HostMemory(at, bytes, std::move(file)));
  }

  DeviceInfo info_;
};

}  // namespace

Expected<std::unique_ptr<Device>> open_cpu_device() {
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  DeviceInfo info{.kind = DeviceKind::cpu,
                  .model = cpu_model(text_of("/proc/cpuinfo")),
                  .uuid = {},
                  .arch = {},
                  .memory_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * page_bytes};
  return std::unique_ptr<Device>(new CpuDevice(std::move(info)));
}

std::string cpu_model(std::string_view cpuinfo) {
  const std::string_view name = sys::value_of(cpuinfo, "model name");
  return name.empty() ? "CPU" : std::string(name);
}

std::uint64_t available_bytes(std::string_view meminfo) {
  const std::string_view value = sys::value_of(meminfo, "MemAvailable");
  std::uint64_t kib = 0;
  std::from_chars(value.data(), value.data() + value.size(), kib);
  return kib << 10;
}

}  // namespace kq::judge
