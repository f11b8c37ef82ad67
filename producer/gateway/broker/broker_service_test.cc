#include "producer/gateway/broker/broker_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/client/run_rows.h"
#include "producer/gateway/broker/scripted_broker.h"

namespace kq::gateway {
namespace {

using testing::HasSubstr;

const Submitter kNobody{};
const Submitter kAda{.name = "ada"};

producer::PackedJob job(const std::string& label) {
  producer::PackedJob made;
  made.submission.label = label;
  return made;
}

RunRow row(const std::string& label, Sequence seq, const std::string& submitter = "ada") {
  RunRow made;
  made.entry.seq = seq;
  made.entry.submission.label = label;
  made.job.seq = seq;
  made.job.submitter = submitter;
  made.job.run = "ada/r";
  return made;
}

TEST(BrokerService, runs_of_a_submitter_have_its_name) {
  EXPECT_EQ(broker_run(kNobody, "r"), "r");
  EXPECT_EQ(broker_run(kAda, "r"), "ada/r");
  EXPECT_EQ(own_run(kAda, "ada/a/b"), "a/b");
  EXPECT_FALSE(broker_run(kAda, ""));
  EXPECT_FALSE(broker_run(kAda, "a\nb"));
  EXPECT_THAT(broker_run(kAda, std::string(198, 'a')).error().message, HasSubstr("may have 196"));
}

TEST(BrokerService, jobs_are_submitted_in_the_submitters_name) {
  AnsweringBroker broker([](const ClientRequest& request) -> std::optional<ClientReply> {
    SubmitAck ack;
    ack.jobs.resize(std::get<SubmitBatch>(request).jobs.size(),
                    {.acceptance = Acceptance::accepted, .seq = 7, .reason = ""});
    return ack;
  });
  const auto calls = broker.calls();
  BrokerService service(*calls, "me@here", {});
  const std::vector jobs{job("a"), job("b")};
  const auto submitted = service.submit(kAda, "r", jobs);
  ASSERT_TRUE(submitted) << submitted.error().message;
  EXPECT_EQ(broker.last<SubmitBatch>().run, "ada/r");
  EXPECT_EQ(broker.last<SubmitBatch>().submitter, "ada");
  EXPECT_EQ((*submitted)[1].id, (JobId{7, "r", "b"}));
  ASSERT_TRUE(service.submit(kNobody, "r", jobs));
  EXPECT_EQ(broker.last<SubmitBatch>().run, "r");
  EXPECT_EQ(broker.last<SubmitBatch>().submitter, "me@here");
}

TEST(BrokerService, jobs_beyond_the_quota_are_not_sent) {
  AnsweringBroker broker([](const ClientRequest& request) -> std::optional<ClientReply> {
    if (std::holds_alternative<QueueQuery>(request))
      return QueueReply{
          .lanes = {{.needs = {}, .submitter = "ada", .queued = 2}, {.needs = {}, .submitter = "bob", .queued = 9}}};
    SubmitAck ack;
    ack.jobs.resize(std::get<SubmitBatch>(request).jobs.size(),
                    {.acceptance = Acceptance::accepted, .seq = 7, .reason = ""});
    return ack;
  });
  const auto calls = broker.calls();
  BrokerService service(*calls, "me@here", {});
  const std::vector jobs{job("a"), job("b")};
  const auto submitted = service.submit({.name = "ada", .jobs_max = 3}, "r", jobs);
  ASSERT_TRUE(submitted) << submitted.error().message;
  EXPECT_EQ((*submitted)[0].ack.acceptance, Acceptance::accepted);
  EXPECT_EQ((*submitted)[1].ack.acceptance, Acceptance::busy);
  EXPECT_THAT((*submitted)[1].ack.reason, HasSubstr("3 queued jobs"));
  EXPECT_EQ(broker.last<SubmitBatch>().jobs.size(), 1u);
}

TEST(BrokerService, a_gateways_key_counts_its_submitters_apart) {
  AnsweringBroker broker([](const ClientRequest&) -> std::optional<ClientReply> {
    return QueueReply{
        .lanes = {{.needs = {}, .submitter = "ada", .queued = 2}, {.needs = {}, .submitter = "web/ada", .queued = 3}}};
  });
  const auto calls = broker.calls();
  BrokerService service(*calls, "me@here", {"web", Role::gateway});
  const std::vector jobs{job("a")};
  const auto submitted = service.submit({.name = "ada", .jobs_max = 3}, "r", jobs);
  ASSERT_TRUE(submitted) << submitted.error().message;
  EXPECT_EQ((*submitted)[0].ack.acceptance, Acceptance::busy);
}

TEST(BrokerService, a_job_is_found_by_run_and_label_and_number) {
  AnsweringBroker broker([](const ClientRequest&) -> std::optional<ClientReply> { return RunReply{{row("b", 7)}}; });
  const auto calls = broker.calls();
  BrokerService service(*calls, "", {});
  const auto found = service.find(kAda, {7, "r", "b"}, false);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->run, "r");
  EXPECT_EQ(found->job.run, "r");
  EXPECT_EQ(broker.last<RunQuery>().run, "ada/r");
  EXPECT_EQ(service.find(kAda, {8, "r", "b"}, false).error().kind, ErrorKind::not_found);
  EXPECT_EQ(service.find(kAda, {7, "r", "c"}, false).error().kind, ErrorKind::not_found);
  EXPECT_EQ(service.find(kAda, {7, std::string(198, 'a'), "b"}, false).error().kind, ErrorKind::not_found);
}

TEST(BrokerService, a_wait_asks_until_the_job_is_finished) {
  int asked = 0;
  AnsweringBroker broker([&](const ClientRequest& request) -> std::optional<ClientReply> {
    if (std::holds_alternative<RunQuery>(request)) return RunReply{{row("b", 7)}};
    const JobState state = ++asked < 2 ? JobState::leased : JobState::finished;
    return StatusReply{{{.seq = 7, .state = state, .verdict = ""}}};
  });
  const auto calls = broker.calls();
  BrokerService service(*calls, "", {});
  EXPECT_TRUE(service.wait(kNobody, {7, "r", "b"}, 10'000, false, nullptr));
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(service.wait(kNobody, {7, "r", "b"}, 0, false, nullptr));
  EXPECT_EQ(asked, 2);
}

TEST(BrokerService, a_job_is_cancelled_for_its_submitter) {
  bool done = true;
  AnsweringBroker broker([&](const ClientRequest& request) -> std::optional<ClientReply> {
    if (std::holds_alternative<RunQuery>(request)) return RunReply{{row("b", 7, "bob")}};
    return ActionReply{{{.seq = 7, .done = done, .reason = "job 7 is bob's"}}};
  });
  const auto calls = broker.calls();
  BrokerService service(*calls, "", {});
  EXPECT_TRUE(service.cancel(kAda, {7, "r", "b"})->done);
  EXPECT_EQ(broker.last<CancelJobs>().submitter, "ada");
  EXPECT_TRUE(service.cancel(kNobody, {7, "r", "b"})->done);
  EXPECT_EQ(broker.last<CancelJobs>().submitter, "");
  BrokerService with_key(*calls, "", {"key-of-the-gateway", Role::submit});
  EXPECT_TRUE(with_key.cancel(kAda, {7, "r", "b"})->done);
  EXPECT_EQ(broker.last<CancelJobs>().submitter, "");
  BrokerService as_gateway(*calls, "", {"web", Role::gateway});
  EXPECT_TRUE(as_gateway.cancel(kAda, {7, "r", "b"})->done);
  EXPECT_EQ(broker.last<CancelJobs>().submitter, "ada");
  done = false;
  EXPECT_THAT(as_gateway.cancel(kAda, {7, "r", "b"})->reason, Not(HasSubstr("bob")));
}

TEST(BrokerService, a_file_is_one_of_the_job) {
  AnsweringBroker broker([&](const ClientRequest& request) -> std::optional<ClientReply> {
    RunRow with_file = row("b", 7);
    with_file.entry.submission.files = {{"k.py", sha256("k")}};
    if (std::holds_alternative<RunQuery>(request)) return RunReply{{with_file}};
    return FileReply{.name = "k.py", .hash = sha256("k"), .bytes = std::string("k")};
  });
  const auto calls = broker.calls();
  BrokerService service(*calls, "", {});
  const auto file = service.file(kAda, {7, "r", "b"}, sha256("k"));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->bytes, std::string("k"));
  EXPECT_EQ(broker.last<FileQuery>().run, "ada/r");
  EXPECT_EQ(service.file(kAda, {7, "r", "b"}, sha256("other")).error().kind, ErrorKind::not_found);
}

TEST(BrokerService, rows_do_not_name_other_submitters) {
  AnsweringBroker broker(
      [](const ClientRequest&) -> std::optional<ClientReply> { return RunReply{{row("b", 7, "bob")}}; });
  const auto calls = broker.calls();
  BrokerService service(*calls, "", {});
  EXPECT_EQ(service.find(kAda, {7, "r", "b"}, false)->job.submitter, "ada");
  EXPECT_EQ(service.find(kAda, {7, "r", "b"}, false)->entry.submitter, "ada");
  EXPECT_EQ(service.run_page(kAda, {.run = "r", .after_label = ""})->rows[0].job.submitter, "ada");
  EXPECT_EQ(service.find(kNobody, {7, "r", "b"}, false)->job.submitter, "bob");
}

TEST(BrokerService, a_submitter_sees_its_own_runs) {
  AnsweringBroker broker([](const ClientRequest&) -> std::optional<ClientReply> {
    return RunsReply{.runs = {{"ada/a", "ada", 1}, {"ada/b", "ada", 1}, {"bob/a", "bob", 1}}, .more = true};
  });
  const auto calls = broker.calls();
  BrokerService service(*calls, "", {});
  const auto own = service.runs(kAda, {.after = "", .limit = 3});
  ASSERT_TRUE(own);
  ASSERT_EQ(own->runs.size(), 2u);
  EXPECT_EQ(own->runs[1].run, "b");
  EXPECT_FALSE(own->more);
  EXPECT_EQ(broker.last<RunsQuery>().after, "ada/");
  EXPECT_EQ(service.runs(kNobody, {.after = "", .limit = 3})->runs.size(), 3u);
}

TEST(BrokerService, the_state_of_the_broker_is_asked_for_seldom) {
  AnsweringBroker broker(
      [](const ClientRequest&) -> std::optional<ClientReply> { return BrokerReply{.version = "1", .workers = {}}; });
  const auto calls = broker.calls();
  BrokerService service(*calls, "", {});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(service.broker());
  EXPECT_EQ(broker.requests().size(), 1u);
  EXPECT_EQ(service.random_name().size(), 16u);
  EXPECT_NE(service.random_name(), service.random_name());
}

}  // namespace
}  // namespace kq::gateway
