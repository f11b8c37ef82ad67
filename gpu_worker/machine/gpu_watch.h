// Observes a GPU through its driver, without a CUDA context: its clocks and temperature, memory that was not freed, and
// errors.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace kq::worker {

// The queries about one GPU; watch_gpu() makes the implementation by NVML, tests make others.
class GpuWatch {
 public:
  virtual ~GpuWatch() = default;
  // Returns the bytes of GPU memory in use that belong to no running process, or nothing if the driver does not report
  // memory by process.
  virtual std::optional<std::uint64_t> unowned_bytes() = 0;
  // Returns the numbers of the Xid errors that the driver reported since the last call.
  virtual std::vector<std::uint64_t> errors() = 0;
  // Returns clocks, temperature, power and throttling; leaves `foreign` unset. Each value takes 0.1 to 2 ms to read, so
  // this must not be called between two trials.
  virtual Conditions conditions() = 0;
  // Returns the processes with a context on the GPU, or nothing if the driver does not report them.
  virtual std::optional<std::vector<GpuProcess>> processes() = 0;
};

// Opens NVML with dlopen. Returns null if there is no NVML or no GPU with this UUID.
std::unique_ptr<GpuWatch> watch_gpu(const std::string& uuid);

// Checks that jobs leave a device as it was when this object was made.
class DeviceHealth {
 public:
  explicit DeviceHealth(std::unique_ptr<GpuWatch> watch);
  // Returns a sentence if the driver has reported an error since the last call that does not end with the program that
  // caused it.
  std::optional<std::string> driver_error();
  // Waits until the memory of dead children is free again. Returns a sentence if some is not after `limit_ms`.
  // Thread-safe.
  std::optional<std::string> unreturned_memory(std::int64_t limit_ms) const;
  // Returns the state of the device and the processes of others on it. `judge` is the process id of the judge, which
  // has a context: if the driver's list does not have it, the list is of another pid namespace, and `foreign` stays
  // unset.
  std::optional<Conditions> conditions(int judge);

 private:
  std::unique_ptr<GpuWatch> watch_;
  std::optional<std::uint64_t> initial_unowned_bytes_;
};

// Whether an Xid error is caused by a program and ends with it, by NVIDIA's list of Xid numbers. After any other error
// the device is quarantined.
bool is_program_error(std::uint64_t xid);

// Returns NVML's clock event reasons by nvidia-smi's names, separated by commas: "none" or
// "sw_power_cap,hw_thermal_slowdown". A bit without a name becomes a hexadecimal number.
std::string throttle_names(std::uint64_t reasons);

}  // namespace kq::worker
