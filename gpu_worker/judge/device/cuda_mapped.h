// Host memory that the judge's kernels write to, and how the host waits for what comes there: without asking the
// driver, which takes longer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>

#include "core/base/error.h"
#include "gpu_worker/judge/device/cuda_driver.h"

namespace kq::judge::cuda {

// Bytes that host and GPU see alike.
class MappedBytes {
 public:
  // `driver` outlives this.
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

// A T among them; zeros at first.
template <class T>
class Mapped {
 public:
  explicit Mapped(const Driver& driver) : bytes_(driver) {}

  Expected<void> open() {
    return bytes_.open(sizeof(T)).map([this] { at_ = new (bytes_.host()) T{}; });
  }
  T* get() const { return at_; }
  T* operator->() const { return at_; }
  // For kernels: where the member at this offset lies.
  Pointer device(std::size_t offset) const { return bytes_.device() + offset; }

 private:
  MappedBytes bytes_;
  T* at_ = nullptr;
};

// Until the GPU has written there what is waited for, or the number. An Error where its context broke, or after ten
// seconds.
Expected<void> await_word(const Driver& driver, const std::function<bool()>& is_there);
Expected<void> await_number(const Driver& driver, std::uint32_t& word, std::uint32_t number);

}  // namespace kq::judge::cuda
