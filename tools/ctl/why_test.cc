#include "tools/ctl/why.h"

#include <gtest/gtest.h>

#include "producer/client/json.h"
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
  EXPECT_EQ(why_text(status, job(), {}, {}, kNow),
            "job 7 waits for its turn: 12 jobs are ahead of it, and it is the 3rd in its queue lane");
  status.position = 1;
  status.ahead = 0;
  EXPECT_EQ(why_text(status, job(), {}, {}, kNow),
            "job 7 waits for its turn: it is the next job, and it is the 1st in its queue lane");
}

TEST(ctl_why, a_job_that_no_worker_serves_is_explained_by_what_is_missing) {
  const auto text = [](Requirements needs, const std::vector<WorkerStatus>& workers) {
    return why_text(waiting(WaitReason::no_worker), job(std::move(needs)), workers, {}, kNow);
  };
  const WorkerStatus cpu = worker(DeviceKind::cpu, "EPYC");
  const WorkerStatus gpu = worker(DeviceKind::cuda, "NVIDIA H200", {"lab"});
  EXPECT_EQ(text({}, {}), "job 7 waits for a worker: none is connected");
  WorkerStatus builder;
  builder.builds_for = {{.kind = DeviceKind::cuda, .model = "", .uuid = "", .arch = "sm_90"}};
  EXPECT_EQ(text({.wish = DeviceWish::cuda}, {builder}), "job 7 waits for a worker: none is connected");
  EXPECT_EQ(text({.wish = DeviceWish::cuda}, {cpu}), "job 7 waits for a cuda device: the only worker has none");
  EXPECT_EQ(
      text({.gpu_model = "NVIDIA B200"}, {cpu, gpu}),
      "job 7 waits for a NVIDIA B200: none of the 2 workers has one; the whole name of a model is needed, and there is "
      "NVIDIA H200");
  EXPECT_EQ(text({.device_count = 2}, {cpu}),
            "job 7 waits for a lane of 2 devices: the only worker has none; kq worker --gpus-per-lane 2 makes them");
  EXPECT_EQ(text({.gpu_model = "NVIDIA H200", .device_count = 4}, {cpu, gpu}),
            "job 7 waits for a lane of 4 NVIDIA H200: none of the 2 workers has one; kq worker --gpus-per-lane 4 makes "
            "them");
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
  const auto text = [&](const std::vector<WorkerStatus>& workers) {
    return why_text(waiting(WaitReason::draining), job({.labels = {"lab"}}), workers, {}, kNow);
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
  EXPECT_EQ(why_text(status, job(), {}, {}, kNow), "job 7 may not run before 2026-11-21T18:10:00Z, in 10 min");
  status.why = WaitReason::after_failure;
  JobRecord failed = job();
  failed.last_error = "the judge died";
  EXPECT_EQ(why_text(status, failed, {}, {}, kNow),
            "job 7 failed 1 time by a fault of kq (the judge died) and is retried at 2026-11-21T18:10:00Z, in 10 min");
  status.why = WaitReason::paused;
  EXPECT_EQ(
      why_text(status, job(), {}, {}, kNow),
      "job 7 waits because its submitter ann is paused; an operator ends the pause with kq-ctl resume --submitter "
      "ann");
  EXPECT_EQ(why_text(status, job(), {}, Pauses{.is_queue_paused = true}, kNow),
            "job 7 waits because the queue is paused; an operator ends the pause with kq-ctl resume");
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
            "job 9 is finished: passed; kq show 9 shows its times\n");
  EXPECT_EQ(kq.run({"why", "8", "9", "10"}), 5);
  EXPECT_EQ(kq.err.str(), "kq-ctl why: 1 job is unknown to broker ipc:///tmp/kq.sock\n");
}

TEST(ctl_why, a_build_is_explained_with_its_worker_and_duration) {
  JobStatus status{.seq = 7, .state = JobState::leased, .attempt = 1, .verdict = "", .worker = "n1:7"};
  status.build_started_ms = kNow - 14'000;
  status.builds_extensions = true;
  EXPECT_EQ(why_text(status, job(), {}, {}, kNow),
            "job 7 is being built, attempt 1: the worker n1:7 has been building the extensions of this job for 14 s");
  status.builds_extensions = false;
  EXPECT_EQ(why_text(status, job(), {}, {}, kNow),
            "job 7 is being built, attempt 1: the worker n1:7 has been building this job for 14 s");
  status.state = JobState::queued;
  status.why = WaitReason::behind;
  EXPECT_EQ(why_text(status, job(), {}, {}, kNow),
            "job 7 waits for its turn: it is the next job; the worker n1:7 has been building this job for 14 s, in "
            "advance");
}

