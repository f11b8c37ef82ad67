// Without a GPU only the errors can be tested. The harness's GPU tests map real windows.
#include <string>

#include <gtest/gtest.h>

#include "gpu_worker/child/runtime/runtime.h"

namespace {

TEST(CudaWindow, without_cuda_mapping_fails_with_a_sentence) {
  char error[200] = "";
  std::uint64_t pointer = 0;
  EXPECT_EQ(kq_map_cuda_window(-1, 4096, &pointer, error, sizeof error), -1);
  EXPECT_NE(std::string(error), "");
  EXPECT_EQ(pointer, 0u);
}

TEST(CudaWindow, cuts_the_sentence_to_the_size_of_the_buffer) {
  char error[8] = "";
  EXPECT_EQ(kq_unmap_cuda_window(4096, 4096, error, sizeof error), -1);
  EXPECT_EQ(std::string(error).size(), 7u);
}

}  // namespace
