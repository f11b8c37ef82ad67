// Host memory that the judge's kernels write to, and functions that wait for what they write. The host polls the memory
// and does not ask the driver, which would take longer than the kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>

#include "core/base/error.h"
#include "gpu_worker/judge/device/cuda_driver.h"

namespace kq::judge::cuda {

// Page-locked memory that has an address on the host and one on the GPU.
class MappedBytes {
 public:
  // `driver` must outlive this object.
  explicit MappedBytes(const Driver& driver) : driver_(driver) {}
  ~MappedBytes();
  MappedBytes(const MappedBytes&) = delete;
  MappedBytes& operator=(const MappedBytes&) = delete;

  Expected<void> open(std::size_t bytes);
  void* host() const { return host_; }
  Pointer device() const { return device_; }

 private:
  const Driver& driver_;
  void* host_ = nullptr;
  Pointer device_ = 0;
};

// A T in such memory. open() initialises it with T{}.
template <class T>
class Mapped {
 public:
  explicit Mapped(const Driver& driver) : bytes_(driver) {}

  Expected<void> open() {
    return bytes_.open(sizeof(T)).map([this] { at_ = new (bytes_.host()) T{}; });
  }
  T* get() const { return at_; }
  T* operator->() const { return at_; }
  // Returns the GPU's address of the member at this offset.
  Pointer device(std::size_t offset) const { return bytes_.device() + offset; }

 private:
  MappedBytes bytes_;
  T* at_ = nullptr;
};

// Wait until is_there() returns true, or until the GPU has written `number` to `word`. Fail where the GPU's context has
// broken, or after ten seconds.
Expected<void> await_word(const Driver& driver, const std::function<bool()>& is_there);
Expected<void> await_number(const Driver& driver, std::uint32_t& word, std::uint32_t number);

}  // namespace kq::judge::cuda
