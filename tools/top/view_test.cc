#include "tools/top/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/top/testing.h"

namespace kq::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string plain(const std::vector<Line>& lines) {
  std::string text;
  for (const Line& line : lines) text += text_of(line, false);
  return text;
}

TEST(View, the_summary_counts_jobs_verdicts_and_workers) {
  TopFacts facts = top_facts();
  facts.waiting = 1;
  EXPECT_EQ(plain(summary_lines(facts, {})),
            "Jobs      3 queued (1 wait for a later time), 2 building, 1 running, 8.25 done/s\n"
            "Finished  500 passed, 20 wrong_answer since the broker started\n"
            "Workers   2: 1 busy, 1 idle; 2 x NVIDIA H200\n");
  EXPECT_EQ(plain(summary_lines({}, {})),
            "Jobs      0 queued, 0 building, 0 running, - done/s\n"
            "Finished  none since the broker started\n"
            "Workers   0\n");
}

TEST(View, lists_have_runs_failures_and_workers_with_their_jobs) {
  EXPECT_EQ(
      plain(list_lines(top_facts(), {})),
      "RUN     SUBMITTER  PROGRESS    DONE  PASSED  FAILED  RUNNING  QUEUED  PER S  LEFT\n"
      "monday  ada        #####.....   4/8       3       1        1       3   2.00   2 s\n"
      "\n"
      "   FAILED  RUN     LABEL     VERDICT                MESSAGE\n"
      "1 min ago  monday  gelu/bad  wrong_answer (values)  the output differs\n"
      "\n"
      "WORKER  STATE  LEASES  JOB               LEASED  BUILD  DEVICES      BUILDING   MEMORY  SM MHZ  TEMP  WATT\n"
      "gpu-2   busy        1  monday relu/fast    42 s      -  NVIDIA H200         -  140 GiB    1980    41   650\n"
      "gpu-1   idle        0  -                      -      -  NVIDIA H200         -  140 GiB       -     -     -\n");
}

TEST(View, lanes_are_shown_while_jobs_are_queued) {
  TopFacts facts = top_facts();
  facts.lanes = {{.needs = {}, .submitter = "ada", .queued = 3, .oldest_ms = facts.now_ms - 5'000, .served = true}};
  EXPECT_THAT(plain(list_lines(facts, {})),
              HasSubstr("QUEUED  PRIORITY  SUBMITTER  NEEDS       BACKEND  OLDEST  STATE\n"
                        "     3  normal    ada        any device  torch       5 s  served\n"));
}

TEST(View, workers_are_sorted) {
  TopFacts facts;
  facts.workers = {top_worker("w10"), top_worker("w2"), top_worker("w1", "busy")};
  facts.workers[0].status.running = 5;
  facts.workers[2].status.running = 1;
  facts.workers[1].jobs = {leased_job("a", 100'000)};
  facts.now_ms = 100'000;
  for (TopWorker& worker : facts.workers) worker.status.last_seen_ms = facts.now_ms;
  const auto order_of = [&](WorkerOrder order) {
    std::string names;
    for (const Line& line : list_lines(facts, {.order = order})) {
      const std::string text = text_of(line, false);
      if (text.starts_with("w")) names += text.substr(0, text.find(' ')) + " ";
    }
    return names;
  };
  EXPECT_EQ(order_of(WorkerOrder::name), "w1 w2 w10 ");
  EXPECT_EQ(order_of(WorkerOrder::leases), "w10 w1 w2 ");
  EXPECT_EQ(order_of(WorkerOrder::oldest), "w2 w1 w10 ");
  EXPECT_EQ(order_of(WorkerOrder::attention), "w1 w10 w2 ");
}

TEST(View, the_filter_takes_workers_by_name_model_and_job) {
  const TopFacts facts = top_facts();
  EXPECT_THAT(plain(list_lines(facts, {.filter = "GPU-1"})), Not(HasSubstr("gpu-2")));
  EXPECT_THAT(plain(list_lines(facts, {.filter = "h200"})), HasSubstr("gpu-2"));
  const std::string by_job = plain(list_lines(facts, {.filter = "RELU"}));
  EXPECT_THAT(by_job, HasSubstr("gpu-2"));
  EXPECT_THAT(by_job, Not(HasSubstr("gpu-1")));
  EXPECT_THAT(by_job, Not(HasSubstr("gelu/bad")));
  EXPECT_THAT(plain(list_lines(facts, {.filter = "gelu"})), HasSubstr("gelu/bad"));
  EXPECT_EQ(plain(list_lines(facts, {.filter = "nothing"})), "");
}

TEST(View, short_lists_say_what_they_leave_out) {
  TopFacts facts;
  for (std::size_t i = 0; i < kShortListMax + 2; ++i) facts.failures.push_back({.label = "f" + std::to_string(i)});
  EXPECT_THAT(plain(list_lines(facts, {.is_short = true})), HasSubstr("\nand 2 more\n"));
  EXPECT_THAT(plain(list_lines(facts, {})), Not(HasSubstr("more")));
}

TEST(View, a_worker_with_many_leases_shows_the_oldest) {
  TopFacts facts;
  facts.workers = {top_worker("w", "busy")};
  for (std::size_t i = 0; i < kWorkerJobsMax + 3; ++i)
    facts.workers[0].jobs.push_back(leased_job("l" + std::to_string(i), 42'000));
  const std::string text = plain(list_lines(facts, {}));
  EXPECT_THAT(text, HasSubstr("monday l7"));
  EXPECT_THAT(text, Not(HasSubstr("monday l8")));
  EXPECT_THAT(text, HasSubstr("and 3 more"));
}

TEST(View, devices_of_one_worker_are_counted_and_their_figures_are_ranges) {
  TopFacts facts;
  facts.workers = {top_worker("w")};
  facts.workers[0].status.devices.resize(2, facts.workers[0].status.devices[0]);
  facts.workers[0].conditions = {Conditions{.sm_clock_mhz = 1'755, .temperature_c = 40},
                                 Conditions{.sm_clock_mhz = 1'980, .temperature_c = 40}};
  const std::string text = plain(list_lines(facts, {}));
  EXPECT_THAT(text, HasSubstr("2 x NVIDIA H200"));
  EXPECT_THAT(text, HasSubstr("1755-1980    40"));
}

TEST(View, a_run_that_is_still_read_is_not_done) {
  TopFacts facts;
  facts.runs = {{.run = "r", .counts = {.jobs = 5, .finished = 5}}};
  EXPECT_THAT(plain(list_lines(facts, {})), HasSubstr("5/5+"));
  EXPECT_THAT(plain(list_lines(facts, {})), Not(HasSubstr("done")));
  facts.run_count = 2;
  EXPECT_THAT(plain(list_lines(facts, {})), HasSubstr("2 runs in all; kq ctl runs lists them"));
}

}  // namespace
}  // namespace kq::tools
