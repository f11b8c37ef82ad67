#include "net/local/connection.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "net/limits/server_limits.h"

namespace kq::net {
namespace {

// Both ends of one connection.
struct Pair {
  Pair() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    one = std::make_unique<ZmtpConnection>(fds[0], "DEALER");
    other = std::make_unique<ZmtpConnection>(fds[1], "ROUTER");
  }
  void handshake() {
    for (ZmtpConnection* end : {one.get(), other.get()}) EXPECT_TRUE(end->flush());
    for (ZmtpConnection* end : {one.get(), other.get()}) {
      EXPECT_EQ(end->read(), ZmtpConnection::ReadResult::some);
      EXPECT_EQ(end->next()->kind, ZmtpItem::Kind::ready);
    }
  }

  std::unique_ptr<ZmtpConnection> one;
  std::unique_ptr<ZmtpConnection> other;
};

TEST(ZmtpConnection, messages_are_refused_until_the_handshake_is_complete) {
  Pair pair;
  EXPECT_FALSE(pair.one->send("early"));
  pair.handshake();
  EXPECT_TRUE(pair.one->send("now"));
  EXPECT_EQ(pair.other->read(), ZmtpConnection::ReadResult::some);
  EXPECT_EQ(pair.other->next()->bytes, "now");
  EXPECT_EQ(pair.other->read(), ZmtpConnection::ReadResult::none);
}

TEST(ZmtpConnection, unsent_messages_are_queued_up_to_a_limit) {
  Pair pair;
  pair.handshake();
  const std::string message(10'000, 'm');
  int sent = 0;
  while (pair.one->send(message)) ++sent;
  EXPECT_GE(sent, kLinkMessagesMax);
  int received = 0;
  for (bool more = true; more;) {
    EXPECT_TRUE(pair.one->flush());
    more = pair.other->read() == ZmtpConnection::ReadResult::some;
    for (auto item = pair.other->next(); item; item = pair.other->next()) received += item->bytes == message ? 1 : 0;
  }
  EXPECT_EQ(received, sent);
  EXPECT_FALSE(pair.one->has_unsent());
}

TEST(ZmtpConnection, unsent_bytes_are_limited_per_connection_and_in_total) {
  Pair pair;
  pair.handshake();
  const std::string message(4u << 20, 'm');
  const int sent = [&] {
    int count = 0;
    while (pair.one->send_later(message)) ++count;
    return count;
  }();
  EXPECT_LE(static_cast<std::size_t>(sent) * message.size(), kLinkBytesMax + message.size());

  std::size_t all = 0;
  {
    int fds[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    ZmtpConnection one(fds[0], "DEALER", &all);
    ZmtpConnection other(fds[1], "ROUTER");
    EXPECT_GT(all, 0u);
    EXPECT_TRUE(one.flush());
    EXPECT_TRUE(other.flush());
    EXPECT_EQ(one.read(), ZmtpConnection::ReadResult::some);
    EXPECT_EQ(one.next()->kind, ZmtpItem::Kind::ready);
    EXPECT_EQ(all, 0u);
    all = kLinkBytesTotalMax + 1;  // unsent bytes of other connections
    EXPECT_TRUE(one.send_later("the first")) << "an empty queue accepts a message whatever the total is";
    EXPECT_FALSE(one.send_later("the second"));
    all -= kLinkBytesTotalMax + 1;
    EXPECT_TRUE(one.send_later("the third"));
    EXPECT_GT(all, 0u);
  }
  EXPECT_EQ(all, 0u);
}

TEST(ZmtpConnection, messages_queued_by_send_later_are_sent_in_order_by_flush) {
  Pair pair;
  pair.handshake();
  const std::string message(50'000, 'm');
  std::vector<std::string> wanted;
  for (int i = 0; i < 60; ++i) {
    wanted.push_back(std::to_string(i));
    wanted.push_back(message + std::to_string(i));
    EXPECT_TRUE(pair.one->send_later(wanted[wanted.size() - 2]));
    EXPECT_TRUE(pair.one->send_later(wanted.back()));
  }
  EXPECT_EQ(pair.other->read(), ZmtpConnection::ReadResult::none);
  std::vector<std::string> received;
  for (bool more = true; more;) {
    EXPECT_TRUE(pair.one->flush());
    more = pair.other->read() == ZmtpConnection::ReadResult::some;
    for (auto item = pair.other->next(); item; item = pair.other->next()) received.push_back(std::move(item->bytes));
  }
  EXPECT_EQ(received, wanted);
  EXPECT_FALSE(pair.one->has_unsent());
}

TEST(ZmtpConnection, messages_sent_before_the_end_of_the_stream_are_received_first) {
  Pair pair;
  pair.handshake();
  EXPECT_TRUE(pair.one->send("goodbye"));
  pair.one.reset();
  EXPECT_EQ(pair.other->read(), ZmtpConnection::ReadResult::some);
  EXPECT_EQ(pair.other->next()->bytes, "goodbye");
  EXPECT_EQ(pair.other->read(), ZmtpConnection::ReadResult::end_of_stream);
  EXPECT_FALSE(pair.other->send("to a closed connection"));
  EXPECT_TRUE(pair.other->is_lost());
}

}  // namespace
}  // namespace kq::net
