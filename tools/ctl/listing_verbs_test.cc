#include "tools/ctl/listing_verbs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "producer/client/json.h"
#include "tools/ctl/scripted_world.h"

namespace kq::tools {
namespace {

TEST(ctl_listing_verbs, jobs_of_a_state_are_listed_page_by_page) {
  ScriptedWorld kq;
  std::vector<JobRow> all;
  for (Sequence seq = 1; seq <= 1'000; ++seq) all.push_back(job_row(seq));
  all.push_back(job_row(1'001, JobState::leased, "bob"));
  all.back().worker = "n1:7";
  all.push_back(job_row(1'002, JobState::leased, "bob"));
  all.back().worker = "n1:7";
  all.back().build_started_ms = kq.unix_now_ms - 14'000;
  kq.on<JobsQuery>([&](const JobsQuery& query) { return page_of(all, query, 100); });
  EXPECT_EQ(kq.run({"jobs"}), 0);
  const std::string text = kq.out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1'001);
  EXPECT_EQ(text.find("job  priority  submitter  run     label     attempt  worker  queued\n"
                      "  1  normal    ann        monday  relu/1          0  -        3 min\n"),
            0u)
      << text.substr(0, 200);
  EXPECT_EQ(kq.requests_of<JobsQuery>().size(), 10u);
  EXPECT_EQ(kq.requests_of<JobsQuery>().back().after_seq, 900u);

  EXPECT_EQ(kq.run({"jobs", "--state", "leased"}), 0);
  const std::string leased = kq.out.str();
  EXPECT_EQ(kq.run({"jobs", "--state", "running"}), 0);
  EXPECT_EQ(kq.out.str(), leased);
  EXPECT_EQ(kq.out.str(),
            " job  priority  submitter  run     label      attempt  worker          running\n"
            "1001  normal    bob        monday  relu/1001        0  n1:7              3 min\n"
            "1002  normal    bob        monday  relu/1002        0  n1:7    building, 3 min\n");
  EXPECT_EQ(kq.run({"jobs", "--state", "finished"}), 5);
  EXPECT_EQ(kq.err.str(), "kq-ctl jobs: there is no finished job\n");
  EXPECT_EQ(kq.run({"jobs", "--submitter", "carl"}), 5);
  EXPECT_EQ(kq.err.str(), "kq-ctl jobs: there is no queued job of carl\n");
  all.push_back(job_row(1'003, JobState::queued, "carl@lab/monday"));
  EXPECT_EQ(kq.run({"jobs", "--submitter", "carl@lab"}), 0);  // a sweep
  EXPECT_EQ(kq.run({"jobs", "--state", "gone"}), 2);
  EXPECT_EQ(kq.run({"jobs", "--store", "mine", "--state", "leased"}), 0);
  EXPECT_EQ(kq.states.back(), "mine");
}

TEST(ctl_listing_verbs, finished_jobs_are_listed_with_verdict_and_worker) {
  ScriptedWorld kq;
  std::vector<JobRow> all{job_row(1, JobState::finished), job_row(2, JobState::finished)};
  for (JobRow& row : all) row.job.finished_at_ms = kq.unix_now_ms - 60'000;
  all[0].worker = "n1:7";
  kq.on<JobsQuery>([&](const JobsQuery& query) { return page_of(all, query, 10); });
  kq.on<StatusQuery>([](const StatusQuery& query) {
    EXPECT_EQ(query.seqs, (std::vector<Sequence>{1, 2}));
    return StatusReply{{{.seq = 1, .state = JobState::finished, .verdict = "passed"}}};  // the other was removed
  });
  EXPECT_EQ(kq.run({"jobs", "--state", "finished"}), 0);
  EXPECT_EQ(kq.out.str(),
            "job  priority  submitter  run     label   attempt  worker  verdict  finished\n"
            "  1  normal    ann        monday  relu/1        0  n1:7    passed      1 min\n"
            "  2  normal    ann        monday  relu/2        0  -       -           1 min\n");
  EXPECT_EQ(kq.run({"jobs", "--state", "finished", "--json"}), 0);
  EXPECT_NE(kq.out.str().find("\"verdict\": \"passed\""), std::string::npos);
}

TEST(ctl_listing_verbs, json_is_one_object_with_an_object_for_each_job) {
  ScriptedWorld kq;
  const std::vector<JobRow> all{job_row(1), job_row(2)};
  kq.on<JobsQuery>([&](const JobsQuery& query) { return page_of(all, query, 1); });
  EXPECT_EQ(kq.run({"jobs", "--json"}), 0);
  const auto json = producer::parse_json(kq.out.str());
  ASSERT_TRUE(json) << kq.out.str();
  ASSERT_EQ(json->find("jobs")->array()->size(), 2u);
  EXPECT_EQ(*json->find("jobs")->array()->at(1).find("label")->text(), "relu/2");
  EXPECT_EQ(*json->find("jobs")->array()->at(1).find("id")->integer(), 2);
}

TEST(ctl_listing_verbs, dead_letters_are_listed_with_their_last_failure) {
  ScriptedWorld kq;
  JobRow dead = job_row(7, JobState::finished);
  dead.job.attempt = 3;
  dead.job.last_error = "the judge died\x1b[2J";
  kq.on<DeadQuery>([&](const DeadQuery& query) { return page_of({dead}, query, 10); });
  EXPECT_EQ(kq.run({"dead-letters"}), 0);
  EXPECT_EQ(kq.out.str(),
            "job  submitter  run     label   attempt  dead for  last failure\n"
            "  7  ann        monday  relu/7        3     3 min  the judge died\\x1b[2J\n");
}

TEST(ctl_listing_verbs, runs_are_listed_by_name_page_by_page) {
  ScriptedWorld kq;
  const std::int64_t ms = job_row(1).job.submitted_at_ms;
  kq.on<RunsQuery>([&](const RunsQuery& query) {
    if (query.after.empty()) return RunsReply{.runs = {{"monday", "ann", ms}}, .more = true};
    EXPECT_EQ(query.after, "monday");
    return RunsReply{.runs = {{"sweep", "bob@lab/sweep", ms}, {"tuesday", "", ms}}, .more = false};
  });
  EXPECT_EQ(kq.run({"runs"}), 0);
  EXPECT_EQ(kq.out.str(),
            "run      submitter  submitted\n"
            "monday   ann            3 min\n"
            "sweep    bob@lab        3 min\n"
            "tuesday  -              3 min\n");
}

TEST(ctl_listing_verbs, an_empty_list_is_a_sentence_or_an_empty_array) {
  ScriptedWorld kq;
  kq.on<RunsQuery>([&](const RunsQuery&) { return RunsReply{}; });
  kq.on<DeadQuery>([&](const DeadQuery&) { return JobsReply{}; });
  EXPECT_EQ(kq.run({"runs"}), 5);
  EXPECT_EQ(kq.out.str() + kq.err.str(), "kq-ctl runs: there are no runs yet\n");
  EXPECT_EQ(kq.run({"dead-letters"}), 5);
  EXPECT_EQ(kq.out.str() + kq.err.str(), "kq-ctl dead-letters: there are no dead letters\n");
  EXPECT_EQ(kq.run({"runs", "--json"}), 5);
  EXPECT_EQ(kq.err.str(), "");
  EXPECT_EQ(producer::parse_json(kq.out.str())->find("runs")->array()->size(), 0u);
}

TEST(ctl_listing_verbs, a_repeated_page_of_runs_is_an_error) {
  ScriptedWorld kq;
  kq.on<RunsQuery>([&](const RunsQuery&) { return RunsReply{.runs = {{"monday", "ann", 0}}, .more = true}; });
  EXPECT_EQ(kq.run({"runs", "--json"}), 3);
}

TEST(ctl_listing_verbs, a_repeated_page_of_jobs_is_an_error) {
  ScriptedWorld kq;
  kq.on<JobsQuery>([&](const JobsQuery&) { return JobsReply{.jobs = {job_row(1)}, .last_seq = 0, .more = true}; });
  EXPECT_EQ(kq.run({"jobs"}), 3);
  EXPECT_EQ(kq.err.str(), "kq-ctl jobs: broker ipc:///tmp/kq.sock gave the same page of jobs twice\n");
}

}  // namespace
}  // namespace kq::tools
