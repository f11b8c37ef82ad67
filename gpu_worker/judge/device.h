// The port to where tensors live: host memory (cpu_device.cc) or a GPU (cuda_device.cc). Everything above it is the same code for both.
//
// A window is shared with one child by its descriptor; a private buffer is never mapped by anyone else. Every operation is complete
// when it returns. An Error is always our own fault; "no room" is a normal answer and comes back as a null pointer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/device.h"
#include "core/error.h"

namespace kq::judge {

// A piece of device memory, released when it goes away.
class Memory {
 public:
  virtual ~Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::uint64_t bytes() const { return bytes_; }          // at least what was asked for
  std::uint64_t address() const { return address_; }      // in the device's own terms
  int fd() const { return fd_; }                          // what a child maps; -1 for a private buffer

 protected:
  Memory() = default;

  std::uint64_t bytes_ = 0;
  std::uint64_t address_ = 0;
  int fd_ = -1;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;
  virtual Expected<std::unique_ptr<Memory>> make_window(std::uint64_t bytes) = 0;
  virtual Expected<std::unique_ptr<Memory>> make_private(std::uint64_t bytes) = 0;

  virtual Expected<void> copy(const Memory& to, std::uint64_t to_offset, const Memory& from, std::uint64_t from_offset,
                              std::uint64_t bytes) = 0;
  virtual Expected<void> read(std::span<std::byte> to, const Memory& from, std::uint64_t offset) = 0;
  // Writes `word` over and over; offset and bytes are multiples of four.
  virtual Expected<void> fill(const Memory& to, std::uint64_t offset, std::uint64_t bytes, std::uint32_t word) = 0;
  // Runs one word of work in the judge's own context and waits for it: on a GPU it waits for whatever a child left running.
  virtual Expected<void> probe() = 0;
};

}  // namespace kq::judge
