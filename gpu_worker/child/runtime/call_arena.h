// Allocator of the arena, the device memory in which the calls of a submission allocate. It computes offsets only, and
// never touches the memory itself.
//
// torch's caching allocator asks for whole segments and keeps them, so there are few blocks and speed does not matter.
// The first gap that is large enough is used. The blocks in use are kept in a sorted array of fixed size, so that the
// allocator itself allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace kq::runtime {

// Hands out aligned, disjoint blocks of a range of `bytes` bytes, as offsets from its beginning.
class CallArena {
 public:
  static constexpr std::size_t kBlocksMax = 1024;
  static constexpr std::uint64_t kAlign = 512;  // torch relies on this alignment

  explicit CallArena(std::uint64_t bytes) : bytes_(bytes) {}
  // Returns the offset of a new block, or nothing if no gap is large enough or kBlocksMax blocks are in use.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes);
  // Frees the block at `offset`. Returns false if no block begins there.
  bool release(std::uint64_t offset);

 private:
  struct Block {
    std::uint64_t begin;
    std::uint64_t end;
  };
  std::uint64_t bytes_;
  std::array<Block, kBlocksMax> blocks_{};  // the blocks in use, sorted by offset
  std::size_t block_count_ = 0;
};

}  // namespace kq::runtime
