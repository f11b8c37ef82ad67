#include "producer/client/client.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "producer/client/running_stack.h"
#include "producer/client/scripted_link.h"

namespace kq::producer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

BrokerReply version(std::string text) {
  BrokerReply reply;
  reply.version = std::move(text);
  return reply;
}

TEST(Client, returns_the_reply_to_its_request) {
  ScriptedBroker broker;
  broker.on_request = [&](const auto& request) { broker.reply(request.request_id, version("1")); };
  Client client = broker.client();
  const auto reply = client.ask_for<BrokerReply>(BrokerQuery{});
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->version, "1");
  EXPECT_EQ(broker.requests.size(), 1u);
}

TEST(Client, sends_again_with_the_same_number_until_answered) {
  ScriptedBroker broker;
  broker.on_request = [&](const auto& request) {
    if (broker.requests.size() == 3) broker.reply(request.request_id, BrokerReply{});
  };
  Client client = broker.client();
  EXPECT_TRUE(client.ask(BrokerQuery{}));
  EXPECT_THAT(broker.sent_at_ms, ElementsAre(0, 1000, 2000));
  EXPECT_EQ(broker.requests[0].request_id, broker.requests[2].request_id);
}

TEST(Client, sends_a_large_message_again_more_slowly) {
  ScriptedBroker broker;
  Client client = broker.client();
  SubmitBatch batch;
  batch.blobs.push_back({Hash{}, std::string(9u << 20, 'x')});
  EXPECT_FALSE(client.ask(batch, 5'000));
  EXPECT_THAT(broker.sent_at_ms, ElementsAre(0, 3000));
}

TEST(Client, ignores_replies_to_earlier_requests) {
  ScriptedBroker broker;
  Client client = broker.client();
  EXPECT_FALSE(client.ask(BrokerQuery{}, 100));
  const std::uint64_t stale = broker.requests[0].request_id;
  broker.on_request = [&](const auto& request) {
    broker.reply(stale, version("stale"));
    broker.reply(request.request_id, version("fresh"), 2);
  };
  EXPECT_EQ(client.ask_for<BrokerReply>(BrokerQuery{})->version, "fresh");
}

TEST(Client, ignores_a_reply_that_comes_twice) {
  ScriptedBroker broker;
  broker.on_request = [&](const auto& request) {
    const std::string number = std::to_string(request.request_id);
    broker.reply(request.request_id, version(number), 1);
    broker.reply(request.request_id, version(number), 2);
  };
  Client client = broker.client();
  EXPECT_EQ(client.ask_for<BrokerReply>(BrokerQuery{})->version, "1");
  EXPECT_EQ(client.ask_for<BrokerReply>(BrokerQuery{})->version, "2");
}

TEST(Client, says_that_no_broker_answers) {
  ScriptedBroker broker;
  broker.reachable = false;
  Client client = broker.client();
  const auto reply = client.ask(BrokerQuery{});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::our_fault);
  EXPECT_EQ(reply.error().message,
            "broker ipc:///tmp/kq.sock did not answer within 5 s; is it running? start one with: kq up");
  EXPECT_EQ(broker.now_ms, kAnswerTimeoutMs);
}

TEST(Client, says_that_the_host_of_a_silent_broker_has_no_address) {
  ScriptedBroker broker;
  broker.reachable = false;
  const std::string url = "tcp://" + std::string(64, 'a') + ":5570";  // no label of a name has more than 63 characters
  Client client(url, std::make_unique<ScriptedLink>(broker), [&] { return broker.now_ms; });
  const auto reply = client.ask(BrokerQuery{});
  ASSERT_FALSE(reply);
  EXPECT_THAT(reply.error().message,
              StartsWith("broker " + url + " did not answer within 5 s; its host has no address here ("));
}

TEST(Client, reports_a_silent_broker_once) {
  ScriptedBroker broker;
  broker.reachable = false;
  Client client = broker.client();
  std::vector<std::string> reported;
  client.on_silence([&](const std::string& sentence) { reported.push_back(sentence); });
  EXPECT_FALSE(client.ask(BrokerQuery{}, 15'000));
  EXPECT_EQ(reported, std::vector<std::string>{"broker ipc:///tmp/kq.sock does not answer; asking for 13 s more"});
  broker.reachable = true;
  broker.on_request = [&](const auto& request) { broker.reply(request.request_id, BrokerReply{}); };
  EXPECT_TRUE(client.ask(BrokerQuery{}));
  EXPECT_EQ(reported.size(), 1u);
}

TEST(Client, reaches_a_broker_that_comes_up_late_without_waiting_a_second) {
  ScriptedBroker broker;
  broker.reachable = false;
  broker.on_request = [&](const auto& request) { broker.reply(request.request_id, BrokerReply{}); };
  Client client = broker.client();
  client.stop_when([&] {  // called in each turn of the client's loop
    if (broker.now_ms >= 500) broker.reachable = true;
    return false;
  });
  EXPECT_TRUE(client.ask(BrokerQuery{}));
  EXPECT_LT(broker.now_ms, 600);
}

TEST(Client, an_interrupt_ends_the_request_soon) {
  ScriptedBroker broker;
  Client client = broker.client();
  client.stop_when([&] { return broker.now_ms >= 300; });
  const auto reply = client.ask(BrokerQuery{});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::interrupted);
  EXPECT_LE(broker.now_ms, 600);
}

TEST(Client, a_refusal_is_an_error_with_the_brokers_reason) {
  ScriptedBroker broker;
  broker.on_request = [&](const auto&) { broker.reply(0, Refused{"protocol version 1, this program speaks 2"}); };
  Client client = broker.client();
  const auto reply = client.ask_for<BrokerReply>(BrokerQuery{});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(reply.error().message,
            "broker ipc:///tmp/kq.sock refused the request: protocol version 1, this program speaks 2");
}

TEST(Client, a_reply_of_another_kind_is_an_error) {
  ScriptedBroker broker;
  broker.on_request = [&](const auto& request) { broker.reply(request.request_id, StatusReply{}); };
  Client client = broker.client();
  EXPECT_THAT(client.ask_for<BrokerReply>(BrokerQuery{}).error().message, HasSubstr("answered with status_reply"));
}

TEST(Client, bytes_that_are_no_reply_are_an_error) {
  ScriptedBroker broker;
  broker.on_request = [&](const auto&) { broker.deliveries.push_back({broker.now_ms, "HTTP/1.1 400"}); };
  Client client = broker.client();
  EXPECT_THAT(client.ask(BrokerQuery{}).error().message,
              HasSubstr("sent a reply that this program does not understand"));
}

TEST(Client, a_connection_that_is_refused_ends_the_request_at_once) {
  ScriptedBroker broker;
  broker.reachable = false;
  broker.refusal = "it needs a key";
  Client client = broker.client();
  const auto reply = client.ask(BrokerQuery{});
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error(),
            (Error{ErrorKind::bad_input, "broker ipc:///tmp/kq.sock refuses the connection: it needs a key"}));
  EXPECT_LT(broker.now_ms, 100);
}

TEST(Client, an_invalid_key_file_is_named) {
  EXPECT_THAT(Client::connect("ipc:///tmp/kq.sock", "/nowhere/alice.key").error().message,
              HasSubstr("key file /nowhere/alice.key: No such file"));
}

TEST(Client, a_pause_ends_after_its_time_or_with_an_interrupt) {
  ScriptedBroker broker;
  Client client = broker.client();
  EXPECT_TRUE(client.pause(1'234));
  EXPECT_EQ(broker.now_ms, 1'234);
  client.stop_when([&] { return broker.now_ms >= 2'000; });
  const auto paused = client.pause(60'000);
  ASSERT_FALSE(paused);
  EXPECT_EQ(paused.error().kind, ErrorKind::interrupted);
  EXPECT_LE(broker.now_ms, 2'300);
}

TEST(Client, without_a_url_it_connects_to_the_broker_of_the_state_folder_and_names_the_folder) {
  std::string home = (std::filesystem::temp_directory_path() / "kq-test.XXXXXX").string();
  ASSERT_NE(::mkdtemp(home.data()), nullptr);
  const std::string state = home + "/kq";
  std::filesystem::create_directories(state);
  std::ofstream(lock_file_of(state)) << text_of({.pid = 7, .url = "ipc://" + home + "/b.sock", .children = {}});
  const int lock = ::open(lock_file_of(state).c_str(), O_RDWR | O_CLOEXEC);
  struct flock held;
  ASSERT_TRUE(apply_lock(lock, F_OFD_SETLK, held));
  ::unsetenv("KQ_BROKER");
  ::setenv("XDG_STATE_HOME", home.c_str(), 1);
  auto client = Client::connect("");
  ::unsetenv("XDG_STATE_HOME");
  ::close(lock);
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_EQ(client->url(), "ipc://" + home + "/b.sock");
  EXPECT_EQ(client->ask(BrokerQuery{}, 1).error().message,
            "broker ipc://" + home + "/b.sock, which kq up or kq sweep runs in " + state +
                ", did not answer within 1 ms; see " + state + "/broker.log");
  std::filesystem::remove_all(home);
}

TEST(Client, refuses_an_invalid_url) {
  const auto client = Client::connect("localhost");
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace kq::producer
