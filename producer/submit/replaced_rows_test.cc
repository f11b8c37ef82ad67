#include "producer/submit/replaced_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::producer {
namespace {

using testing::HasSubstr;
using testing::Optional;
using testing::StartsWith;

Submission job(const std::string& label, const std::string& problem) {
  Submission submission;
  submission.label = label;
  submission.problem.name = problem;
  return submission;
}

Submission named(Submission submission, const std::string& author, std::map<std::string, std::string> tags) {
  submission.author = author;
  submission.tags = std::move(tags);
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
  EXPECT_EQ(
      replaced_rows(source, rows_of({job("a", "gelu"), job("b", "gelu"), job("c", "relu")})),
      "run r: this call replaces 1 row of another problem (gelu), such as a; kq ctl why 7 explains that job; other "
      "kernels need other labels or another run");
  EXPECT_EQ(replaced_rows(source, rows_of({job("a", "argmax"), job("b", "gelu")})), std::nullopt);
}

TEST(replaced_rows, a_problem_whose_file_has_changed_is_another_problem) {
  Submission next = job("a", "gelu");
  next.problem.hash = sha256("edited");
  EXPECT_THAT(
      replaced_rows(source_of({next}), rows_of({job("a", "gelu")})),
      Optional(StartsWith("run r: this call replaces 1 row of another problem (gelu with another file), such")));
}

TEST(replaced_rows, many_rows_are_one_sentence) {
  std::vector<Submission> many, known;
  for (std::size_t i = 0; i < kLookedAtTogether + 5; ++i) {
    many.push_back(job("k" + std::to_string(i), "argmax"));
    known.push_back(job("k" + std::to_string(i), "p" + std::to_string(i % 5)));
  }
  EXPECT_THAT(
      replaced_rows(source_of(many), rows_of(known)),
      Optional(StartsWith("run r: this call replaces 1029 rows of another problem (p0, p1, p2, ...), such as")));
}

TEST(replaced_rows, jobs_in_memory_are_looked_at_as_well) {
  const Prepared prepared{.run = "r", .jobs = {{job("a", "argmax"), {}}, {job("b", "gelu"), {}}}, .mistakes = {}};
  EXPECT_THAT(replaced_rows(prepared, rows_of({job("a", "gelu"), job("b", "gelu")})),
              Optional(StartsWith("run r: this call replaces 1 row of another problem (gelu)")));
}

TEST(replaced_rows, another_author_and_other_tags_are_told) {
  const Submission former = named(job("a", "relu"), "ann", {{"model", "x"}, {"step", "1"}});
  const auto sentence = [&](const Submission& next) {
    return replaced_rows(source_of({next}), rows_of({former})).value_or("");
  };
  EXPECT_EQ(sentence(named(job("a", "relu"), "bob", {{"model", "y"}, {"step", "1"}})),
            "run r: this call replaces 1 row of another author or with other tags (author ann, tag model=x), such as "
            "a; other kernels need other labels or another run");
  EXPECT_THAT(sentence(named(job("a", "relu"), "ann", {{"step", "1"}})), HasSubstr("(tag model=x)"));
  EXPECT_EQ(sentence(job("a", "relu")), "");
  EXPECT_EQ(sentence(named(job("a", "relu"), "-", {{"-", ""}})), "");
  EXPECT_EQ(sentence(named(job("a", "relu"), "ann", {{"model", "x"}, {"step", "1"}, {"note", "n"}})), "");
  EXPECT_EQ(replaced_rows(source_of({former}), rows_of({job("a", "relu")})), std::nullopt);
}

TEST(replaced_rows, both_reasons_are_one_sentence) {
  EXPECT_THAT(replaced_rows(source_of({named(job("a", "relu"), "bob", {}), job("b", "gelu")}),
                            rows_of({named(job("a", "relu"), "ann", {}), job("b", "relu")})),
              Optional(StartsWith("run r: this call replaces 1 row of another problem (relu) and 1 row of another "
                                  "author or with other tags (author ann), such as b; kq ctl why 7 explains")));
}

TEST(replaced_rows, a_part_of_the_rows_is_told_as_such) {
  const std::vector<Submission> many(kLookedAtJobsMax + 1, job("a", "argmax"));
  EXPECT_THAT(replaced_rows(source_of(many), rows_of({job("a", "gelu")})),
              Optional(StartsWith("run r: this call replaces at least 1 row of another problem (gelu)")));
  const auto unreadable = [](const std::vector<std::string>&, const VisitRow&) -> Expected<void> {
    return our_fault("no broker");
  };
  EXPECT_EQ(replaced_rows(source_of({job("a", "argmax")}), unreadable), std::nullopt);
}

}  // namespace
}  // namespace kq::producer
