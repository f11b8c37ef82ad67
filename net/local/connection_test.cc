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
    one = std::make_unique<PlainConnection>(fds[0], "DEALER");
    other = std::make_unique<PlainConnection>(fds[1], "ROUTER");
  }
  void greet() {
    for (PlainConnection* end : {one.get(), other.get()}) EXPECT_TRUE(end->flush());
    for (PlainConnection* end : {one.get(), other.get()}) {
      EXPECT_EQ(end->read(), PlainConnection::Heard::something);
      EXPECT_EQ(end->next()->kind, ZmtpItem::Kind::ready);
    }
  }

  std::unique_ptr<PlainConnection> one;
  std::unique_ptr<PlainConnection> other;
};

TEST(PlainConnection, nothing_is_sent_before_both_have_greeted) {
  Pair pair;
  EXPECT_FALSE(pair.one->send("early"));
  pair.greet();
  EXPECT_TRUE(pair.one->send("now"));
  EXPECT_EQ(pair.other->read(), PlainConnection::Heard::something);
  EXPECT_EQ(pair.other->next()->bytes, "now");
  EXPECT_EQ(pair.other->read(), PlainConnection::Heard::nothing);
}

TEST(PlainConnection, what_the_system_does_not_take_waits_up_to_a_limit) {
  Pair pair;
  pair.greet();
  const std::string message(10'000, 'm');
  int sent = 0;
  while (pair.one->send(message)) ++sent;
  EXPECT_GE(sent, kLinkMessagesMax);
  int heard = 0;
  for (bool more = true; more;) {
    EXPECT_TRUE(pair.one->flush());
    more = pair.other->read() == PlainConnection::Heard::something;
    for (auto item = pair.other->next(); item; item = pair.other->next()) heard += item->bytes == message ? 1 : 0;
  }
  EXPECT_EQ(heard, sent);
  EXPECT_FALSE(pair.one->has_unsent());
}

TEST(PlainConnection, what_waits_is_bounded_in_bytes_also_of_all_together) {
  Pair pair;
  pair.greet();
  const std::string message(4u << 20, 'm');
  const int sent = [&] {
    int n = 0;
    while (pair.one->send_later(message)) ++n;
    return n;
  }();
  EXPECT_LE(static_cast<std::size_t>(sent) * message.size(), kLinkBytesMax + message.size());

  std::size_t all = 0;
  {
    int fds[2] = {-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    PlainConnection one(fds[0], "DEALER", &all);
    PlainConnection other(fds[1], "ROUTER");
    EXPECT_GT(all, 0u);
    EXPECT_TRUE(one.flush());
    EXPECT_TRUE(other.flush());
    EXPECT_EQ(one.read(), PlainConnection::Heard::something);
    EXPECT_EQ(one.next()->kind, ZmtpItem::Kind::ready);
    EXPECT_EQ(all, 0u);
    all = kLinkBytesTotalMax + 1;  // of others
    EXPECT_TRUE(one.send_later("the first")) << "who reads what he is sent is answered whatever others do";
    EXPECT_FALSE(one.send_later("the second"));
    all -= kLinkBytesTotalMax + 1;
    EXPECT_TRUE(one.send_later("the third"));
    EXPECT_GT(all, 0u);
  }
  EXPECT_EQ(all, 0u);
}

TEST(PlainConnection, what_is_sent_later_goes_in_its_order_when_it_is_flushed) {
  Pair pair;
  pair.greet();
  const std::string message(50'000, 'm');
  std::vector<std::string> wanted;
  for (int i = 0; i < 60; ++i) {
    wanted.push_back(std::to_string(i));
    wanted.push_back(message + std::to_string(i));
    EXPECT_TRUE(pair.one->send_later(wanted[wanted.size() - 2]));
    EXPECT_TRUE(pair.one->send_later(wanted.back()));
  }
  EXPECT_EQ(pair.other->read(), PlainConnection::Heard::nothing);
  std::vector<std::string> heard;
  for (bool more = true; more;) {
    EXPECT_TRUE(pair.one->flush());
    more = pair.other->read() == PlainConnection::Heard::something;
    for (auto item = pair.other->next(); item; item = pair.other->next()) heard.push_back(std::move(item->bytes));
  }
  EXPECT_EQ(heard, wanted);
  EXPECT_FALSE(pair.one->has_unsent());
}

TEST(PlainConnection, an_end_is_heard_behind_what_was_said_before) {
  Pair pair;
  pair.greet();
  EXPECT_TRUE(pair.one->send("goodbye"));
  pair.one.reset();
  EXPECT_EQ(pair.other->read(), PlainConnection::Heard::something);
  EXPECT_EQ(pair.other->next()->bytes, "goodbye");
  EXPECT_EQ(pair.other->read(), PlainConnection::Heard::end);
  EXPECT_FALSE(pair.other->send("to nobody"));
  EXPECT_TRUE(pair.other->is_lost());
}

}  // namespace
}  // namespace kq::net
