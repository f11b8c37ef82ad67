// A stretch of memory in huge pages, for what a process allocates once and keeps: Python's arenas while the zygote
// imports.
//
// Python asks for its arenas one by one, 1 MB each, and the kernel gives a huge page, 2 MB, to one mapping only that
// holds all of it.
#pragma once

#include <cstddef>

namespace kq::runtime {

class Stretch {
 public:
  // Reserves addresses; memory comes as it is touched. Where that fails, or once it is full, each request is a mapping
  // of its own.
  explicit Stretch(std::size_t bytes);

  // Null where there is no memory.
  void* take(std::size_t bytes);

  // Gives back what was not taken. From here on each request is a mapping of its own.
  void close();

 private:
  char* next_ = nullptr;
  char* end_ = nullptr;
};

// Takes back either kind.
void give_back(void* address, std::size_t bytes);

}  // namespace kq::runtime
