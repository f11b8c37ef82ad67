#include "tools/ctl/run_jobs.h"

#include <gtest/gtest.h>

#include "core/messages.h"
#include "tools/ctl/scripted_world.h"

namespace kq::tools {
namespace {

class RunJobsTest : public testing::Test {
 protected:
  void SetUp() override {
    kq.on<RunQuery>([](const RunQuery& query) {
      RunReply reply;
      if (query.run != "monday" || !query.after_label.empty()) return reply;
      for (const Sequence seq : {11, 12}) {
        RunRow& row = reply.rows.emplace_back();
        row.entry.submission.label = std::to_string(seq);
        row.entry.submitter = "ann";
        row.job.seq = seq;
        row.job.state = seq == 11 ? JobState::finished : JobState::leased;
      }
      return reply;
    });
    kq.on<JobsQuery>([this](const JobsQuery& query) { return page_of(jobs, query, 2); });
  }

  // Returns the numbers and submitters of the former jobs, such as "4 ann".
  std::vector<std::string> former() {
    producer::Client client = kq.broker.client();
    RunJobs run("monday");
    EXPECT_TRUE(run.each_row(client, [this](const std::vector<RunRow>& rows) -> Expected<void> {
      for (const RunRow& row : rows) of_rows.push_back(row.job.seq);
      return {};
    }));
    std::vector<std::string> found;
    EXPECT_TRUE(run.each_former(client, [&](const std::vector<RunJobs::Former>& some) -> Expected<void> {
      for (const RunJobs::Former& one : some) {
        std::string text = std::to_string(one.job.seq);
        for (const std::string& name : one.submitters) text += " " + name;
        found.push_back(text);
      }
      return {};
    }));
    return found;
  }

  ScriptedWorld kq;
  std::vector<JobRow> jobs;
  std::vector<Sequence> of_rows;
};

TEST_F(RunJobsTest, former_jobs_are_unfinished_jobs_of_the_run_without_a_row) {
  JobRow other = job_row(5);
  other.job.run = "tuesday";
  jobs = {job_row(3, JobState::leased), job_row(4), other, job_row(6, JobState::finished),
          job_row(12, JobState::leased)};
  EXPECT_EQ(former(), (std::vector<std::string>{"4 ann", "3 ann"}));
  EXPECT_EQ(of_rows, std::vector<Sequence>{12});
}

TEST_F(RunJobsTest, only_submitters_of_the_run_give_a_job_up) {
  JobRow moved = job_row(4, JobState::queued, "bob");
  moved.job.first_submitter = "ann";
  JobRow both = moved;
  both.job.seq = 5;
  both.job.also_for = {"carl", "ann"};
  const JobRow first = job_row(6, JobState::queued, "dan");  // the run is shared, and another submitter has the row now
  jobs = {moved, both, first};
  EXPECT_EQ(former(), (std::vector<std::string>{"5 ann", "6 dan"}));
}

TEST_F(RunJobsTest, a_run_without_rows_is_an_error) {
  producer::Client client = kq.broker.client();
  const auto read = RunJobs("tuesday").each_row(client, [](const std::vector<RunRow>&) { return Expected<void>(); });
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "there is no run 'tuesday'");
}

}  // namespace
}  // namespace kq::tools
