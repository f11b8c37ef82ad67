#include "tools/cli/verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/stack/fake_programs.h"

namespace kq::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(verbs, help_has_a_line_for_each) {
  const std::string help = verbs_help("");
  for (const Verb& verb : verbs()) EXPECT_THAT(help, HasSubstr("  " + std::string(verb.name) + " "));
  EXPECT_THAT(help, Not(HasSubstr("Other programs")));
}

TEST(verbs, programs_in_the_folder_of_kq_are_verbs_too) {
  const TestFolder folder;
  folder.write_program("kq-broker", "");
  folder.write_program("kq-sweep", "");
  folder.write_program("other", "");
  EXPECT_THAT(verbs_help(folder.path()), HasSubstr("Other programs: broker\n"));
}

TEST(verbs, an_unknown_verb_gets_the_most_similar_one) {
  const TestFolder folder;
  folder.write_program("kq-gateway", "");
  EXPECT_THAT(unknown_verb("swep", ""), HasSubstr("there is no verb 'swep'; did you mean kq sweep?"));
  EXPECT_THAT(unknown_verb("gatway", folder.path()), HasSubstr("did you mean kq gateway?"));
  EXPECT_THAT(unknown_verb("mcp", ""), HasSubstr("pip install './python[mcp]', and put the environment's kq-mcp into"));
  EXPECT_THAT(unknown_verb("export", ""),
              HasSubstr("pip install './python[parquet]', and put the environment's kq-export"));
  EXPECT_THAT(unknown_verb("status", ""), HasSubstr("there is no verb 'status'; kq ctl status is probably meant"));
  EXPECT_THAT(unknown_verb("cancel", ""), HasSubstr("kq ctl cancel is probably meant"));
  EXPECT_THAT(unknown_verb("wait", ""), HasSubstr("kq results RUN --wait is probably meant"));
  EXPECT_THAT(unknown_verb("run", ""), HasSubstr("kq sweep PATH is probably meant"));
  EXPECT_THAT(unknown_verb("list", ""), HasSubstr("kq ctl runs is probably meant"));
  EXPECT_THAT(unknown_verb("frobnicate", ""), Not(HasSubstr("did you mean")));
}

TEST(verbs, are_no_paths) {
  EXPECT_TRUE(is_verb("sweep"));
  for (const char* word : {"", "-h", "../x", "a/b", "A", "a b"}) EXPECT_FALSE(is_verb(word)) << word;
}

}  // namespace
}  // namespace kq::tools
