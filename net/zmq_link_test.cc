#include "net/zmq_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "core/limits.h"
#include "net/clock.h"

namespace kq {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t kSoonMs = 5'000;  // nothing here waits that long unless it is broken

class ZmqLink : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/kq-link.XXXXXX";
    folder_ = mkdtemp(pattern.data());
    endpoints_ = *parse_broker_url("ipc://" + folder_ + "/kq.sock");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<ServerLink> server() {
    auto link = bind_server(endpoints_);
    EXPECT_TRUE(link) << link.error().message;
    return std::move(*link);
  }
  static std::unique_ptr<ClientLink> client(const std::string& endpoint) {
    auto link = connect_client(endpoint);
    EXPECT_TRUE(link) << link.error().message;
    return std::move(*link);
  }
  // Sends as every caller does: again until accepted.
  static void insist(ClientLink& link, std::string_view bytes) {
    for (int i = 0; i < 100; ++i) {
      if (link.send(bytes)) return;
    }
    FAIL() << "not accepted within 100 tries";
  }
  static Packet one_packet(ServerLink& link) {
    const auto packets = link.receive(kSoonMs, 1);
    EXPECT_TRUE(packets && packets->size() == 1);
    return packets && packets->size() == 1 ? packets->front() : Packet{};
  }
  static std::string one_message(ClientLink& link) {
    const auto message = link.receive(kSoonMs);
    return message && *message ? **message : "nothing";
  }

  std::string folder_;
  Endpoints endpoints_;
};

TEST_F(ZmqLink, request_and_reply_over_ipc) {
  const auto broker = server();
  const auto submit = client(endpoints_.client);
  insist(*submit, "ping");
  const Packet packet = one_packet(*broker);
  EXPECT_EQ(packet.bytes, "ping");
  EXPECT_EQ(packet.peer.side, Side::client);
  EXPECT_TRUE(broker->send(packet.peer, "pong"));
  EXPECT_EQ(one_message(*submit), "pong");
}

TEST_F(ZmqLink, request_and_reply_over_tcp) {
  Expected<std::unique_ptr<ServerLink>> broker = bad_input("no port tried");
  for (int port = 20'000 + static_cast<int>(getpid()) % 20'000, i = 0; !broker && i < 50; ++i, port += 2) {
    endpoints_ = *parse_broker_url("tcp://localhost:" + std::to_string(port));
    broker = bind_server(endpoints_);
  }
  ASSERT_TRUE(broker) << broker.error().message;
  const auto worker = client(endpoints_.worker);
  insist(*worker, "hello");
  const Packet packet = one_packet(**broker);
  EXPECT_EQ(packet.bytes, "hello");
  EXPECT_EQ(packet.peer.side, Side::worker);
  EXPECT_TRUE((*broker)->send(packet.peer, "welcome"));
  EXPECT_EQ(one_message(*worker), "welcome");

  const auto second = bind_server(endpoints_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("Address already in use; another program listens there"));
}

TEST_F(ZmqLink, workers_are_taken_before_clients) {
  const auto broker = server();
  const auto submit = client(endpoints_.client);
  const auto worker = client(endpoints_.worker);
  // A round shows the order when both packets are there at once; nothing forces that, so there are many rounds.
  for (int round = 0; round < 1000; ++round) {
    insist(*worker, "result");
    insist(*submit, "submission");
    ASSERT_TRUE(broker->receive(kSoonMs, 0)->empty());  // waits, takes nothing
    const auto both = broker->receive(0, 2);
    ASSERT_TRUE(both && !both->empty());
    if (both->size() == 2) {
      EXPECT_EQ((*both)[0].bytes, "result");
      EXPECT_EQ((*both)[1].bytes, "submission");
      return;
    }
    one_packet(*broker);
  }
  FAIL() << "the two packets never waited together";
}

TEST_F(ZmqLink, takes_at_most_what_was_asked_for) {
  const auto broker = server();
  const auto submit = client(endpoints_.client);
  for (int i = 0; i < 5; ++i) insist(*submit, std::to_string(i));
  std::vector<std::string> order;
  while (order.size() < 5) {
    const auto packets = broker->receive(kSoonMs, 2);
    ASSERT_TRUE(packets && !packets->empty());
    EXPECT_LE(packets->size(), 2u);
    for (const Packet& packet : *packets) order.push_back(packet.bytes);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"0", "1", "2", "3", "4"}));
}

