#include "core/verdict.h"

#include <gtest/gtest.h>

#include <set>

namespace kq {
namespace {

std::set<VerdictName> rows_with(bool VerdictRow::*flag) {
  std::set<VerdictName> names;
  for (const VerdictRow& row : kVerdicts) {
    if (row.*flag) names.insert(row.name);
  }
  return names;
}

TEST(VerdictTable, has_one_row_per_name_in_its_order) {
  ASSERT_EQ(std::size(kVerdicts), kEnumNames<VerdictName>.size());
  for (std::size_t i = 0; i < std::size(kVerdicts); ++i) {
    const auto name = static_cast<VerdictName>(i);
    EXPECT_EQ(row_of(name).name, name) << to_string(name);
    EXPECT_EQ(parse_enum<VerdictName>(to_string(name)), name);
    EXPECT_FALSE(row_of(name).when.empty()) << to_string(name);
  }
}

TEST(VerdictTable, only_passed_ranks) {
  EXPECT_EQ(rows_with(&VerdictRow::ranks), std::set{VerdictName::passed});
}

TEST(VerdictTable, only_passed_and_suspect_are_measured) {
  EXPECT_EQ(rows_with(&VerdictRow::measured), (std::set{VerdictName::passed, VerdictName::suspect}));
}

TEST(VerdictTable, terminal_verdicts_are_those_that_every_worker_would_repeat) {
  for (const VerdictRow& row : kVerdicts) {
    const bool may_try_again = row.fault == Fault::nobody || row.fault == Fault::ours ||
                               row.name == VerdictName::compiled_only || row.name == VerdictName::cancelled;
    EXPECT_EQ(row.terminal, !may_try_again) << to_string(row.name);
  }
}

TEST(VerdictTable, only_abandoned_is_our_fault) {
  for (const VerdictRow& row : kVerdicts) EXPECT_EQ(row.fault == Fault::ours, row.name == VerdictName::abandoned);
}

TEST(Verdict, a_submission_is_not_at_fault_where_its_problem_never_changes_the_inputs) {
  EXPECT_EQ(fault_of(Suspect{}), Fault::policy);
  Evidence same_inputs;
  same_inputs.reason = kSameInputs;
  EXPECT_EQ(fault_of(Suspect{{}, {}, same_inputs}), Fault::problem);
  EXPECT_EQ(fault_of(Passed{}), Fault::none);
  EXPECT_EQ(fault_of(ended(VerdictName::wrong_answer, same_inputs)), Fault::user);
}

TEST(Verdict, passed_holds_figures_and_no_evidence) {
  const Verdict verdict = Passed{};
  EXPECT_EQ(name_of(verdict), VerdictName::passed);
  EXPECT_NE(measurement_of(verdict), nullptr);
  EXPECT_NE(correctness_of(verdict), nullptr);
  EXPECT_EQ(evidence_of(verdict), nullptr);
}

TEST(Verdict, suspect_holds_figures_and_evidence) {
  const Verdict verdict = Suspect{};
  EXPECT_EQ(name_of(verdict), VerdictName::suspect);
  EXPECT_NE(measurement_of(verdict), nullptr);
  EXPECT_NE(correctness_of(verdict), nullptr);
  EXPECT_NE(evidence_of(verdict), nullptr);
}

TEST(Verdict, every_other_ending_holds_evidence_alone) {
  for (const VerdictRow& row : kVerdicts) {
    if (row.measured) continue;
    Evidence evidence;
    evidence.message = "because";
    const Verdict verdict = ended(row.name, evidence);
    EXPECT_EQ(name_of(verdict), row.name);
    ASSERT_NE(evidence_of(verdict), nullptr);
    EXPECT_EQ(evidence_of(verdict)->message, "because");
    EXPECT_EQ(measurement_of(verdict), nullptr);
    EXPECT_EQ(correctness_of(verdict), nullptr);
    EXPECT_EQ(decode_error(Ended{row.name, {}}), std::nullopt);
  }
}

TEST(VerdictDeathTest, an_ending_without_figures_is_never_passed_or_suspect) {
  EXPECT_DEATH((void)ended(VerdictName::passed, {}), "broken invariant");
  EXPECT_DEATH((void)ended(VerdictName::suspect, {}), "broken invariant");
  EXPECT_EQ(decode_error(Ended{VerdictName::passed, {}}), "verdict 'passed' without a measurement");
}

}  // namespace
}  // namespace kq