TEST(ctl_why, a_job_behind_other_builds_is_explained_with_the_longest) {
  WorkerStatus first = worker(DeviceKind::cuda, "NVIDIA H200");
  first.building = 3;
  first.build_started_ms = kNow - 42'000;
  WorkerStatus second = first;
  second.worker = "n2:8";
  second.building = 1;
  second.build_started_ms = kNow - 70'000;
  JobStatus status = waiting(WaitReason::behind);
  const std::string place = "job 7 waits for its turn: it is the next job; ";
  EXPECT_EQ(why_text(status, job(), {first}, {}, kNow),
            place + "the worker n1:7 is building 3 other jobs, the longest for 42 s");
  EXPECT_EQ(why_text(status, job(), {second}, {}, kNow), place + "the worker n2:8 is building 1 other job, for 1 min");
  EXPECT_EQ(why_text(status, job(), {first, second}, {}, kNow),
            place + "2 workers are building 4 other jobs, the longest for 1 min");
  second.draining = true;
  const WorkerStatus unfit = worker(DeviceKind::cpu, "EPYC");
  EXPECT_EQ(why_text(status, job({.wish = DeviceWish::cuda}), {first, second, unfit}, {}, kNow),
            place + "the worker n1:7 is building 3 other jobs, the longest for 42 s");
  status.state = JobState::leased;
  status.attempt = 1;
  status.worker = "n1:7";
  JobRecord leased = job();
  leased.leased_at_ms = kNow - 50'000;
  EXPECT_EQ(why_text(status, leased, {first, second}, {}, kNow),
            "job 7 was leased to the worker n1:7 50 s ago, attempt 1; the worker n1:7 is building 3 other jobs, the "
            "longest for 42 s");
  WorkerStatus busy = worker(DeviceKind::cuda, "H200");
  busy.worker = "n1:7";
  busy.running = 4;
  EXPECT_EQ(
      why_text(status, leased, {busy}, {}, kNow),
      "job 7 was leased to the worker n1:7 50 s ago, attempt 1; the worker holds 4 jobs and runs one at a time on "
      "each device");
}

TEST(ctl_why, builds_are_fields_of_the_json) {
  ScriptedWorld kq;
  kq.on<BrokerQuery>([&](const auto&) {
    BrokerReply reply;
    reply.workers = {worker(DeviceKind::cuda, "NVIDIA H200")};
    reply.workers[0].building = 2;
    reply.workers[0].build_started_ms = kNow - 42'000;
    return reply;
  });
  kq.on<StatusQuery>([](const StatusQuery&) {
    JobStatus built{.seq = 8, .state = JobState::leased, .attempt = 1, .verdict = "", .worker = "n1:7"};
    built.build_started_ms = kNow - 14'000;
    built.builds_extensions = true;
    return StatusReply{{built, {.seq = 9, .state = JobState::queued, .verdict = "", .why = WaitReason::behind}}};
  });
  kq.on<JobsQuery>([](const JobsQuery& query) {
    return page_of({job_row(8, JobState::leased), job_row(9, JobState::queued)}, query, 10);
  });
  EXPECT_EQ(kq.run({"why", "8", "9", "--json"}), 0);
  const auto json = producer::parse_json(kq.out.str());
  ASSERT_TRUE(json) << kq.out.str();
  const auto& own = json->find("jobs")->array()->at(0);
  EXPECT_EQ(*own.find("worker")->text(), "n1:7");
  EXPECT_EQ(*own.find("build_started_ms")->integer(), kNow - 14'000);
  EXPECT_EQ(*own.find("other_builds")->integer(), 0);
  const auto& waits = json->find("jobs")->array()->at(1);
  EXPECT_EQ(*waits.find("other_builds")->integer(), 2);
  EXPECT_EQ(*waits.find("other_build_started_ms")->integer(), kNow - 42'000);
}

TEST(ctl_why, a_finished_job_is_explained_with_the_command_that_shows_its_result) {
  const JobStatus over{.seq = 7, .state = JobState::finished, .verdict = "wrong_answer"};
  JobRecord record = job();
  EXPECT_EQ(why_text(over, record, {}, {}, kNow), "job 7 is finished: wrong_answer");  // the run is unknown
  record.run = "my run";
  EXPECT_EQ(why_text(over, record, {}, {}, kNow), "job 7 is finished: wrong_answer; kq show 7 shows why");
}

TEST(ctl_why, a_run_is_explained_from_its_rows_and_former_jobs) {
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
  kq.on<JobsQuery>([](const JobsQuery& query) {
    JobRow given_up = job_row(5);
    given_up.job.run = "tuesday";
    return page_of({job_row(1), job_row(3), job_row(4), given_up}, query, 10);
  });
  EXPECT_EQ(kq.run({"why", "--run", "monday"}), 0);
  EXPECT_EQ(kq.out.str(),
            "job 1 waits for a worker: none is connected\njob 3 waits for a worker: none is connected\n"
            "job 4 waits for a worker: none is connected; its row in run monday has another job now\n");
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