TEST_F(ZmqLink, nothing_arrives_within_the_timeout) {
  const auto broker = server();
  const auto submit = client(endpoints_.client);
  EXPECT_TRUE(broker->receive(0, 10)->empty());
  EXPECT_EQ(*submit->receive(0), std::nullopt);
}

TEST_F(ZmqLink, a_readable_descriptor_ends_the_wait_of_a_client) {
  const auto worker = client(endpoints_.worker);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  worker->wake_on(ends[0]);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  const std::int64_t start_ms = monotonic_now_ms();
  EXPECT_EQ(*worker->receive(kSoonMs), std::nullopt);
  EXPECT_LT(monotonic_now_ms() - start_ms, kSoonMs);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(ZmqLink, sending_to_an_unknown_peer_is_refused) {
  const auto broker = server();
  EXPECT_FALSE(broker->send(Peer{Side::client, "nobody"}, "x"));
  EXPECT_FALSE(broker->send(Peer{Side::worker, ""}, "x"));
}

TEST_F(ZmqLink, sending_to_an_absent_server_is_refused_not_queued) {
  const auto submit = client(endpoints_.client);
  EXPECT_FALSE(submit->send("early"));
  const auto broker = server();
  insist(*submit, "late");
  EXPECT_EQ(one_packet(*broker).bytes, "late");
}

TEST_F(ZmqLink, client_reconnects_to_a_restarted_server) {
  auto broker = server();
  const auto submit = client(endpoints_.client);
  insist(*submit, "before");
  const Peer old_peer = one_packet(*broker).peer;
  broker.reset();
  broker = server();
  EXPECT_FALSE(broker->send(old_peer, "reply to a connection that is gone"));
  Packet packet;
  // The first one may still go into the old connection: that is why everybody resends.
  for (int i = 0; i < 100 && packet.bytes.empty(); ++i) {
    (void)submit->send("after");
    const auto packets = broker->receive(100, 1);
    if (packets && !packets->empty()) packet = packets->front();
  }
  EXPECT_EQ(packet.bytes, "after");
}

TEST_F(ZmqLink, bytes_travel_unchanged) {
  const auto broker = server();
  const auto submit = client(endpoints_.client);
  std::string bytes(3u << 20, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31);
  insist(*submit, bytes);
  const Packet packet = one_packet(*broker);
  EXPECT_TRUE(packet.bytes == bytes);
  EXPECT_TRUE(broker->send(packet.peer, ""));
  EXPECT_EQ(one_message(*submit), "");
}

TEST_F(ZmqLink, message_over_the_limit_never_reaches_the_server) {
  const auto broker = server();
  const auto flood = client(endpoints_.client);
  insist(*flood, std::string(kMessageBytesMax + 1, 'x'));
  const auto honest = client(endpoints_.client);
  insist(*honest, "small");
  EXPECT_EQ(one_packet(*broker).bytes, "small");
}

TEST_F(ZmqLink, addresses_that_other_machines_reach_are_refused) {
  for (const char* url :
       {"tcp://0.0.0.0:5570", "tcp://*:5570", "tcp://eth0:5570", "tcp://10.0.0.1:5570", "tcp://[::]:5570"}) {
    const auto link = bind_server(*parse_broker_url(url));
    ASSERT_FALSE(link) << url;
    EXPECT_EQ(link.error().code, ExitCode::bad_input);
    EXPECT_EQ(link.error().message, std::string(url) +
                                        ": off-loopback needs keys, which this version does not have; "
                                        "bind 127.0.0.1 or ipc://");
  }
}

TEST_F(ZmqLink, a_missing_directory_is_named) {
  const auto link = bind_server(*parse_broker_url("ipc://" + folder_ + "/gone/kq.sock"));
  ASSERT_FALSE(link);
  EXPECT_THAT(link.error().message, StartsWith("ipc://" + folder_ + "/gone/kq.sock: No such file or directory"));
}

}  // namespace
}  // namespace kq
