#include "gpu_worker/child/runtime/call_arena.h"

#include <dlfcn.h>

#include <algorithm>
#include <mutex>

#include "gpu_worker/child/runtime/runtime.h"

namespace kq::runtime {

std::optional<std::uint64_t> CallArena::take(std::uint64_t bytes) {
  if (blocks_n_ == kBlocksMax || bytes > bytes_) return std::nullopt;
  const std::uint64_t size = std::max<std::uint64_t>((bytes + kAlign - 1) / kAlign, 1) * kAlign;
  std::uint64_t begin = 0;
  std::size_t at = 0;
  while (at < blocks_n_ && blocks_[at].begin - begin < size) begin = blocks_[at++].end;
  if (begin > bytes_ || bytes_ - begin < size) return std::nullopt;
  std::copy_backward(blocks_.begin() + static_cast<std::ptrdiff_t>(at),
                     blocks_.begin() + static_cast<std::ptrdiff_t>(blocks_n_),
                     blocks_.begin() + static_cast<std::ptrdiff_t>(blocks_n_) + 1);
  blocks_[at] = {begin, begin + size};
  ++blocks_n_;
  return begin;
}

bool CallArena::give(std::uint64_t offset) {
  auto* const end = blocks_.data() + blocks_n_;
  auto* const found = std::find_if(blocks_.data(), end, [&](const Block& block) { return block.begin == offset; });
  if (found == end) return false;
  std::copy(found + 1, end, found);
  --blocks_n_;
  return true;
}

namespace {

// One for the process; torch calls from any thread.
std::mutex mutex;
CallArena arena(0);
std::uint64_t arena_begin = 0;
std::uint64_t arena_bytes = 0;

template <class F>
F driver_function(const char* name) {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  return library == nullptr ? nullptr : reinterpret_cast<F>(::dlsym(library, name));
}

}  // namespace
}  // namespace kq::runtime

void kq_arena_use(std::uint64_t pointer, std::uint64_t bytes) {
  const std::lock_guard lock(kq::runtime::mutex);
  kq::runtime::arena = kq::runtime::CallArena(bytes);
  kq::runtime::arena_begin = pointer;
  kq::runtime::arena_bytes = bytes;
}

void* kq_arena_malloc(std::ptrdiff_t bytes, int, void*) {
  {
    const std::lock_guard lock(kq::runtime::mutex);
    if (const auto offset = kq::runtime::arena.take(static_cast<std::uint64_t>(bytes)))
      return reinterpret_cast<void*>(kq::runtime::arena_begin + *offset);
  }
  static const auto allocate = kq::runtime::driver_function<int (*)(std::uint64_t*, std::size_t)>("cuMemAlloc_v2");
  std::uint64_t pointer = 0;
  // Null is what torch takes for "out of memory": it frees what it caches, asks again, and then says so to the model.
  return allocate != nullptr && allocate(&pointer, static_cast<std::size_t>(bytes)) == 0
             ? reinterpret_cast<void*>(pointer)
             : nullptr;
}

void kq_arena_free(void* pointer, std::ptrdiff_t, int, void*) {
  const auto at = reinterpret_cast<std::uint64_t>(pointer);
  {
    const std::lock_guard lock(kq::runtime::mutex);
    if (at >= kq::runtime::arena_begin && at - kq::runtime::arena_begin < kq::runtime::arena_bytes) {
      kq::runtime::arena.give(at - kq::runtime::arena_begin);
      return;
    }
  }
  static const auto release = kq::runtime::driver_function<int (*)(std::uint64_t)>("cuMemFree_v2");
  if (release != nullptr) release(at);
}
