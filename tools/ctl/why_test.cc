#include "tools/ctl/why.h"

#include <gtest/gtest.h>

#include "tools/ctl/scripted_world.h"

namespace kq::tools {
namespace {

constexpr std::int64_t kNow = 1'795'284'000'000;

JobStatus waiting(WaitReason why) {
  return {.seq = 7, .state = JobState::queued, .verdict = "", .why = why};
}
JobRecord job(Requirements needs = {}) {
  JobRecord record;
  record.seq = 7;
  record.submitter = "ann";
  record.needs = std::move(needs);
  record.failures = 1;
  return record;
}
WorkerStatus worker(DeviceKind kind, const std::string& model, std::vector<std::string> labels = {}) {
  return {.worker = "n1:7",
          .devices = {{.kind = kind, .model = model, .uuid = "", .arch = ""}},
          .labels = std::move(labels)};
}

TEST(ctl_why, a_job_that_waits_for_its_turn_is_explained_by_its_place) {
  JobStatus status = waiting(WaitReason::behind);
  status.position = 3;
  status.ahead = 12;
  EXPECT_EQ(why_text(status, job(), {}, kNow),
            "job 7 waits for its turn: 12 jobs are ahead of it, and it is the 3rd in its queue lane");
  status.position = 1;
  status.ahead = 0;
  EXPECT_EQ(why_text(status, job(), {}, kNow),
            "job 7 waits for its turn: it is the next job, and it is the 1st in its queue lane");
}

TEST(ctl_why, a_job_that_no_worker_serves_is_explained_by_what_is_missing) {
  const auto text = [](Requirements needs, std::vector<WorkerStatus> workers) {
    return why_text(waiting(WaitReason::no_worker), job(std::move(needs)), workers, kNow);
  };
  const WorkerStatus cpu = worker(DeviceKind::cpu, "EPYC");
  const WorkerStatus gpu = worker(DeviceKind::cuda, "NVIDIA H200", {"lab"});
  EXPECT_EQ(text({}, {}), "job 7 waits for a worker: none is connected");
  WorkerStatus builder;
  builder.builds_for = {{.kind = DeviceKind::cuda, .model = "", .uuid = "", .arch = "sm_90"}};
  EXPECT_EQ(text({.wish = DeviceWish::cuda}, {builder}), "job 7 waits for a worker: none is connected");
  EXPECT_EQ(text({.wish = DeviceWish::cuda}, {cpu}), "job 7 waits for a cuda device: the only worker has none");
  EXPECT_EQ(text({.gpu_model = "NVIDIA B200"}, {cpu, gpu}),
            "job 7 waits for a NVIDIA B200: none of the 2 workers has one");
  EXPECT_EQ(text({.labels = {"big"}}, {cpu, gpu}),
            "job 7 waits for a worker labelled big with any device: no worker has both the device and all labels");
  EXPECT_EQ(text({.backend = Backend::cuda, .labels = {"lab"}}, {cpu, gpu}),
            "job 7 waits for a worker that can build cuda kernels");
}

TEST(ctl_why, a_job_whose_workers_all_drain_is_explained_by_the_drain) {
  WorkerStatus draining = worker(DeviceKind::cuda, "NVIDIA H200", {"lab"});
  draining.draining = true;
  draining.backends = {Backend::torch};
  WorkerStatus other = draining;
  other.worker = "n2:8";
  const auto text = [&](std::vector<WorkerStatus> workers) {
    return why_text(waiting(WaitReason::draining), job({.labels = {"lab"}}), workers, kNow);
  };
  EXPECT_EQ(text({worker(DeviceKind::cpu, "EPYC"), draining}),
            "job 7 waits for a worker: n1:7, the only worker that can run it, is draining");
  EXPECT_EQ(text({other, draining}), "job 7 waits for a worker: all workers that can run it are draining");
  other.backends = {Backend::triton};
  EXPECT_EQ(text({other, draining}), "job 7 waits for a worker: n1:7, the only worker that can run it, is draining");
}

TEST(ctl_why, waits_for_a_time_and_pauses_are_explained) {
  JobStatus status = waiting(WaitReason::not_before);
  status.until_ms = kNow + 600'000;
  EXPECT_EQ(why_text(status, job(), {}, kNow), "job 7 may not run before 2026-11-21T18:10:00Z, in 10 min");
  status.why = WaitReason::after_failure;
  JobRecord failed = job();
  failed.last_error = "the judge died";
  EXPECT_EQ(why_text(status, failed, {}, kNow),
            "job 7 failed 1 time by a fault of kq (the judge died) and is retried at 2026-11-21T18:10:00Z, in 10 min");
  status.why = WaitReason::paused;
  EXPECT_EQ(why_text(status, job(), {}, kNow),
            "job 7 waits because the queue, or its submitter ann, is paused; kq-ctl resume ends the pause");
}

TEST(ctl_why, running_and_finished_jobs_are_explained_too) {
  ScriptedWorld kq;
  kq.on<BrokerQuery>([](const auto&) { return BrokerReply{}; });
  kq.on<StatusQuery>([](const StatusQuery&) {
    return StatusReply{{{.seq = 8, .state = JobState::leased, .attempt = 2, .verdict = ""},
                        {.seq = 9, .state = JobState::finished, .verdict = "passed"}}};
  });
  kq.on<JobsQuery>([](const JobsQuery& query) {
    return page_of({job_row(8, JobState::leased), job_row(9, JobState::finished)}, query, 10);
  });
  EXPECT_EQ(kq.run({"why", "8", "9"}), 0);
  EXPECT_EQ(kq.out.str(),
            "job 8 has been running for 3 min, attempt 2\n"
            "job 9 is finished: passed; kq results monday shows its times\n");
  EXPECT_EQ(kq.run({"why", "8", "9", "10"}), 5);
  EXPECT_EQ(kq.err.str(), "kq-ctl why: 1 job is unknown to broker ipc:///tmp/kq.sock\n");
}

TEST(ctl_why, a_finished_job_is_explained_with_the_command_that_shows_its_result) {
  const JobStatus over{.seq = 7, .state = JobState::finished, .verdict = "wrong_answer"};
  JobRecord record = job();
  EXPECT_EQ(why_text(over, record, {}, kNow), "job 7 is finished: wrong_answer");  // the run is unknown
  record.run = "my run";
  EXPECT_EQ(why_text(over, record, {}, kNow),
            "job 7 is finished: wrong_answer; kq results 'my run' --failed shows why");
}

TEST(ctl_why, a_run_is_explained_from_its_rows) {
  ScriptedWorld kq;
  kq.on<BrokerQuery>([](const auto&) { return BrokerReply{}; });
  kq.on<StatusQuery>([](const StatusQuery& query) {
    StatusReply reply;
    for (const Sequence seq : query.seqs)
      reply.jobs.push_back({.seq = seq, .verdict = "", .why = WaitReason::no_worker});
    return reply;
  });
  kq.on<RunQuery>([](const RunQuery& query) {
    if (query.run != "monday") return RunReply{};
    RunReply reply;
    for (const Sequence seq : {1, 2, 3}) {
      RunRow& row = reply.rows.emplace_back();
      row.entry.submission.label = std::to_string(seq);
      if (row.entry.submission.label <= query.after_label) {
        reply.rows.pop_back();
        continue;
      }
      row.job.seq = seq;
      row.job.state = seq == 2 ? JobState::finished : JobState::queued;
      reply.more = seq < 3;
      break;
    }
    return reply;
  });
  EXPECT_EQ(kq.run({"why", "--run", "monday"}), 0);
  EXPECT_EQ(kq.out.str(), "job 1 waits for a worker: none is connected\njob 3 waits for a worker: none is connected\n");
  EXPECT_TRUE(kq.requests_of<JobsQuery>().empty());
  EXPECT_EQ(kq.run({"why", "--run", "tuesday"}), 5);
  EXPECT_EQ(kq.err.str(), "kq-ctl why: there is no run 'tuesday'\n");
}

TEST(ctl_why, exactly_one_choice_of_jobs_is_needed) {
  ScriptedWorld kq;
  EXPECT_EQ(kq.run({"why"}), 2);
  EXPECT_EQ(kq.err.str(), "kq-ctl why: give either job numbers or --run NAME\n");
  EXPECT_EQ(kq.run({"why", "7", "--run", "r"}), 2);
  EXPECT_EQ(kq.run({"why", "seven"}), 2);
  EXPECT_EQ(kq.err.str(), "kq-ctl why: 'seven' is not a job number; kq submit prints the numbers of jobs\n");
  EXPECT_TRUE(kq.broker.requests.empty());
}

}  // namespace
}  // namespace kq::tools
