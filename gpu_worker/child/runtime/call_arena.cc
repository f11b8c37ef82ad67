#include "gpu_worker/child/runtime/call_arena.h"

#include <dlfcn.h>

#include <algorithm>
#include <mutex>

#include "gpu_worker/child/runtime/runtime.h"

namespace kq::runtime {

std::optional<std::uint64_t> CallArena::allocate(std::uint64_t bytes) {
  if (block_count_ == kBlocksMax || bytes > bytes_) return std::nullopt;
  const std::uint64_t size = std::max<std::uint64_t>((bytes + kAlign - 1) / kAlign, 1) * kAlign;
  std::uint64_t begin = 0;
  std::size_t at = 0;
  while (at < block_count_ && blocks_[at].begin - begin < size) begin = blocks_[at++].end;
  if (begin > bytes_ || bytes_ - begin < size) return std::nullopt;
  std::copy_backward(blocks_.begin() + static_cast<std::ptrdiff_t>(at),
                     blocks_.begin() + static_cast<std::ptrdiff_t>(block_count_),
                     blocks_.begin() + static_cast<std::ptrdiff_t>(block_count_) + 1);
  blocks_[at] = {begin, begin + size};
  ++block_count_;
  return begin;
}

bool CallArena::release(std::uint64_t offset) {
  auto* const end = blocks_.data() + block_count_;
  auto* const found = std::find_if(blocks_.data(), end, [&](const Block& block) { return block.begin == offset; });
  if (found == end) return false;
  std::copy(found + 1, end, found);
  --block_count_;
  return true;
}

namespace {

// The process has one arena; torch calls the functions below from any thread.
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
    if (const auto offset = kq::runtime::arena.allocate(static_cast<std::uint64_t>(bytes)))
      return reinterpret_cast<void*>(kq::runtime::arena_begin + *offset);
  }
  static const auto allocate_on_device =
      kq::runtime::driver_function<int (*)(std::uint64_t*, std::size_t)>("cuMemAlloc_v2");
  std::uint64_t pointer = 0;
  // torch takes null for "out of memory": it frees its cache, asks again, and then raises an error in the model.
  return allocate_on_device != nullptr && allocate_on_device(&pointer, static_cast<std::size_t>(bytes)) == 0
             ? reinterpret_cast<void*>(pointer)
             : nullptr;
}

void kq_arena_free(void* pointer, std::ptrdiff_t, int, void*) {
  const auto at = reinterpret_cast<std::uint64_t>(pointer);
  {
    const std::lock_guard lock(kq::runtime::mutex);
    if (at >= kq::runtime::arena_begin && at - kq::runtime::arena_begin < kq::runtime::arena_bytes) {
      kq::runtime::arena.release(at - kq::runtime::arena_begin);
      return;
    }
  }
  static const auto free_on_device = kq::runtime::driver_function<int (*)(std::uint64_t)>("cuMemFree_v2");
  if (free_on_device != nullptr) free_on_device(at);
}
