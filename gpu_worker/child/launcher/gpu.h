// The GPU as a launcher child sees it: an interface to load one module, launch its kernel on the default stream, and
// wait for it. driver_gpu.cc implements it; tests replace it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "gpu_worker/channel/channel.h"
#include "gpu_worker/child/launcher/launch_plan.h"

namespace kq::launcher {

// A failure that the child reports to the judge.
struct Fault {
  channel::Failure failure = channel::Failure::runtime_error;
  std::string text;
};
template <class T>
using Outcome = tl::expected<T, Fault>;

// If less device memory than this is free, the device counts as full.
inline constexpr std::size_t kShortBytes = 256u << 20;

class Gpu {
 public:
  virtual ~Gpu() = default;
  // Maps memory that the judge shares, and returns its address in this process. The descriptor stays the caller's.
  virtual Outcome<std::uint64_t> map(int fd, std::uint64_t bytes) = 0;
  virtual Outcome<void> unmap(std::uint64_t address, std::uint64_t bytes) = 0;
  // Loads the module and finds the kernel that launch() launches.
  virtual Outcome<void> load(std::string_view cubin, const LaunchPlan& plan) = 0;
  virtual Outcome<void> copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) = 0;
  virtual Outcome<void> launch(const LaunchPlan& plan, void** parameters) = 0;
  // Writes `bytes` bytes, and at least one word: write() at an address, write_own() in memory that this object
  // allocates.
  virtual Outcome<void> write(std::uint64_t at, std::uint64_t bytes) = 0;
  virtual Outcome<void> write_own(std::uint64_t bytes) = 0;
  virtual Outcome<void> synchronize() = 0;
  // Returns whether less than kShortBytes of the device's memory are free. harness/children/preforked.py says why such
  // a child is not used.
  virtual bool is_short() const { return false; }
};

// Opens the first visible GPU with the CUDA driver, and creates a context on it.
Outcome<std::unique_ptr<Gpu>> open_gpu();

}  // namespace kq::launcher
