#include "gpu_worker/child/runtime/arenas.h"

#include <sys/mman.h>

#include <cstdint>

#include "gpu_worker/child/runtime/runtime.h"

namespace kq::runtime {
namespace {

constexpr std::uintptr_t kHugeBytes = 2u << 20;

char* map(std::size_t bytes) {
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return address == MAP_FAILED ? nullptr : static_cast<char*>(address);
}

// Rounds an address up to the next multiple of the huge page size.
char* aligned(char* address) {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  return address + ((number + kHugeBytes - 1) / kHugeBytes * kHugeBytes - number);
}

}  // namespace

HugePageRegion::HugePageRegion(std::size_t bytes) {
  char* begin = map(bytes + kHugeBytes);
  if (begin == nullptr) return;
  next_ = aligned(begin);
  end_ = next_ + bytes;
  if (next_ != begin) ::munmap(begin, static_cast<std::size_t>(next_ - begin));
  if (end_ != begin + bytes + kHugeBytes) ::munmap(end_, static_cast<std::size_t>(begin + bytes + kHugeBytes - end_));
  ::madvise(next_, bytes, MADV_HUGEPAGE);  // a kernel without huge pages uses small ones
}

void* HugePageRegion::take(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(end_ - next_)) return map(bytes);
  char* taken = next_;
  next_ += bytes;
  return taken;
}

void HugePageRegion::close() {
  if (next_ != end_) ::munmap(next_, static_cast<std::size_t>(end_ - next_));
  next_ = end_;
}

void give_back(void* address, std::size_t bytes) {
  ::munmap(address, bytes);
}

}  // namespace kq::runtime

void* kq_arenas_open(std::size_t bytes) {
  return new kq::runtime::HugePageRegion(bytes);
}

void* kq_arenas_take(void* arenas, std::size_t bytes) {
  return static_cast<kq::runtime::HugePageRegion*>(arenas)->take(bytes);
}

void kq_arenas_give_back(void*, void* address, std::size_t bytes) {
  kq::runtime::give_back(address, bytes);
}

void kq_arenas_close(void* arenas) {
  static_cast<kq::runtime::HugePageRegion*>(arenas)->close();
}
