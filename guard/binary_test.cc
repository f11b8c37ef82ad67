#include "guard/binary.h"

#include <gtest/gtest.h>

#include <string>

namespace kq {
namespace {

std::string rule_for(std::string_view bytes, std::string_view name) {
  const auto findings = judge_binary(bytes, name);
  const Finding* const finding = first_rejected(findings);
  return finding == nullptr ? "" : finding->rule + " in " + finding->file;
}

TEST(Binary, what_python_runs_and_nobody_reads_is_rejected) {
  const std::string bytecode("\xA7\x0D\x0D\x0A\x00\x00\x00\x00", 8);  // Python 3.11
  EXPECT_EQ(rule_for(bytecode, "k.pyc"), "disguised_source in k.pyc");
  EXPECT_EQ(rule_for(bytecode, "k.py"), "disguised_source in k.py");
  EXPECT_EQ(rule_for("anything", "k.pyc"), "disguised_source in k.pyc");
  EXPECT_EQ(rule_for("PK\x03\x04", "data.bin"), "disguised_source in data.bin");
  EXPECT_EQ(rule_for("", "evil.egg"), "disguised_source in evil.egg");
}

TEST(Binary, texts_are_none) {
  for (const std::string_view text : {"import torch\r\n", "a\r\n", "#\n\r\n", "\t\t\r\n", "\xEF\xBB\xBF\r\n", "{}"}) {
    EXPECT_FALSE(is_binary(text, "k.py")) << text;
    EXPECT_EQ(rule_for(text, "k.py"), "") << text;
  }
}

TEST(Binary, a_library_is_judged_by_what_it_asks_for) {
  EXPECT_TRUE(is_binary("\x7f" "ELF", "k.txt"));
  EXPECT_EQ(rule_for("\x7f" "ELF", "k.txt"), "hidden_imports in k.txt");
}

}  // namespace
}  // namespace kq
