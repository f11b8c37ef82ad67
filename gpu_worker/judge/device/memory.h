// Device memory that the judge owns, parts of it, and the arena behind a window.
#pragma once

#include <cstdint>

#include "core/base/check.h"

namespace kq::judge {

// A piece of device memory. The destructor of a derived class releases the memory.
class Memory {
 public:
  virtual ~Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::uint64_t bytes() const { return bytes_; }      // at least the number that was requested
  std::uint64_t address() const { return address_; }  // a host address on a CPU, a device pointer on a GPU
  int fd() const { return fd_; }                      // the descriptor that a child maps; -1 for a private buffer

 protected:
  Memory() = default;

  std::uint64_t bytes_ = 0;
  std::uint64_t address_ = 0;
  int fd_ = -1;
};

// A part of another piece of memory. The whole piece must outlive the part.
class PartMemory : public Memory {
 public:
  PartMemory(const Memory& whole, std::uint64_t offset, std::uint64_t bytes) {
    KQ_CHECK(offset <= whole.bytes() && bytes <= whole.bytes() - offset);
    address_ = whole.address() + offset;
    bytes_ = bytes;
  }
};

// The end of a window, from `begin` on, in which a child's calls allocate their outputs. The memory must outlive the
// arena; where `memory` is null there is no arena.
struct Arena {
  const Memory* memory = nullptr;
  std::uint64_t begin = 0;
  std::uint64_t bytes() const { return memory->bytes() - begin; }
};

}  // namespace kq::judge
