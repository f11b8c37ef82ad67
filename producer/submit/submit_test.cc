#include "producer/submit/submit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"
#include "producer/client/json.h"
#include "producer/client/scripted_link.h"
#include "producer/formats/test_folder.h"

namespace kq::producer {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr const char* kRemedy =
    "; labels must differ within a run: name one of them with kq: id=NAME at its head, or with id in its line of JSON "
    "Lines, or submit it under another "
    "--run";

std::vector<std::string> labels(const Prepared& prepared) {
  std::vector<std::string> labels;
  for (const PackedJob& job : prepared.jobs) labels.push_back(job.submission.label);
  return labels;
}

class Submit : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("problem.py", kTestProblem);
    request_.options.problem = folder_ / "problem.py";
  }
  void add(std::string_view name, std::string_view text = kTestKernel) {
    request_.inputs.push_back(folder_.write(name, text));
  }

  // Makes the broker accept every job.
  void accept_all() {
    broker_.on_request = [this](const Message<ClientRequest>& request) {
      const SubmitBatch* batch = std::get_if<SubmitBatch>(&request.body);
      if (batch == nullptr) return broker_.reply(request.request_id, BrokerReply{});
      SubmitAck ack;
      for (std::size_t i = 0; i < batch->jobs.size(); ++i) {
        JobAck job;
        job.acceptance = Acceptance::accepted;
        job.seq = ++last_seq_;
        ack.jobs.push_back(job);
      }
      broker_.reply(request.request_id, ack);
    };
  }

  TestFolder folder_;
  SubmitRequest request_;
  ScriptedBroker broker_;
  Sequence last_seq_ = 0;
};

TEST_F(Submit, the_run_is_named_after_its_input) {
  add("monday/add.py");
  EXPECT_EQ(prepare(request_).run, "add");
  folder_.write("monday/submissions.jsonl", "");
  for (const char* input : {"monday", "monday/", "monday/submissions.jsonl", "monday/../monday/."}) {
    request_.inputs = {folder_ / input};
    EXPECT_EQ(prepare(request_).run, "monday") << input;
  }
  request_.run = "other";
  EXPECT_EQ(prepare(request_).run, "other");
}

TEST_F(Submit, a_bad_run_name_is_a_mistake) {
  add("add.py");
  request_.run = "a\nb";
  EXPECT_THAT(prepare(request_).mistakes,
              ElementsAre("the run's name 'a\nb' holds a control character at byte 1; say --run NAME"));
}

TEST_F(Submit, all_mistakes_are_found_and_the_good_part_is_kept) {
  add("good.py");
  add("notes.txt");
  add("binary.py", std::string("\x7f\0", 2));
  request_.inputs.push_back("gone.py");
  request_.inputs.push_back(folder_ / "../gone.py");
  const Prepared prepared = prepare(request_);
  EXPECT_THAT(labels(prepared), ElementsAre("good"));
  EXPECT_THAT(prepared.mistakes, ElementsAre(HasSubstr("notes.txt is no kernel"), HasSubstr("binary.py is no source"),
                                             AllOf(StartsWith("gone.py and "), HasSubstr("../gone.py: No such"))));
}

TEST_F(Submit, labels_are_the_paths_below_the_common_folder) {
  add("a/add.py");
  add("b/add.py");
  const Prepared prepared = prepare(request_);
  EXPECT_THAT(labels(prepared), ElementsAre("a/add", "b/add"));
  EXPECT_THAT(prepared.mistakes, IsEmpty());
  request_.inputs = {folder_ / "a", folder_ / "b"};
  EXPECT_THAT(labels(prepare(request_)), ElementsAre("a/add", "b/add"));
  request_.inputs = {folder_ / "a"};
  EXPECT_THAT(labels(prepare(request_)), ElementsAre("add"));
}

TEST_F(Submit, labels_differ_within_a_run) {
  const std::string named = "# kq: id=same\n" + std::string(kTestKernel);
  add("a.py", named);
  add("b.py", named);
  const Prepared prepared = prepare(request_);
  EXPECT_THAT(labels(prepared), ElementsAre("same"));
  EXPECT_THAT(prepared.mistakes, ElementsAre((folder_ / "b.py").string() + ": the label 'same' is taken by " +
                                             (folder_ / "a.py").string() + kRemedy));
}

