// Places in a stretch of device memory, handed out and taken back. Pure: it never touches that memory.
//
// torch's caching allocator asks for whole segments and keeps them, so there are few blocks and no hurry: first fit
// over a sorted list of fixed room, without an allocation of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace kq::runtime {

class CallArena {
 public:
  static constexpr std::size_t kBlocksMax = 1024;
  static constexpr std::uint64_t kAlign = 512;  // what torch takes for granted

  explicit CallArena(std::uint64_t bytes) : bytes_(bytes) {}
  // The offset of a free place, or nothing where there is none.
  std::optional<std::uint64_t> take(std::uint64_t bytes);
  // False: no place begins there.
  bool give(std::uint64_t offset);

 private:
  struct Block {
    std::uint64_t begin;
    std::uint64_t end;
  };
  std::uint64_t bytes_;
  std::array<Block, kBlocksMax> blocks_{};  // in use, by offset
  std::size_t blocks_n_ = 0;
};

}  // namespace kq::runtime
