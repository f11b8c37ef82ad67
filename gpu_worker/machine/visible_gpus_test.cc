#include "gpu_worker/machine/visible_gpus.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace kq::worker {
namespace {

class VisibleGpus : public ::testing::Test {
 protected:
  void SetUp() override { ::unsetenv("CUDA_VISIBLE_DEVICES"); }
  void TearDown() override { ::unsetenv("CUDA_VISIBLE_DEVICES"); }
};

TEST_F(VisibleGpus, without_the_variable_indices_are_those_of_the_machine) {
  EXPECT_FALSE(visible_gpus());
  EXPECT_EQ(gpu_selector(1), "1");
}

TEST_F(VisibleGpus, entries_end_at_a_negative_index) {
  ::setenv("CUDA_VISIBLE_DEVICES", "6,GPU-12,-1,3", 1);
  EXPECT_EQ(visible_gpus(), (std::vector<std::string>{"6", "GPU-12"}));
  EXPECT_EQ(gpu_selector(0), "6");
  EXPECT_EQ(gpu_selector(1), "GPU-12");
}

TEST_F(VisibleGpus, an_empty_variable_leaves_none) {
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_EQ(visible_gpus(), std::vector<std::string>{});
}

}  // namespace
}  // namespace kq::worker
