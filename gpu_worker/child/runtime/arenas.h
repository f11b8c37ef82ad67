// Backs Python's memory arenas with huge pages while the zygote imports modules.
//
// Python maps its arenas one at a time, 1 MB each. A huge page is 2 MB, and the kernel uses one only where a single
// mapping covers all of it. So one large region is mapped first, and the arenas are cut from it.
#pragma once

#include <cstddef>

namespace kq::runtime {

// A region of private memory, aligned to huge pages, that is handed out from its beginning to its end.
class HugePageRegion {
 public:
  // Reserves the addresses; the kernel adds memory when a page is first touched. If the region cannot be mapped, or
  // once it is full, take() makes a separate mapping for each request.
  explicit HugePageRegion(std::size_t bytes);

  // Returns null when there is no memory.
  void* take(std::size_t bytes);

  // Unmaps the part of the region that was not taken. Later calls of take() make a separate mapping each.
  void close();

 private:
  char* next_ = nullptr;
  char* end_ = nullptr;
};

// Unmaps memory that take() returned, whether it lies in a region or in a mapping of its own.
void give_back(void* address, std::size_t bytes);

}  // namespace kq::runtime
