#include "core/base/safe_text.h"

#include <gtest/gtest.h>

#include "core/submission.h"

namespace kq {
namespace {

TEST(SafeText, hidden_characters_are_found) {
  EXPECT_EQ(hidden_character_bytes("\u202Eabc"), 3u);   // right-to-left override
  EXPECT_EQ(hidden_character_bytes("\u2066"), 3u);      // isolate
  EXPECT_EQ(hidden_character_bytes("\u200B"), 3u);      // zero-width space
  EXPECT_EQ(hidden_character_bytes("\u061C"), 2u);      // Arabic letter mark
  EXPECT_EQ(hidden_character_bytes("\U000E0041"), 4u);  // tag A
  EXPECT_EQ(hidden_character_bytes("\xC2\x9B"), 2u);    // C1 control
  for (const char* seen : {"a", "ü", "≤", "\U0001F600", "", "\n", "\uFFFD", "\xE2\x80"})
    EXPECT_EQ(hidden_character_bytes(seen), 0u) << seen;
}

TEST(SafeText, text_is_made_visible) {
  EXPECT_EQ(visible("relu\u202Eyp.evil\u200B"), "relu\uFFFDyp.evil\uFFFD");
  EXPECT_EQ(visible("größer ≤ \U0001F600"), "größer ≤ \U0001F600");
}

TEST(SafeText, formulas_are_found) {
  for (const char* formula : {"=1", "+1", "-1", "@x", "\tx", "\rx", "'=1", "''@x"}) EXPECT_TRUE(is_formula(formula));
  for (const char* text : {"", "a=1", "'", "1-1", "'a"}) EXPECT_FALSE(is_formula(text)) << text;
}

TEST(SafeText, names_hold_no_hidden_character) {
  EXPECT_EQ(name_error("relu\u202Efast"), "holds an invisible character at byte 4");
  EXPECT_EQ(name_error("größer"), std::nullopt);
}

}  // namespace
}  // namespace kq
