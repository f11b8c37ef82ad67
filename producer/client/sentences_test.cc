#include "producer/client/sentences.h"

#include <gtest/gtest.h>

#include <vector>

namespace kq::producer {
namespace {

TEST(Sentences, text_stays_on_its_line) {
  EXPECT_EQ(one_line("a\nb\r\tc\x1b[2J\x7f"), "a\\nb\\r\\tc\\x1b[2J\\x7f");
  EXPECT_EQ(one_line("h\xC3\xA9llo \xE2\x82\xAC \xF0\x9F\x98\x80"), "h\xC3\xA9llo \xE2\x82\xAC \xF0\x9F\x98\x80");
  EXPECT_EQ(one_line("\xFF"
                     "a\xC3"),
            "\\xffa\\xc3");
  EXPECT_EQ(one_line(std::string_view("\0", 1)), "\\x00");
}

TEST(Sentences, a_long_list_is_cut_and_counted) {
  EXPECT_EQ(listed("kq-submit", {}), "");
  EXPECT_EQ(listed("kq-submit", std::vector<std::string>{"a", "b\nc"}), "kq-submit: a\nkq-submit: b\\nc\n");
  const std::string text = listed("kq-submit", std::vector<std::string>(25, "x"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 21);
  EXPECT_TRUE(text.ends_with("kq-submit: and 5 more\n"));
}

TEST(Sentences, a_shell_reads_a_quoted_word_literally) {
  EXPECT_EQ(shell_quoted("monday/2"), "monday/2");
  EXPECT_EQ(shell_quoted("my run"), "'my run'");
  EXPECT_EQ(shell_quoted("it's $(id)"), "'it'\\''s $(id)'");
  EXPECT_EQ(shell_quoted("--run"), "'--run'");
}

TEST(Sentences, a_message_that_echoes_much_is_cut_between_characters) {
  EXPECT_EQ(cut_message("short"), "short");
  std::string long_text = "label '";
  for (int i = 0; i < 100'000; ++i) long_text += "\xC3\xA9x";
  long_text += "' is too long";
  const std::string cut = cut_message(long_text);
  EXPECT_LT(cut.size(), kMessageShownMax + 64);
  EXPECT_TRUE(cut.starts_with("label '") && cut.ends_with("' is too long")) << cut;
  EXPECT_NE(cut.find(" bytes) ... "), std::string::npos);
  EXPECT_EQ(one_line(long_text).find("\\x"), std::string::npos) << "no character is cut";
}

TEST(Sentences, one_is_singular) {
  EXPECT_EQ(counted(1, "job"), "1 job");
  EXPECT_EQ(counted(0, "job"), "0 jobs");
  EXPECT_EQ(left_out_text(1, "submitted"), "1 kernel was wrong and not submitted");
  EXPECT_EQ(left_out_text(2, "evaluated"), "2 kernels were wrong and not evaluated");
}

}  // namespace
}  // namespace kq::producer