TEST_F(Submit, lines_of_json_lines_with_one_id_are_told_to_take_another) {
  request_.options.problem.reset();
  const std::string line = R"({"id": "same", "problem": "problem.py", "source": )" + json_quoted(kTestKernel) + "}\n";
  add("all.jsonl", line + line);
  EXPECT_THAT(prepare(request_).mistakes,
              ElementsAre((folder_ / "all.jsonl").string() + ":2: the label 'same' is taken by " +
                          (folder_ / "all.jsonl").string() +
                          ":1; labels must differ within a run: give one of the lines another id, or submit it under "
                          "another --run"));
}

TEST_F(Submit, repeat_and_salt_make_new_jobs) {
  add("add.py");
  request_.repeat = 3;
  const Prepared plain = prepare(request_);
  EXPECT_THAT(labels(plain), ElementsAre("add", "add#2", "add#3"));
  request_.salt = "4f1c";
  const Prepared forced = prepare(request_);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NE(submission_key(plain.jobs[i].submission), submission_key(forced.jobs[i].submission));
  }
}

TEST_F(Submit, a_repetition_does_not_take_another_files_label) {
  add("add.py");
  add("add#2.py");
  EXPECT_THAT(prepare(request_).mistakes, IsEmpty());
  request_.repeat = 2;
  EXPECT_THAT(prepare(request_).mistakes,
              ElementsAre((folder_ / "add#2.py").string() + ": the label 'add#2' is taken by " +
                          (folder_ / "add.py").string() + kRemedy));
}

TEST_F(Submit, every_batch_is_acknowledged_in_order) {
  add("add.py");
  request_.repeat = kRepeatMax;
  accept_all();
  Client client = broker_.client();
  const SubmitSummary summary = submit(client, prepare(request_));
  EXPECT_FALSE(summary.stopped);
  EXPECT_EQ(summary.count(Acceptance::accepted), kRepeatMax);
  EXPECT_EQ(summary.jobs[999].label, "add#1000");
  EXPECT_EQ(summary.jobs[999].ack.seq, 1000u);
  EXPECT_EQ(summary.to_wait_for().jobs().size(), 1000u);
  EXPECT_EQ(broker_.requests.size(), 1 + (kRepeatMax + kSubmitJobsMax - 1) / kSubmitJobsMax);
}

TEST_F(Submit, a_refused_job_is_reported_and_not_waited_for) {
  add("add.py");
  broker_.on_request = [&](const Message<ClientRequest>& request) {
    if (std::holds_alternative<BrokerQuery>(request.body)) return broker_.reply(request.request_id, BrokerReply{});
    JobAck job;
    job.reason = "the queue is full";
    broker_.reply(request.request_id, SubmitAck{{job}});
  };
  Client client = broker_.client();
  const SubmitSummary summary = submit(client, prepare(request_));
  EXPECT_EQ(summary.count(Acceptance::refused), 1u);
  EXPECT_EQ(summary.jobs.at(0).ack.reason, "the queue is full");
  EXPECT_THAT(summary.to_wait_for().jobs(), IsEmpty());
}

