#include "core/base/problem_name.h"

#include <gtest/gtest.h>

namespace kq {
namespace {

TEST(problem_name, its_last_part_means_the_problem) {
  EXPECT_TRUE(is_meant_by("level1/19_ReLU", "level1/19_ReLU"));
  EXPECT_TRUE(is_meant_by("level1/19_ReLU", "19_ReLU"));
  EXPECT_TRUE(is_meant_by("relu", "relu"));
}

TEST(problem_name, another_text_does_not) {
  EXPECT_FALSE(is_meant_by("level1/19_ReLU", "ReLU"));
  EXPECT_FALSE(is_meant_by("level1/19_ReLU", "level1"));
  EXPECT_FALSE(is_meant_by("relu", "level1/relu"));
  EXPECT_FALSE(is_meant_by("relu", ""));
}

}  // namespace
}  // namespace kq
