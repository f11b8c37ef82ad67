// The port to the GPU of a launcher child: what it takes to load one module, launch its kernel on the default stream
// and wait for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "gpu_worker/channel/channel.h"
#include "gpu_worker/child/launcher/launch_plan.h"

namespace kq::launcher {

// What a child says against itself.
struct Fault {
  channel::Failure failure = channel::Failure::runtime_error;
  std::string text;
};
template <class T>
using Outcome = tl::expected<T, Fault>;

inline constexpr std::size_t kShortBytes = 256u << 20;

class Gpu {
 public:
  virtual ~Gpu() = default;
  // Memory that the judge shares; its address here. The descriptor stays the caller's.
  virtual Outcome<std::uint64_t> map(int fd, std::uint64_t bytes) = 0;
  virtual Outcome<void> unmap(std::uint64_t address, std::uint64_t bytes) = 0;
  // The kernel that launch() launches.
  virtual Outcome<void> load(std::string_view cubin, const LaunchPlan& plan) = 0;
  virtual Outcome<void> copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) = 0;
  virtual Outcome<void> launch(const LaunchPlan& plan, void** parameters) = 0;
  // So many bytes are written there, or in memory of its own, which is made for it; at least a word.
  virtual Outcome<void> write(std::uint64_t at, std::uint64_t bytes) = 0;
  virtual Outcome<void> write_own(std::uint64_t bytes) = 0;
  virtual Outcome<void> synchronize() = 0;
  // The device's memory is as good as full, and this one's context with it: less than kShortBytes are free
  // (harness/ready.py says what comes of that).
  virtual bool is_short() const { return false; }
};

// The first GPU this process may see, by the driver; its context is made.
Outcome<std::unique_ptr<Gpu>> open_gpu();

}  // namespace kq::launcher