// A broker with room for `room` more jobs. It has room again for a batch that arrives after `until_ms`.
class BusyBroker : public Submit {
 protected:
  void SetUp() override {
    Submit::SetUp();
    add("add.py");
    request_.repeat = 5;
    request_.submitter = "ann";
    broker_.on_request = [this](const Message<ClientRequest>& request) {
      const SubmitBatch* batch = std::get_if<SubmitBatch>(&request.body);
      if (batch == nullptr) return broker_.reply(request.request_id, BrokerReply{});
      sizes_.push_back(batch->jobs.size());
      EXPECT_EQ(batch->submitter, "ann");
      EXPECT_EQ(batch->blobs.size(), 2u) << "a batch that is sent again has its files";
      SubmitAck ack;
      for (const Submission& job : batch->jobs) ack.jobs.push_back(answer(job));
      broker_.reply(request.request_id, ack, 0);
    };
  }
  JobAck answer(const Submission& job) {
    if (job.label == "add#2") return {.acceptance = Acceptance::refused, .reason = "no"};
    if (broker_.now_ms >= until_ms_) room_ = 100;
    if (room_ == 0)
      return {.acceptance = Acceptance::busy, .reason = "ann has 2 jobs queued, at most 2", .retry_after_ms = 1'000};
    --room_;
    return {.acceptance = Acceptance::accepted, .seq = ++last_seq_, .reason = {}};
  }

  std::size_t room_ = 2;
  std::int64_t until_ms_ = 0;
  std::vector<std::size_t> sizes_;
};

TEST_F(BusyBroker, jobs_without_room_are_sent_again_after_growing_pauses) {
  until_ms_ = 6'000;
  std::vector<std::int64_t> pauses;
  SubmitOptions options;
  options.busy = [&](const Busy& busy) {
    pauses.push_back(busy.retry_ms);
    EXPECT_EQ(busy.waiting, 2u);
    EXPECT_EQ(busy.answered, 3u);
    EXPECT_EQ(busy.total, 5u);
  };
  Client client = broker_.client();
  const SubmitSummary summary = submit(client, prepare(request_), options);
  EXPECT_FALSE(summary.stopped);
  EXPECT_THAT(sizes_, ElementsAre(5u, 2u, 2u, 2u));
  EXPECT_THAT(pauses, ElementsAre(1'000, 2'000, 4'000));
  EXPECT_EQ(summary.count(Acceptance::accepted), 4u);
  EXPECT_EQ(summary.count(Acceptance::refused), 1u);
  EXPECT_EQ(summary.count(Acceptance::busy), 0u);
  std::vector<std::string> in_order;
  for (const SubmittedJob& job : summary.jobs) in_order.push_back(job.label);
  EXPECT_THAT(in_order, ElementsAre("add", "add#2", "add#3", "add#4", "add#5"));
}

TEST_F(BusyBroker, pauses_grow_to_a_limit) {
  until_ms_ = 400'000;
  std::int64_t longest = 0;
  SubmitOptions options;
  options.busy = [&](const Busy& busy) { longest = std::max(longest, busy.retry_ms); };
  Client client = broker_.client();
  EXPECT_EQ(submit(client, prepare(request_), options).count(Acceptance::accepted), 4u);
  EXPECT_EQ(longest, kBusyPauseMsMax);
}

TEST_F(BusyBroker, waiting_for_room_ends_with_the_timeout_and_keeps_the_accepted_jobs) {
  until_ms_ = 100'000;
  Client client = broker_.client();
  const SubmitSummary summary = submit(client, prepare(request_), {.timeout_ms = 5'000});
  ASSERT_TRUE(summary.stopped);
  EXPECT_EQ(summary.stopped->kind, ErrorKind::gave_up);
  EXPECT_EQ(summary.stopped->message,
            "gave up waiting for room, broker ipc:///tmp/kq.sock is busy: ann has 2 jobs queued, at most 2; "
            "3 of 5 jobs were answered before, submit again to go on, nothing runs twice");
  EXPECT_EQ(summary.count(Acceptance::accepted), 2u);
  EXPECT_EQ(summary.to_wait_for().jobs().size(), 2u);
  EXPECT_LE(broker_.now_ms, 5'001);
}

TEST_F(BusyBroker, an_interruption_ends_the_pause) {
  until_ms_ = 100'000;
  Client client = broker_.client();
  client.stop_when([&] { return broker_.now_ms >= 1'500; });
  const SubmitSummary summary = submit(client, prepare(request_));
  ASSERT_TRUE(summary.stopped);
  EXPECT_EQ(summary.stopped->kind, ErrorKind::interrupted);
  EXPECT_LE(broker_.now_ms, 1'800);
}

TEST(BusyReporterTest, says_a_new_reason_at_once_and_an_old_one_now_and_then) {
  std::int64_t now_ms = 0;
  std::vector<std::string> reported;
  BusyReporter news([&] { return now_ms; }, [&](const std::string& text) { reported.push_back(text); });
  news({.waiting = 1, .answered = 0, .total = 200, .reason = "the queue is full", .retry_ms = 2'500});
  EXPECT_THAT(reported,
              ElementsAre("broker is busy, 1 of 200 jobs waits for room: the queue is full; trying again in 2.5 s"));
  now_ms = 5'000;
  news({.waiting = 1, .answered = 0, .total = 200, .reason = "the queue is full", .retry_ms = 2'500});
  EXPECT_EQ(reported.size(), 1u);
  news({.waiting = 1, .answered = 0, .total = 200, .reason = "the disk is full", .retry_ms = 2'500});
  EXPECT_EQ(reported.size(), 2u);
  now_ms = 15'000;
  news({.waiting = 1, .answered = 0, .total = 200, .reason = "the disk is full", .retry_ms = 2'500});
  EXPECT_EQ(reported.size(), 3u);
}

TEST_F(Submit, without_a_broker_it_ends_soon) {
  add("add.py");
  broker_.reachable = false;
  Client client = broker_.client();
  const SubmitSummary summary = submit(client, prepare(request_));
  ASSERT_TRUE(summary.stopped);
  EXPECT_EQ(summary.stopped->kind, ErrorKind::our_fault);
  EXPECT_EQ(summary.stopped->message,
            "broker ipc:///tmp/kq.sock did not answer within 15 s; is it running? start one with: kq up");
  EXPECT_EQ(broker_.now_ms, kFirstAnswerTimeoutMs);
}

TEST_F(Submit, a_timeout_also_applies_to_a_broker_that_is_starting) {
  add("add.py");
  for (const auto& [timeout_ms, text] :
       {std::pair(1'000, "within 1 s"), {40'000, "within 40 s"}, {3'600'000, "within 60 s"}}) {
    broker_.reachable = false;
    Client client = broker_.client();
    const SubmitSummary summary = submit(client, prepare(request_), {.timeout_ms = timeout_ms});
    ASSERT_TRUE(summary.stopped);
    EXPECT_THAT(summary.stopped->message, HasSubstr(text));
  }
}

TEST_F(Submit, a_broker_that_starts_late_gets_every_job) {
  add("add.py");
  accept_all();
  broker_.reachable = false;
  Client client = broker_.client();
  client.stop_when([&] {  // called in each turn of the client's loop
    broker_.reachable = broker_.now_ms >= 10'000;
    return false;
  });
  EXPECT_EQ(submit(client, prepare(request_)).count(Acceptance::accepted), 1u);
}

TEST_F(Submit, jobs_that_were_accepted_before_the_broker_stopped_are_in_the_summary) {
  add("add.py");
  request_.repeat = 300;
  accept_all();
  const auto accept = broker_.on_request;
  broker_.on_request = [&, accept](const auto& request) {
    if (broker_.requests.size() <= 2) accept(request);
  };
  Client client = broker_.client();
  const SubmitSummary summary = submit(client, prepare(request_));
  EXPECT_EQ(summary.count(Acceptance::accepted), 256u);
  ASSERT_TRUE(summary.stopped);
  EXPECT_THAT(summary.stopped->message, HasSubstr("did not answer within 60 s"));
  EXPECT_THAT(summary.stopped->message, HasSubstr("256 of 300 jobs were answered before, submit again to go on"));
}

TEST_F(Submit, an_acknowledgement_of_the_wrong_length_is_our_fault) {
  add("add.py");
  broker_.on_request = [&](const Message<ClientRequest>& request) {
    if (std::holds_alternative<BrokerQuery>(request.body)) return broker_.reply(request.request_id, BrokerReply{});
    broker_.reply(request.request_id, SubmitAck{});
  };
  Client client = broker_.client();
  const SubmitSummary summary = submit(client, prepare(request_));
  ASSERT_TRUE(summary.stopped);
  EXPECT_EQ(summary.stopped->kind, ErrorKind::our_fault);
  EXPECT_THAT(summary.jobs, IsEmpty());
}

}  // namespace
}  // namespace kq::producer
