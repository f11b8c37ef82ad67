// The files of a checkpoint, as they are sent to a standby.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "sys/fd.h"

namespace kq::broker {

// Reads all files of a directory part by part, and removes the directory in the end.
class CopySource {
 public:
  static Expected<CopySource> open(const std::string& dir);
  CopySource(CopySource&& other) noexcept
      : dir_(std::exchange(other.dir_, {})),
        names_(std::move(other.names_)),
        at_(other.at_),
        file_(std::move(other.file_)),
        offset_(other.offset_) {}
  CopySource& operator=(CopySource&&) = delete;
  ~CopySource();

  struct Part {
    std::string name;
    std::uint64_t offset = 0;
    std::string bytes;
  };
  // Returns the next part of at most `bytes_max` bytes, or nothing after the last one. An empty file has one empty
  // part.
  Expected<std::optional<Part>> next(std::size_t bytes_max);

 private:
  explicit CopySource(std::string dir) : dir_(std::move(dir)) {}

  std::string dir_;  // empty in an object that was moved from
  std::vector<std::string> names_;
  std::size_t at_ = 0;  // index of the current file
  sys::Fd file_;
  std::uint64_t offset_ = 0;
};

}  // namespace kq::broker
