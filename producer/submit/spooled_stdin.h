// A file in place of something that can be read only once: standard input, which is looked at, judged and then sent.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "core/base/error.h"

namespace kq::producer {

// Removed with its object.
class StandIn {
 public:
  // Copies everything that comes from a descriptor, to its end. The name ends in .jsonl where the first character is a
  // brace, else in .cu where a kernel is defined and nothing is imported, else in .py.
  static Expected<StandIn> of(int descriptor);
  StandIn(StandIn&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  StandIn& operator=(StandIn&&) = delete;
  ~StandIn();

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit StandIn(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace kq::producer
