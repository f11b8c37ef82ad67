#include "gpu_worker/judge/check/slices.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace kq::judge {
namespace {

TEST(Slices, each_slice_is_worked_on_once) {
  for (const std::size_t count : {0, 1, 2, 100}) {
    std::vector<std::atomic<int>> calls(count);
    for_each_slice(count, [&](std::size_t i) { ++calls[i]; });
    for (const auto& one : calls) EXPECT_EQ(one, 1);
  }
}

}  // namespace
}  // namespace kq::judge
