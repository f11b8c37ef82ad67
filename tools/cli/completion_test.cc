#include "tools/cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tools/cli/verbs.h"

namespace kq::tools {
namespace {

using ::testing::HasSubstr;

TEST(completion, has_a_script_for_each_shell) {
  EXPECT_THAT(std::string(*completion_script("bash")), HasSubstr("complete -o default -F _kq"));
  EXPECT_THAT(std::string(*completion_script("zsh")), HasSubstr("compdef _kq kq"));
  EXPECT_THAT(std::string(*completion_script("fish")), HasSubstr("complete -c $program"));
}

TEST(completion, scripts_complete_the_program_of_every_verb) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script(*completion_script(shell));
    for (const Verb& verb : verbs()) {
      // `kq version` and `kq completion` have no programs, and kq-rejudge is written in Python.
      if (verb.name == "version" || verb.name == "completion" || verb.name == "rejudge") continue;
      EXPECT_THAT(script, ::testing::ContainsRegex("[-,{]" + std::string(verb.name) + "[ ,};\n]")) << shell;
    }
  }
}

TEST(completion, another_shell_is_a_mistake) {
  EXPECT_EQ(completion_script("tcsh").error().message, "SHELL must be bash, zsh or fish, got 'tcsh'");
}

}  // namespace
}  // namespace kq::tools
