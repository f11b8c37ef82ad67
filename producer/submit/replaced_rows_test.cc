#include "producer/submit/replaced_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::producer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Submission job(const std::string& label, const std::string& problem) {
  Submission submission;
  submission.label = label;
  submission.problem.name = problem;
  return submission;
}

JobSource source_of(const std::vector<Submission>& jobs) {
  return {.run = "r", .job_count = jobs.size(), .each = [jobs](const VisitJob& visit) -> Expected<void> {
            for (const Submission& one : jobs) KQ_TRY(visit(PackedJob{one, {}}));
            return {};
          }};
}

ReadRows rows_of(const std::vector<Submission>& known) {
  return [known](const std::vector<std::string>& labels, const VisitRow& visit) -> Expected<void> {
    for (const Submission& one : known) {
      RunRow row;
      row.entry.seq = 7;
      row.entry.submission = one;
      if (std::find(labels.begin(), labels.end(), one.label) != labels.end()) visit(row);
    }
    return {};
  };
}

TEST(replaced_rows, a_label_that_goes_to_another_problem_is_told) {
  const JobSource source = source_of({job("a", "argmax"), job("b", "gelu")});
  EXPECT_THAT(replaced_rows(source, rows_of({job("a", "gelu"), job("b", "gelu"), job("c", "relu")})),
              ElementsAre("run r: the row a has a kernel for gelu, which one for argmax replaces; kq show 7 shows the "
                          "former one; other files need other labels or another run"));
}

TEST(replaced_rows, jobs_in_memory_are_looked_at_as_well) {
  const Prepared prepared{.run = "r", .jobs = {{job("a", "argmax"), {}}, {job("b", "gelu"), {}}}, .mistakes = {}};
  EXPECT_THAT(
      replaced_rows(prepared, rows_of({job("a", "gelu"), job("b", "gelu")})),
      ElementsAre(testing::StartsWith("run r: the row a has a kernel for gelu, which one for argmax replaces")));
}

TEST(replaced_rows, large_calls_and_unreadable_rows_are_passed_over) {
  const std::vector<Submission> many(kLookedAtJobsMax + 1, job("a", "argmax"));
  EXPECT_THAT(replaced_rows(source_of(many), rows_of({job("a", "gelu")})), IsEmpty());
  const auto unreadable = [](const std::vector<std::string>&, const VisitRow&) -> Expected<void> {
    return our_fault("no broker");
  };
  EXPECT_THAT(replaced_rows(source_of({job("a", "argmax")}), unreadable), IsEmpty());
}

}  // namespace
}  // namespace kq::producer
