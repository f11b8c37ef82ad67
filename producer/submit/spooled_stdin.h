// Standard input as a temporary file, because the producer reads its inputs several times.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "core/base/error.h"

namespace kq::producer {

// A temporary file with the content of standard input, which the destructor removes.
class SpooledStdin {
 public:
  // Reads a descriptor to its end into a file. The name ends in .jsonl where the first character is a brace, otherwise
  // in .cu where the text defines a CUDA kernel and imports nothing, and otherwise in .py. Fails where the text is
  // empty.
  static Expected<SpooledStdin> read(int descriptor);
  SpooledStdin(SpooledStdin&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  SpooledStdin& operator=(SpooledStdin&&) = delete;
  ~SpooledStdin();

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit SpooledStdin(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace kq::producer
