#include "producer/gateway/broker/broker_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "producer/gateway/broker/scripted_broker.h"

namespace kq::gateway {
namespace {

using testing::HasSubstr;

std::optional<ClientReply> answer_all(const ClientRequest& request) {
  if (std::holds_alternative<BrokerQuery>(request)) return BrokerReply{.version = "1", .workers = {}};
  if (const auto* query = std::get_if<StatusQuery>(&request)) {
    if (query->wait_ms > 0) return std::nullopt;  // the job does not end
    return StatusReply{{{.seq = query->seqs[0], .verdict = ""}}};
  }
  return Refused{"not this"};
}

TEST(BrokerCalls, many_threads_get_their_own_replies) {
  AnsweringBroker broker(answer_all);
  const auto calls = broker.calls();
  std::vector<std::future<Sequence>> asked;
  for (Sequence seq = 1; seq <= 50; ++seq) {
    asked.push_back(std::async(std::launch::async, [&calls, seq] {
      return calls->ask_for<StatusReply>(StatusQuery{.seqs = {seq}}).value().jobs[0].seq;
    }));
  }
  for (Sequence seq = 1; seq <= 50; ++seq) EXPECT_EQ(asked[seq - 1].get(), seq);
}

TEST(BrokerCalls, a_refused_request_is_bad_input) {
  AnsweringBroker broker(answer_all);
  const auto reply = broker.calls()->ask_for<RunReply>(RunQuery{.run = "r", .after_label = ""});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(), (Error{ErrorKind::bad_input, "not this"}));
}

TEST(BrokerCalls, a_silent_broker_is_reported) {
  AnsweringBroker broker([](const ClientRequest&) { return std::nullopt; });
  const auto reply = broker.calls()->ask(BrokerQuery{}, {.timeout_ms = 30});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::our_fault);
  EXPECT_THAT(reply.error().message, HasSubstr("did not answer in time"));
}

TEST(BrokerCalls, a_request_without_a_reply_is_sent_again) {
  std::atomic<int> count = 0;
  AnsweringBroker broker([&](const ClientRequest&) -> std::optional<ClientReply> {
    if (++count < 2) return std::nullopt;
    return BrokerReply{.version = "1", .workers = {}};
  });
  EXPECT_TRUE(broker.calls()->ask_for<BrokerReply>(BrokerQuery{}));
  EXPECT_EQ(count, 2);
}

TEST(BrokerCalls, a_refused_connection_is_reported) {
  AnsweringBroker broker([](const ClientRequest&) { return std::nullopt; });
  broker.refuse("unknown key");
  EXPECT_THAT(broker.calls()->ask(BrokerQuery{}).error().message, HasSubstr("refuses the connection: unknown key"));
}

TEST(BrokerCalls, stopping_ends_the_waits_only) {
  AnsweringBroker broker(answer_all);
  const auto calls = broker.calls();
  auto waits = std::async(std::launch::async, [&] { return calls->ask(StatusQuery{.seqs = {1}, .wait_ms = 30'000}); });
  while (broker.requests().empty()) std::this_thread::yield();
  calls->stop_waits();
  EXPECT_EQ(waits.get().error().kind, ErrorKind::interrupted);
  EXPECT_FALSE(calls->ask(StatusQuery{.seqs = {1}, .wait_ms = 30'000}));
  EXPECT_TRUE(calls->ask(BrokerQuery{}));
  calls->stop();
  EXPECT_EQ(calls->ask(BrokerQuery{}).error().kind, ErrorKind::interrupted);
}

TEST(BrokerCalls, a_wait_ends_when_its_client_has_gone) {
  AnsweringBroker broker(answer_all);
  const auto calls = broker.calls();
  const auto reply = calls->ask(StatusQuery{.seqs = {1}, .wait_ms = 30'000}, {.abandoned = [] { return true; }});
  EXPECT_EQ(reply.error().kind, ErrorKind::interrupted);
}

}  // namespace
}  // namespace kq::gateway
