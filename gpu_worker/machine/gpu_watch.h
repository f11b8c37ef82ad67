// What the driver says of a GPU, asked from outside of every process that uses it: how it runs, whether all of a
// child's memory came back, and whether the device complained.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace kq::worker {

class GpuWatch {
 public:
  virtual ~GpuWatch() = default;
  // Memory in use that belongs to no process that runs; nothing where the driver does not tell what belongs to whom.
  virtual std::optional<std::uint64_t> unowned_bytes() = 0;
  // Xid numbers since the last time this was asked.
  virtual std::vector<std::uint64_t> errors() = 0;
  // Clocks and all else but who uses it, which is told apart elsewhere. A few questions of 0.1 to 2 ms each: not
  // between two trials.
  virtual Conditions conditions() = 0;
  // Everybody who has a context there; nothing where the driver does not tell.
  virtual std::optional<std::vector<GpuProcess>> processes() = 0;
};

// By NVML, opened with dlopen. Null where there is no such GPU or no NVML.
std::unique_ptr<GpuWatch> watch_gpu(const std::string& uuid);

// One device behind a job. The state to come back to is that of its construction, when no job has run.
class Cleanliness {
 public:
  explicit Cleanliness(std::unique_ptr<GpuWatch> watch);
  // What is wrong with the device, in a sentence; nothing when all is well. By the errors that the driver has reported
  // since last asked.
  std::optional<std::string> driver_complaint();
  // Waits until what a dead child had is free again, at most limit_ms. From any thread.
  std::optional<std::string> memory_complaint(std::int64_t limit_ms) const;
  // How it runs now, and who else uses it. `judge` has a context there: where the driver does not list its number,
  // numbers are another namespace's, and nobody can be told.
  std::optional<Conditions> conditions(int judge);

 private:
  std::unique_ptr<GpuWatch> watch_;
  std::optional<std::uint64_t> ownerless_at_first_;
};

// Errors that are the doing of a program and end with it, by NVIDIA's list of Xid numbers; after any other the device
// is not trusted.
bool ends_with_its_program(std::uint64_t xid);

// NVML's clock event reasons in nvidia-smi's words, comma separated: "none", "sw_power_cap,hw_thermal_slowdown". A bit
// without a word is told as a number.
std::string throttle_words(std::uint64_t reasons);

}  // namespace kq::worker
