#include "tools/ctl/job_verbs.h"

#include <gtest/gtest.h>

#include "core/limits.h"
#include "producer/client/json.h"
#include "tools/ctl/scripted_world.h"

namespace kq::tools {
namespace {

class JobVerbs : public testing::Test {
 protected:
  void SetUp() override {
    const auto act = [this](const auto& request) {
      ActionReply reply;
      for (const Sequence seq : request.seqs) {
        const bool done = !refused.contains(seq);
        reply.jobs.push_back(
            {.seq = seq,
             .done = done,
             .state = JobState::finished,
             .reason = done && !already.contains(seq) ? "" : "job " + std::to_string(seq) + " is finished: passed"});
      }
      return reply;
    };
    kq.on<CancelJobs>(act);
    kq.on<RetryJobs>(act);
    kq.on<PurgeDead>(act);
    kq.on<StatusQuery>([this](const StatusQuery& query) {
      StatusReply reply;
      for (const Sequence seq : query.seqs) {
        if (!unknown.contains(seq)) reply.jobs.emplace_back().seq = seq;
      }
      return reply;
    });
    kq.on<JobsQuery>([this](const JobsQuery& query) { return page_of(jobs, query, 2); });
    kq.on<DeadQuery>([this](const DeadQuery& query) { return page_of(dead, query, 2); });
  }
  template <class Request>
  std::vector<Sequence> seqs_of() const {
    std::vector<Sequence> all;
    for (const auto& request : kq.template requests_of<Request>())
      all.insert(all.end(), request.seqs.begin(), request.seqs.end());
    return all;
  }

