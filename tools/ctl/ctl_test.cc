#include "tools/ctl/ctl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/ctl/scripted_world.h"

namespace kq::tools {
namespace {

using testing::HasSubstr;

TEST(ctl, help_lists_the_verbs_and_an_unknown_verb_gets_a_suggestion) {
  ScriptedWorld kq;
  EXPECT_EQ(kq.run({"--help"}), 0);
  for (const CtlVerb& verb : ctl_verbs()) EXPECT_THAT(kq.out.str(), HasSubstr("\n  " + std::string(verb.name) + " "));
  EXPECT_EQ(kq.run({}), 2);
  EXPECT_EQ(kq.run({"cancle"}), 2);
  EXPECT_EQ(kq.err.str(),
            "kq-ctl: there is no verb 'cancle'; did you mean kq-ctl cancel? (kq-ctl --help lists the verbs)\n");
  EXPECT_EQ(kq.run({"--version"}), 0);
}

// Every verb accepts --help and --json and refuses an unknown flag, all without a broker.
TEST(ctl, every_verb_has_help_and_refuses_unknown_flags) {
  ScriptedWorld kq;
  for (const CtlVerb& verb : ctl_verbs()) {
    const std::string name(verb.name);
    // The verb cache replaces its process, here the test program, by kq-cache.
    if (verb.name == "cache") continue;
    testing::internal::CaptureStdout();
    EXPECT_EQ(kq.run({name.c_str(), "--help"}), 0) << name;
    EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("--json")) << name;
    testing::internal::CaptureStderr();
    EXPECT_EQ(kq.run({name.c_str(), "--colour"}), 2) << name;
    EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::MatchesRegex("kq-ctl " + name + ": [^\n]+\n"));
  }
  EXPECT_TRUE(kq.broker.requests.empty());
}

TEST(ctl, an_absent_broker_gives_one_sentence_and_exit_code_3) {
  ScriptedWorld kq;
  kq.broker.reachable = false;
  EXPECT_EQ(kq.run({"queue"}), 3);
  EXPECT_THAT(kq.err.str(),
              HasSubstr("kq-ctl queue: broker ipc:///tmp/kq.sock did not answer within 5 s; is it running?"));
}

}  // namespace
}  // namespace kq::tools
