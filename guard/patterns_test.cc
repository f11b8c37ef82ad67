#include "guard/patterns.h"

#include <gtest/gtest.h>

#include <string>

namespace kq::guard {
namespace {

TEST(Patterns, a_star_stands_for_any_characters_and_a_question_mark_for_itself) {
  EXPECT_TRUE(matches("torch.cuda.Stream", "torch.cuda.Stream"));
  EXPECT_TRUE(matches("x.cudaStreamCreateWithFlags", "*cudaStreamCreate*"));
  EXPECT_TRUE(matches("torch.cuda.?", "torch.cuda.?*"));
  EXPECT_FALSE(matches("torch.cuda.x", "torch.cuda.?*"));
  EXPECT_TRUE(matches("", ""));
  EXPECT_TRUE(matches("", "*"));
  EXPECT_FALSE(matches("ab", "a"));
  EXPECT_FALSE(matches("a", "ab"));
  EXPECT_TRUE(matches("aXbXc", "a*X*c"));
  EXPECT_TRUE(matches("ab", "a**b"));
  EXPECT_FALSE(matches("ab", "ab*b")) << "one letter is not two";
  EXPECT_FALSE(matches("StreamCreate.cu", "*cu*StreamCreate*"));
  EXPECT_TRUE(matches("cucuStreamCreate", "*cu*StreamCreate*"));
}

TEST(Patterns, a_long_name_is_matched_in_one_pass) {
  std::string name;
  for (int i = 0; i < 500'000; ++i) name += "cu";
  EXPECT_FALSE(matches(name, "*cu*StreamCreate*"));
  EXPECT_TRUE(matches(name + "StreamCreate", "*cu*StreamCreate*"));
}

}  // namespace
}  // namespace kq::guard
