#include "guard/facts.h"

#include <string>

#include <gtest/gtest.h>

namespace kq::guard {
namespace {

TEST(Facts, belong_to_the_file_above_them) {
  const auto facts = parse_facts(
      "file\ta.py\t2\n3\tcall\ttorch.relu\nfile\tb.py\t2\n12\tcall\ttorch.cuda.stream\ttorch.cuda.current_stream()\n");
  ASSERT_TRUE(facts) << facts.error().message;
  ASSERT_EQ(facts->size(), 2u);
  EXPECT_EQ(facts->at(0), (Fact{"a.py", 3, FactKind::call, "torch.relu", ""}));
  EXPECT_EQ(facts->at(1), (Fact{"b.py", 12, FactKind::call, "torch.cuda.stream", "torch.cuda.current_stream()"}));
}

TEST(Facts, of_code_that_never_runs_are_marked_dead) {
  const auto facts = parse_facts("file\ta.py\t2\n3\tcall\tf\t\tdead\n4\tcall\tf\n");
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_TRUE(facts->at(0).is_dead);
  EXPECT_FALSE(facts->at(1).is_dead);
}

TEST(Facts, code_facts_are_joined_to_texts_with_line_numbers) {
  const auto facts = parse_facts(
      "file\ta.py\t2\n7\tcode\tint \t1\n7\tcode\ta;\\n\t1\n8\tcode\t\\tb\\\\c\\x22\\n\t1\n20\tcode\td\\n\t2\n");
  ASSERT_TRUE(facts) << facts.error().message;
  const auto texts = code_texts(*facts);
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[0].text, "int a;\n\tb\\c\"\n");
  EXPECT_EQ(texts[0].line_in_file(1), 7u);
  EXPECT_EQ(texts[0].line_in_file(2), 8u);
  EXPECT_EQ(texts[0].line_in_file(99), 8u);
  EXPECT_EQ(texts[1].text, "d\n");
  EXPECT_EQ(texts[1].line_in_file(1), 20u);
}

TEST(Facts, an_empty_text_has_no_facts) {
  EXPECT_TRUE(parse_facts("")->empty());
}

TEST(Facts, malformed_texts_are_errors) {
  const std::string ok = "file\ta.py\t2\n";
  const std::string bad[] = {
      "1\tcall\ttorch.relu\n",       // no file is named above
      ok + "1\tcall\ttorch.relu",    // the last line does not end
      ok + "0\tcall\ttorch.relu\n",  // line numbers begin at 1
      ok + "-1\tcall\ttorch.relu\n",
      ok + "4294967296\tcall\tx\n",
      ok + "1 \tcall\tx\n",
      ok + "1\tdance\tx\n",
      ok + "1\tcall\t\n",
      ok + "1\tcall\n",
      ok + "1\tcall\tx\ty\tz\n",
      ok + "1\tcall\tx\ty\tdead\tz\n",
      ok + "\n",
      ok + "1\tcall\tx\r\n",
      ok + "1\tcall\t\xff\n",
      ok + std::string("1\tcall\tx\0y\n", 11),
      ok + "1\tcall\t" + std::string(kFactLineBytesMax, 'x') + "\n",
      "file\t\t2\n",
      "file\ta.py\n",  // no version
      "file\ta.py\t1\n",
  };
  for (const std::string& text : bad) {
    const auto facts = parse_facts(text);
    ASSERT_FALSE(facts) << text;
    EXPECT_EQ(facts.error().message.substr(0, 5), "facts") << text;
  }
  EXPECT_FALSE(parse_facts(std::string(kFactsBytesMax + 1, '\n')));
}

}  // namespace
}  // namespace kq::guard
