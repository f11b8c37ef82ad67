#include "tools/ctl/ctl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/ctl/scripted_world.h"

namespace kq::tools {
namespace {

using testing::HasSubstr;

TEST(ctl, lists_its_verbs_and_names_the_one_that_was_meant) {
  ScriptedWorld kq;
  EXPECT_EQ(kq.run({"--help"}), 0);
  for (const CtlVerb& verb : ctl_verbs()) EXPECT_THAT(kq.out.str(), HasSubstr("\n  " + std::string(verb.name) + " "));
  EXPECT_EQ(kq.run({}), 2);
  EXPECT_EQ(kq.run({"cancle"}), 2);
  EXPECT_EQ(kq.err.str(),
            "kq-ctl: there is no verb 'cancle'; did you mean kq-ctl cancel? (kq-ctl --help lists what there is)\n");
  EXPECT_EQ(kq.run({"--version"}), 0);
}

// Whatever a verb is: it takes --help and --json, refuses what it does not know, and needs no broker for either.
TEST(ctl, every_verb_keeps_the_house_rules) {
  ScriptedWorld kq;
  for (const CtlVerb& verb : ctl_verbs()) {
    const std::string name(verb.name);
    if (verb.name == "cache")
      continue;  // becomes kq-cache, and this program with it: all tests behind this one would be lost
    testing::internal::CaptureStdout();
    EXPECT_EQ(kq.run({name.c_str(), "--help"}), 0) << name;
    EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("--json")) << name;
    testing::internal::CaptureStderr();
    EXPECT_EQ(kq.run({name.c_str(), "--colour"}), 2) << name;
    EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::MatchesRegex("kq-ctl " + name + ": [^\n]+\n"));
  }
  EXPECT_TRUE(kq.broker.requests.empty());
}

TEST(ctl, without_a_broker_every_question_ends_in_one_sentence_and_code_3) {
  ScriptedWorld kq;
  kq.broker.reachable = false;
  EXPECT_EQ(kq.run({"queue"}), 3);
  EXPECT_THAT(kq.err.str(),
              HasSubstr("kq-ctl queue: broker ipc:///tmp/kq.sock did not answer within 5 s; is it running?"));
}

}  // namespace
}  // namespace kq::tools
