// Tests the verdicts of build children. builder_test.cc tests children that succeed, are stopped or run out of memory.
#include "gpu_worker/compile/child.h"

#include <gtest/gtest.h>

#include "core/limits.h"

namespace kq::worker {
namespace {

TEST(BuildVerdict, has_its_stage_and_a_message_of_limited_length) {
  const Verdict verdict = build_ended(VerdictName::timed_out, "build", std::string(2 * kMessageTextMax, 'x'));
  EXPECT_EQ(name_of(verdict), VerdictName::timed_out);
  EXPECT_EQ(evidence_of(verdict)->stage, Stage::build);
  EXPECT_EQ(evidence_of(verdict)->reason, "build");
  EXPECT_EQ(evidence_of(verdict)->message.size(), kMessageTextMax);
}

TEST(BuildVerdict, out_of_memory_names_the_limit) {
  const Verdict verdict = build_out_of_memory(512u << 20);
  EXPECT_EQ(name_of(verdict), VerdictName::out_of_memory);
  EXPECT_EQ(evidence_of(verdict)->message, "the build took more memory than a build may have, 1792 MiB");
}

}  // namespace
}  // namespace kq::worker
