#include "tools/views/job_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/testing.h"
#include "tools/views/results_view.h"

namespace kq::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ShownJob job_of(RunRow row) {
  row.result->log = "hello\n\x1b[31mred";
  row.entry.submission.author = "anna";
  row.entry.submission.tags = {{"model", "m1"}};
  return {.run = "r 1",
          .row = std::move(row),
          .files = {{"gelu.py", "def f():\n\treturn 1\n"}},
          .problem = {"relu.py", "class Model: ..."}};
}

TEST(job_view, a_page_has_evidence_log_sources_and_the_command_that_measures_again) {
  const std::string text = job_text(job_of(passed_row("relu/fast", 12'500, 25'000, 7)), " --store s");
  EXPECT_THAT(text, HasSubstr("job         7, relu/fast of run r 1\n"));
  EXPECT_THAT(text, HasSubstr("tags        model=m1\n"));
  EXPECT_THAT(text, HasSubstr("verdict     relu/fast: passed\n"));
  EXPECT_THAT(text,
              HasSubstr("times       12.5 us ±1%, the reference 25.0 us ±1%, speedup 2.00x ±1% (published time of "
                        "one call, from 20 and 20 samples)\n"));
  EXPECT_THAT(text, HasSubstr("what it printed:\n  hello\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("\ngelu.py:\n  def f():\n  \treturn 1\n"));
  EXPECT_THAT(text, HasSubstr("kq show 'r 1' relu/fast --store s -o again && kq sweep again --force-rerun\n"));
}

TEST(job_view, a_noisy_time_is_marked_as_in_the_table_of_results) {
  RunRow row = passed_row("relu/fast", 12'500, 25'000);
  std::get<Passed>(row.result->verdict).measurement.is_noisy = true;
  ResultsView view({}, "r 1");
  (void)view.add(row);
  const std::string table = view.finish();
  const std::string text = job_text(job_of(row), "");
  for (const char* part : {"~12.5 us ±1%", "25.0 us ±1%", "2.00x ±1%", "~: the machine was busy"}) {
    EXPECT_THAT(table, HasSubstr(part));
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(job_view, software_without_torch_does_not_name_it) {
  RunRow row = ended_row("relu/fast", VerdictName::compiled_only);
  row.result->software.kq = "0.2.0";
  EXPECT_THAT(job_text(job_of(row), ""), HasSubstr("software    kq 0.2.0\n"));
  row.result->software.torch = "2.9";
  EXPECT_THAT(job_text(job_of(row), ""), HasSubstr("software    kq 0.2.0, torch 2.9\n"));
}

TEST(job_view, files_that_a_broker_refuses_are_named) {
  ShownJob job = job_of(passed_row("relu/fast", 12'500, 25'000));
  job.files.front().second.reset();
  job.refusal = "the files of row 'relu/fast' are for its submitter";
  const std::string text = job_text(job, "");
  EXPECT_THAT(text, HasSubstr("gelu.py: not at hand\n"));
  EXPECT_THAT(text, HasSubstr("\nthe files of row 'relu/fast' are for its submitter\n"));
  EXPECT_THAT(text, Not(HasSubstr("--force-rerun")));
}

TEST(job_view, the_line_of_a_job_submits_it_again) {
  const std::string line = submission_line(job_of(passed_row("relu/fast", 12'500, 25'000)));
  EXPECT_THAT(line, HasSubstr(R"("id": "relu/fast")"));
  EXPECT_THAT(line, HasSubstr(R"("problem_source": "class Model: ...")"));
  EXPECT_THAT(line, HasSubstr(R"("tags": {"model": "m1"})"));
}

}  // namespace
}  // namespace kq::tools
