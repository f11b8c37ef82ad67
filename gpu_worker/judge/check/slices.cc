#include "gpu_worker/judge/check/slices.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "sys/cores.h"

namespace kq::judge {

void for_each_slice(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto take_slices = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  const std::size_t threads = std::min({count, kSliceThreadsMax, static_cast<std::size_t>(sys::usable_cores())});
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(take_slices);
  take_slices();
}

}  // namespace kq::judge
