// A file that is appended to with O_DIRECT, past the page cache. The bytes go to the disk from a reused buffer; with
// the page cache, each page would be allocated and filled, and found again by the sync.
//
// The disk accepts whole blocks only. Appended bytes are written with zeros up to the end of their block, and the next
// append writes that block again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace kq::store {

class DirectFile {
 public:
  // An empty file that is there, which gets a block of zeros. Null: it cannot be written so, or is full.
  static std::unique_ptr<DirectFile> open(const std::string& path);
  ~DirectFile();
  DirectFile(const DirectFile&) = delete;
  DirectFile& operator=(const DirectFile&) = delete;

  // Where the next bytes go.
  std::uint64_t end() const { return end_; }

  // False: errno says why, and the file has perhaps a part of it. Not durable before a sync.
  bool append(std::string_view bytes);
  // Behind the end, which stays where it is: whole blocks, from memory that begins at a whole block. False as above,
  // and for others.
  bool write_ahead(std::string_view blocks, std::uint64_t at);

  static constexpr std::size_t kBlockBytes = 4'096;
  static constexpr std::uint64_t whole_blocks(std::uint64_t bytes) {
    return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  using Memory = std::unique_ptr<char[], Free>;

  DirectFile(int fd, Memory memory) : fd_(fd), memory_(std::move(memory)) {}

  const int fd_;
  const Memory memory_;           // begins with what the last block has already
  std::size_t last_bytes_n_ = 0;  // so much of it
  std::uint64_t end_ = 0;
};

}  // namespace kq::store
