#include "guard/binary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

namespace kq::guard {
namespace {

std::string rule_for(std::string_view bytes, std::string_view name) {
  const auto findings = judge_binary(bytes, name);
  const Finding* const finding = first_rejected(findings);
  return finding == nullptr ? "" : finding->rule + " in " + finding->file;
}

TEST(Binary, bytecode_and_archives_are_rejected) {
  const std::string bytecode("\xA7\x0D\x0D\x0A\x00\x00\x00\x00", 8);  // Python 3.11
  EXPECT_EQ(rule_for(bytecode, "k.pyc"), "disguised_source in k.pyc");
  EXPECT_EQ(rule_for(bytecode, "k.py"), "disguised_source in k.py");
  EXPECT_EQ(rule_for("anything", "k.pyc"), "disguised_source in k.pyc");
  EXPECT_EQ(rule_for("PK\x03\x04", "data.bin"), "disguised_source in data.bin");
  EXPECT_EQ(rule_for("", "evil.egg"), "disguised_source in evil.egg");
}

TEST(Binary, a_file_with_nul_bytes_is_rejected_whatever_it_begins_with) {
  EXPECT_EQ(rule_for(std::string("import torch\nPK\x03\x04\0\0", 19), "notes.txt"), "disguised_source in notes.txt")
      << "Python finds an archive by its end";
  EXPECT_EQ(rule_for(std::string("x = 1\0", 6), "k.py"), "disguised_source in k.py");
  EXPECT_EQ(rule_for(std::string("int x;\0int y;", 13), "k.cu"), "disguised_source in k.cu")
      << "some compilers stop reading at a NUL byte";
}

TEST(Binary, texts_are_not_binary) {
  for (const std::string_view text : {"import torch\r\n", "a\r\n", "#\n\r\n", "\t\t\r\n", "\xEF\xBB\xBF\r\n", "{}"}) {
    EXPECT_FALSE(is_binary(text, "k.py")) << text;
    EXPECT_EQ(rule_for(text, "k.py"), "") << text;
  }
}

std::string content_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Binary, a_library_is_judged_by_its_imports) {
  const auto findings = judge_binary(content_of(KQ_ELF_STREAMS), "evil.so");
  EXPECT_TRUE(std::ranges::any_of(findings, [](const Finding& finding) {
    return finding.rule == "cuda_stream_create" && finding.file == "evil.so";
  }));
  EXPECT_EQ(rule_for(content_of(KQ_ELF_HONEST), "fine.so"), "");
  EXPECT_TRUE(
      is_binary("\x7f"
                "ELF",
                "k.txt"));
  EXPECT_EQ(rule_for("\x7f"
                     "ELF",
                     "k.txt"),
            "hidden_imports in k.txt");
}

}  // namespace
}  // namespace kq::guard