  ScriptedWorld kq;
  std::set<Sequence> refused;
  std::set<Sequence> unknown;  // of the refused jobs
  std::set<Sequence> already;
  std::vector<JobRow> jobs;
  std::vector<JobRow> dead;
};

TEST_F(JobVerbs, a_job_that_goes_on_for_others_is_counted_apart) {
  kq.on<CancelJobs>([](const CancelJobs&) {
    return ActionReply{{{.seq = 7, .done = true, .state = JobState::queued, .reason = "job 7 goes on"},
                        {.seq = 8, .done = true, .state = JobState::finished, .reason = ""}}};
  });
  EXPECT_EQ(kq.run({"cancel", "7", "8"}), 0);
  EXPECT_EQ(kq.out.str(), "cancelled 1 job, left 1 to other submitters\n");
}

TEST_F(JobVerbs, what_a_sweep_left_is_cancelled_by_the_broker_of_its_state_folder) {
  EXPECT_EQ(kq.run({"cancel", "7", "--state", "mine"}), 0);
  EXPECT_EQ(kq.run({"cancel", "8"}), 0);
  EXPECT_EQ(kq.states, (std::vector<std::string>{"mine", ""}));
  EXPECT_EQ(kq.run({"cancel", "7", "--broker", "ipc:///x"}), 0);
  EXPECT_EQ(kq.states.size(), 2u);
  EXPECT_EQ(kq.run({"cancel", "7", "--broker", "ipc:///x", "--state", "mine"}), 2);
  EXPECT_EQ(kq.err.str(), "kq-ctl cancel: give either --state DIR or --broker URL\n");
}

TEST_F(JobVerbs, cancels_by_number_and_prints_refusals) {
  refused = {8};
  EXPECT_EQ(kq.run({"cancel", "7", "8", "9"}), 2);
  EXPECT_EQ(kq.out.str(), "cancelled 2 jobs, 1 refused\n");
  EXPECT_EQ(kq.err.str(), "job 8 is finished: passed\n");
  EXPECT_EQ(seqs_of<CancelJobs>(), (std::vector<Sequence>{7, 8, 9}));
  EXPECT_EQ(kq.run({"cancel", "7", "--json"}), 0);
  EXPECT_EQ(kq.out.str(),
            "{\"jobs\": [\n{\"id\": 7, \"done\": true, \"state\": \"finished\", \"reason\": null}\n], \"done\": 1, "
            "\"refused\": 0}\n");
}

TEST_F(JobVerbs, jobs_of_which_none_is_known_are_no_jobs_to_cancel) {
  refused = {7, 8};
  unknown = {8};
  EXPECT_EQ(kq.run({"cancel", "8"}), 5);
  EXPECT_EQ(kq.out.str(), "cancelled 0 jobs, 1 refused\n");
  EXPECT_EQ(kq.run({"cancel", "7", "8"}), 2);
  EXPECT_EQ(kq.run({"cancel", "8", "9"}), 2);
  EXPECT_EQ(kq.run({"retry", "8"}), 5);
}

TEST_F(JobVerbs, many_numbers_are_split_into_messages_of_allowed_size) {
  std::vector<std::string> words;
  for (std::size_t seq = 1; seq <= kQuerySeqsMax + 1; ++seq) words.push_back(std::to_string(seq));
  std::vector<const char*> argv{"cancel"};
  for (const std::string& word : words) argv.push_back(word.c_str());
  EXPECT_EQ(kq.run(argv), 0);
  ASSERT_EQ(kq.requests_of<CancelJobs>().size(), 2u);
  EXPECT_EQ(kq.requests_of<CancelJobs>()[1].submitter, "");  // numbers end a job for all
  EXPECT_EQ(kq.requests_of<CancelJobs>()[1].seqs, std::vector<Sequence>{kQuerySeqsMax + 1});
}

TEST_F(JobVerbs, cancels_the_queued_jobs_of_a_submitter_before_its_running_jobs) {
  jobs = {job_row(1, JobState::leased),  job_row(2), job_row(3, JobState::queued, "bob"), job_row(4), job_row(5),
          job_row(6, JobState::finished)};
  EXPECT_EQ(kq.run({"cancel", "--submitter", "ann"}), 0);
  EXPECT_EQ(seqs_of<CancelJobs>(), (std::vector<Sequence>{2, 4, 5, 1}));
  EXPECT_EQ(kq.requests_of<CancelJobs>().front().submitter, "ann");
  EXPECT_EQ(kq.out.str(), "cancelled 4 jobs\n");
  EXPECT_EQ(kq.run({"cancel", "--submitter", "carl"}), 5);
  EXPECT_EQ(kq.out.str(), "cancelled 0 jobs\n");
}

TEST_F(JobVerbs, a_submitter_has_the_jobs_of_its_sweeps_too) {
  jobs = {job_row(1, JobState::queued, "ann@lab"), job_row(2, JobState::queued, "ann@lab/monday"),
          job_row(3, JobState::queued, "ann@lab/tuesday"), job_row(4, JobState::queued, "bob@lab/monday")};
  EXPECT_EQ(kq.run({"cancel", "--submitter", "ann@lab"}), 0);
  EXPECT_EQ(seqs_of<CancelJobs>(), (std::vector<Sequence>{1, 2}));
  EXPECT_EQ(kq.requests_of<CancelJobs>().back().submitter, "ann@lab/monday");  // the name at the queue
  EXPECT_EQ(kq.run({"cancel", "--submitter", "bob@lab/monday"}), 0);
  EXPECT_EQ(seqs_of<CancelJobs>(), (std::vector<Sequence>{1, 2, 4}));
}

TEST_F(JobVerbs, cancels_the_unfinished_jobs_of_a_run_and_retries_those_without_terminal_verdict) {
  kq.on<RunQuery>([](const RunQuery& query) {
    RunReply reply;
    if (!query.after_label.empty()) return reply;
    const auto add = [&](Sequence seq, std::optional<VerdictName> verdict) {
      RunRow& row = reply.rows.emplace_back();
      row.entry.submission.label = std::to_string(seq);
      row.job.seq = seq;
      row.entry.submitter = "ann";
      row.job.state = verdict ? JobState::finished : JobState::queued;
      if (verdict)
        row.result = Result{.verdict = ended(*verdict, {}),
                            .device = {},
                            .worker = "",
                            .times = {},
                            .software = {},
                            .sandbox = "",
                            .log = "",
                            .samples = {}};
    };
    add(1, std::nullopt);
    add(2, VerdictName::wrong_answer);
    add(3, VerdictName::abandoned);
    add(4, VerdictName::cancelled);
    return reply;
  });
  EXPECT_EQ(kq.run({"cancel", "--run", "monday"}), 0);
  EXPECT_EQ(seqs_of<CancelJobs>(), (std::vector<Sequence>{1}));
  EXPECT_EQ(kq.requests_of<CancelJobs>().front().submitter, "ann");  // the same work of another submitter goes on
  EXPECT_EQ(kq.run({"retry", "--run", "monday"}), 0);
  EXPECT_EQ(seqs_of<RetryJobs>(), (std::vector<Sequence>{3, 4}));
}

TEST_F(JobVerbs, cancels_the_jobs_of_a_run_whose_rows_other_jobs_have_taken) {
  kq.on<RunQuery>([](const RunQuery&) {
    RunReply reply;
    RunRow& row = reply.rows.emplace_back();
    row.entry.submission.label = "relu";
    row.entry.submitter = "ann";
    row.job.seq = 9;
    row.job.state = JobState::queued;
    return reply;
  });
  JobRow other = job_row(5);
  other.job.run = "tuesday";
  JobRow given_up = job_row(6, JobState::queued, "bob");
  given_up.job.first_submitter = "ann";
  JobRow shared = job_row(7, JobState::queued, "bob");
  shared.job.first_submitter = "ann";
  shared.job.also_for = {"carl", "ann"};
  jobs = {job_row(3, JobState::leased), job_row(4), other, given_up, shared, job_row(9)};
  EXPECT_EQ(kq.run({"cancel", "--run", "monday"}), 0);
  EXPECT_EQ(seqs_of<CancelJobs>(), (std::vector<Sequence>{9, 4, 7, 3}));
  for (const CancelJobs& request : kq.requests_of<CancelJobs>()) EXPECT_EQ(request.submitter, "ann");
}

TEST_F(JobVerbs, acts_on_all_dead_letters_page_by_page_or_on_some) {
  EXPECT_EQ(kq.run({"requeue", "--all"}), 5);
  dead = {job_row(3, JobState::finished), job_row(5, JobState::finished), job_row(9, JobState::finished)};
  EXPECT_EQ(kq.run({"requeue", "--all"}), 0);
  EXPECT_EQ(kq.out.str(), "queued again 3 jobs\n");
  EXPECT_EQ(seqs_of<RetryJobs>(), (std::vector<Sequence>{3, 5, 9}));
  EXPECT_EQ(kq.run({"requeue", "5", "7"}), 2);
  EXPECT_EQ(kq.out.str(), "queued again 1 job, 1 refused\n");
  EXPECT_EQ(kq.err.str(), "job 7 is not a dead letter; kq-ctl retry queues other jobs again\n");
  EXPECT_EQ(seqs_of<RetryJobs>(), (std::vector<Sequence>{3, 5, 9, 5}));
  EXPECT_EQ(kq.run({"purge", "5"}), 0);
  EXPECT_EQ(kq.out.str(), "removed 1 job\n");
  already = {5};
  EXPECT_EQ(kq.run({"retry", "5"}), 0);
  EXPECT_EQ(kq.out.str(), "queued again 0 jobs, 1 unchanged\n");
  EXPECT_EQ(seqs_of<PurgeDead>(), (std::vector<Sequence>{5}));
}

TEST_F(JobVerbs, exactly_one_choice_of_jobs_is_needed) {
  EXPECT_EQ(kq.run({"cancel"}), 2);
  EXPECT_EQ(kq.err.str(), "kq-ctl cancel: give either job numbers, --run NAME or --submitter NAME\n");
  EXPECT_EQ(kq.run({"cancel", "7", "--run", "r"}), 2);
  EXPECT_EQ(kq.run({"purge", "7", "--all"}), 2);
  EXPECT_EQ(kq.run({"retry", "0"}), 2);
  EXPECT_TRUE(kq.broker.requests.empty());
}

}  // namespace
}  // namespace kq::tools
