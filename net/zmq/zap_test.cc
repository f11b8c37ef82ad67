// Tests which connections the broker accepts, with real sockets and real keys.
#include "net/zmq/zap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "net/local/address.h"
#include "net/testing/own_host.h"
#include "net/zmq/keys.h"
#include "net/zmq/link.h"
#include "sys/clock.h"

namespace kq::net {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

constexpr std::int64_t kSoonMs = 60'000;  // a deadline that only a failing test reaches
const std::string kUrl = "tcp://" + own_host() + ":20000";
const std::string kOtherUrl = "tcp://" + own_host() + ":20010";

// A plain TCP connection to the broker, as an unknown program makes it.
class Stranger {
 public:
  Stranger() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const SocketAddress address = socket_address(kUrl).value();
    EXPECT_EQ(::connect(fd_, address.get(), address.bytes), 0);
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  ~Stranger() { ::close(fd_); }

  void send_bytes(std::string_view bytes) { (void)::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  // Makes the socket close with a reset, so that the broker sees an error and not the end of the stream.
  void reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  // Reads until the broker closes the connection, and calls its receive() meanwhile. Returns false if it does not close
  // it in time.
  bool is_disconnected_by(ServerLink& broker) {
    char buffer[256];
    for (const std::int64_t end_ms = sys::monotonic_now_ms() + kSoonMs; sys::monotonic_now_ms() < end_ms;) {
      const ssize_t n = ::recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
      if (n == 0 || (n < 0 && errno == ECONNRESET)) return true;
      if (n < 0) (void)broker.receive(10, 100);
    }
    return false;
  }

 private:
  int fd_;
};

class ZapAuthenticatorTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/kq-zap.XXXXXX";
    folder_ = mkdtemp(pattern.data());
    keys_ = folder_ + "/keys";
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  ClientKey issue(const std::string& name, Role role) {
    auto key = issue_key(keys_, {name, role}, folder_ + "/" + name + ".key");
    EXPECT_TRUE(key) << key.error().message;
    return *key;
  }

  void start(const ServerLimits& limits = {}, bool with_keys = true) {
    server_.reset();
    endpoints_ = *parse_broker_url(kUrl);
    auto bound = bind_server(endpoints_, {.key_folder = with_keys ? keys_ : "", .limits = limits});
    ASSERT_TRUE(bound) << bound.error().message;
    server_ = std::move(*bound);
  }

  std::unique_ptr<ClientLink> connect(Side side, const std::optional<ClientKey>& key) {
    auto link = connect_client(side == Side::client ? endpoints_.client : endpoints_.worker, key);
    EXPECT_TRUE(link) << link.error().message;
    return std::move(*link);
  }

  // The packet of a peer whose hello reached the broker, or the reason for its refusal.
  struct Outcome {
    std::optional<Packet> packet;
    std::string refusal;
  };
  // Sends a text until it arrives. Other texts are dropped, since an earlier link may have sent its text twice.
  Outcome send_hello(ClientLink& link, const std::string& text = "hello") {
    for (const std::int64_t end_ms = sys::monotonic_now_ms() + kSoonMs; sys::monotonic_now_ms() < end_ms;) {
      (void)link.send(text);
      auto packets = server_->receive(10, 1);
      if (packets && !packets->empty() && packets->front().bytes == text) return {std::move(packets->front()), ""};
      (void)link.receive(0);
      if (auto refusal = link.refusal()) return {std::nullopt, *refusal};
    }
    return {std::nullopt, "nothing happened"};
  }
  Outcome send_hello(Side side, const std::optional<ClientKey>& key) { return send_hello(*connect(side, key)); }

  bool receives_within(ClientLink& link, std::int64_t ms) {
    for (const std::int64_t end_ms = sys::monotonic_now_ms() + ms; sys::monotonic_now_ms() < end_ms;) {
      (void)link.send("hello");
      const auto packets = server_->receive(10, 1);
      if (packets && !packets->empty()) return true;
    }
    return false;
  }

  // Returns the first log line that contains `piece`. Fails the test, and returns an empty text, if none does in time.
  std::string log_line_with(const std::string& piece) {
    std::string all;
    for (const std::int64_t end_ms = sys::monotonic_now_ms() + kSoonMs; sys::monotonic_now_ms() < end_ms;) {
      (void)server_->receive(10, 100);
      for (const std::string& line : server_->take_log_lines()) {
        if (line.find(piece) != std::string::npos) return line;
        all += line + "\n";
      }
    }
    ADD_FAILURE() << "no line with '" << piece << "' among:\n" << all;
    return "";
  }

  std::string folder_;
  std::string keys_;
  Endpoints endpoints_;
  std::unique_ptr<ServerLink> server_;
};

TEST_F(ZapAuthenticatorTest, each_role_has_its_socket) {
  EXPECT_TRUE(may_use(Role::submit, Side::client));
  EXPECT_TRUE(may_use(Role::admin, Side::client));
  EXPECT_TRUE(may_use(Role::gateway, Side::client));
  EXPECT_TRUE(may_use(Role::work, Side::worker));
  EXPECT_FALSE(may_use(Role::submit, Side::worker));
  EXPECT_FALSE(may_use(Role::admin, Side::worker));
  EXPECT_FALSE(may_use(Role::gateway, Side::worker));
  EXPECT_FALSE(may_use(Role::work, Side::client));
}

TEST_F(ZapAuthenticatorTest, an_authorized_key_is_accepted_and_known_by_name) {
  const ClientKey alice = issue("alice", Role::submit);
  const ClientKey root = issue("root", Role::admin);
  const ClientKey worker = issue("gpu 1", Role::work);
  start();
  for (const auto& [side, key] : {std::pair{Side::client, alice}, {Side::client, root}, {Side::worker, worker}}) {
    const auto link = connect(side, key);
    const Outcome outcome = send_hello(*link, "hello from " + key.who.name);
    ASSERT_TRUE(outcome.packet) << key.who.name << ": " << outcome.refusal;
    EXPECT_EQ(outcome.packet->who, key.who);
    EXPECT_EQ(outcome.packet->address, "127.0.0.1");
    EXPECT_TRUE(server_->send(outcome.packet->peer, "welcome"));
    EXPECT_EQ(link->receive(kSoonMs)->value_or("nothing"), "welcome");
  }
}

TEST_F(ZapAuthenticatorTest, without_keys_a_client_of_the_same_user_uses_the_abstract_socket) {
  start({}, false);
  for (const Side side : {Side::client, Side::worker}) {
    const Outcome outcome = send_hello(side, std::nullopt);
    ASSERT_TRUE(outcome.packet) << outcome.refusal;
    EXPECT_THAT(outcome.packet->address, HasSubstr("localhost:" + std::to_string(::geteuid()) + ":"));
    EXPECT_EQ(outcome.packet->peer.side, side);
  }
}

TEST_F(ZapAuthenticatorTest, an_abstract_socket_of_another_program_of_the_same_user_is_not_shared) {
  start({}, false);
  const auto abstract = abstract_address_of(socket_address(kOtherUrl).value());
  const int held = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(held, abstract->get(), abstract->bytes), 0);
  ASSERT_EQ(::listen(held, 1), 0);
  const auto bound = bind_server(*parse_broker_url(kOtherUrl), {});
  ASSERT_FALSE(bound);
  EXPECT_THAT(bound.error().message, HasSubstr("another program listens there"));
  ::close(held);
}

// Any user may bind the name before the broker does, even without listening.
TEST_F(ZapAuthenticatorTest, the_broker_starts_without_an_abstract_socket_that_another_program_has_bound) {
  start({}, false);
  const auto url = *parse_broker_url(kOtherUrl);
  const auto abstract = abstract_address_of(socket_address(url.client).value());
  const int held = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(held, abstract->get(), abstract->bytes), 0);
  auto bound = bind_server(url, {});
  ASSERT_TRUE(bound) << bound.error().message;
  EXPECT_THAT((*bound)->take_log_lines(), Contains(HasSubstr("abstract socket")));
  server_ = std::move(*bound);
  endpoints_ = url;
  const Outcome outcome = send_hello(Side::client, std::nullopt);
  ASSERT_TRUE(outcome.packet) << outcome.refusal;
  EXPECT_EQ(outcome.packet->address, "127.0.0.1");
  ::close(held);
}

TEST_F(ZapAuthenticatorTest, without_keys_programs_of_this_machine_have_the_admin_role) {
  start({}, false);
  const Outcome outcome = send_hello(Side::client, std::nullopt);
  ASSERT_TRUE(outcome.packet);
  EXPECT_EQ(outcome.packet->who, (Identity{"", Role::admin}));
}

TEST_F(ZapAuthenticatorTest, a_key_that_is_not_in_the_list_is_refused) {
  ClientKey stranger = issue("alice", Role::submit);
  stranger.own = make_key_pair();
  start();
  EXPECT_EQ(send_hello(Side::client, stranger).refusal, "it does not accept this key");
  EXPECT_THAT(log_line_with("refused"),
              AllOf(HasSubstr("refused a client at 127.0.0.1"), HasSubstr(stranger.own.public_key)));
}

TEST_F(ZapAuthenticatorTest, a_key_of_another_role_is_refused) {
  const ClientKey alice = issue("alice", Role::submit);
  const ClientKey worker = issue("w", Role::work);
  start();
  EXPECT_EQ(send_hello(Side::worker, alice).refusal, "it does not accept this key");
  EXPECT_THAT(log_line_with("refused"),
              HasSubstr("refused a worker at 127.0.0.1: the key of 'alice' has the role submit"));
  EXPECT_EQ(send_hello(Side::client, worker).refusal, "it does not accept this key");
}

TEST_F(ZapAuthenticatorTest, a_client_without_a_key_learns_that_it_needs_one) {
  issue("alice", Role::submit);
  start();
  // Either end may notice the missing key first. The texts differ, but the advice is the same.
  EXPECT_THAT(send_hello(Side::client, std::nullopt).refusal, HasSubstr("give yours with --key FILE or KQ_KEY"));
  EXPECT_THAT(log_line_with("disconnected"),
              HasSubstr(": it "));  // the address is missing if the other end closed first
}

TEST_F(ZapAuthenticatorTest, a_client_with_a_key_learns_that_the_broker_runs_without_keys) {
  const ClientKey alice = issue("alice", Role::submit);
  start({}, false);
  EXPECT_THAT(send_hello(Side::client, alice).refusal, HasSubstr("it runs without keys"));
}

TEST_F(ZapAuthenticatorTest, a_key_for_another_broker_is_refused_with_that_reason) {
  ClientKey alice = issue("alice", Role::submit);
  alice.broker_key = make_key_pair().public_key;
  start();
  EXPECT_THAT(send_hello(Side::client, alice).refusal, HasSubstr("key"));
  log_line_with("key is for another broker");  // the address is missing if the other end closed first
}

TEST_F(ZapAuthenticatorTest, a_key_added_later_is_accepted_without_a_restart) {
  issue("alice", Role::submit);
  start();
  ClientKey bob{{"bob", Role::submit}, make_key_pair(), read_broker_key(keys_)->public_key};
  const auto link = connect(Side::client, bob);
  EXPECT_EQ(send_hello(*link).refusal, "it does not accept this key");
  ASSERT_TRUE(authorize(keys_, {bob.who, bob.own.public_key}));
  EXPECT_TRUE(receives_within(*link, kSoonMs));
}

TEST_F(ZapAuthenticatorTest, a_revoked_key_is_refused_on_its_open_connection) {
  const ClientKey alice = issue("alice", Role::submit);
  const ClientKey bob = issue("bob", Role::submit);
  start();
  const auto a = connect(Side::client, alice);
  const auto b = connect(Side::client, bob);
  ASSERT_TRUE(send_hello(*a).packet);
  ASSERT_TRUE(send_hello(*b).packet);
  ASSERT_TRUE(revoke(keys_, "alice"));
  // The key counts as cut off after 300 ms without a message. A slow machine may be silent for that long earlier.
  bool is_received = true;
  for (const std::int64_t end_ms = sys::monotonic_now_ms() + kSoonMs;
       is_received && sys::monotonic_now_ms() < end_ms;) {
    is_received = receives_within(*a, 300);
  }
  EXPECT_FALSE(is_received);
  EXPECT_TRUE(receives_within(*b, kSoonMs));
  EXPECT_THAT(log_line_with("has been revoked"), HasSubstr("client at 127.0.0.1"));
  EXPECT_EQ(send_hello(Side::client, alice).refusal, "it does not accept this key");
}

TEST_F(ZapAuthenticatorTest, the_old_list_stays_in_force_if_the_new_one_is_invalid) {
  const ClientKey alice = issue("alice", Role::submit);
  start();
  std::ofstream(authorized_path(keys_), std::ios::app) << "king bob\n";
  EXPECT_THAT(log_line_with("authorized"),
              AllOf(HasSubstr("authorized:5: "), HasSubstr("the keys read before stay in force")));
  EXPECT_TRUE(send_hello(Side::client, alice).packet);
}

TEST_F(ZapAuthenticatorTest, a_broker_with_a_readable_secret_does_not_start) {
  issue("alice", Role::submit);
  ::chmod(broker_key_path(keys_).c_str(), 0644);
  const auto link =
      bind_server(*parse_broker_url("ipc://" + folder_ + "/kq.sock"), {.key_folder = keys_, .limits = {}});
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(link.error().message, HasSubstr("holds a secret"));
}

TEST_F(ZapAuthenticatorTest, read_key_for_checks_role_and_file_mode) {
  issue("alice", Role::submit);
  const std::string path = folder_ + "/alice.key";
  EXPECT_TRUE(read_key_for(Side::client, path)->has_value());
  EXPECT_FALSE(read_key_for(Side::client, "")->has_value());
  EXPECT_THAT(read_key_for(Side::worker, path).error().message,
              HasSubstr("is of 'alice' with the role submit; here a key with the role work is needed"));
  ::chmod(path.c_str(), 0644);
  EXPECT_THAT(read_key_for(Side::client, path).error().message, HasSubstr("holds a secret"));
}

TEST_F(ZapAuthenticatorTest, peers_without_a_valid_handshake_are_disconnected) {
  const ClientKey alice = issue("alice", Role::submit);
  for (const bool with_keys : {true, false}) {
    start({.handshake_ms = 300}, with_keys);
    const auto friendly = connect(Side::client, with_keys ? std::optional(alice) : std::nullopt);
    ASSERT_TRUE(send_hello(*friendly).packet);
    const std::string mechanism = with_keys ? "CURVE" : std::string("NULL\0", 5);
    const std::string greeting =
        std::string("\xff\0\0\0\0\0\0\0\x01\x7f\x03", 11) + "\1" + mechanism + std::string(47, '\0');
    for (const std::string& bytes :
         {std::string(), std::string("GET / HTTP/1.1\r\n\r\n"), std::string(100'000, '\xff'), greeting.substr(0, 5),
          greeting, greeting + std::string("\x04\xc8\x05HELLO", 8) + std::string(193, 'x'),
          greeting + std::string("\x06\xff\xff\xff\xff\xff\xff\xff\xff", 9)}) {
      Stranger stranger;
      stranger.send_bytes(bytes);
      EXPECT_TRUE(stranger.is_disconnected_by(*server_)) << bytes.size() << " bytes";
      EXPECT_TRUE(receives_within(*friendly, kSoonMs));
    }
    EXPECT_THAT(log_line_with("127.0.0.1"), HasSubstr("disconnected 127.0.0.1"));
  }
}

TEST_F(ZapAuthenticatorTest, incomplete_messages_are_limited_in_time_and_bytes) {
  const std::string greeting = std::string("\xff\0\0\0\0\0\0\0\x01\x7f\x03\x01", 12) + "NULL" + std::string(48, '\0');
  const std::string ready = std::string("\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06", 24) + "DEALER";
  const std::string half = greeting + ready + std::string("\x02\0\0\0\0\0\x10\0\0", 9) + std::string(700'000, 'x');
  start({.message_ms = 300}, false);
  const auto friendly = connect(Side::client, std::nullopt);
  {
    Stranger late;
    late.send_bytes(half);
    EXPECT_TRUE(late.is_disconnected_by(*server_));
    EXPECT_THAT(log_line_with("127.0.0.1"), HasSubstr("it did not complete its message in time"));
  }
  ASSERT_TRUE(send_hello(*friendly).packet);
  start({.incomplete_bytes_max = 1'000'000}, false);
  Stranger first, second;
  first.send_bytes(half);
  EXPECT_TRUE(receives_within(*connect(Side::client, std::nullopt), kSoonMs))
      << "one incomplete message is within the limit";
  second.send_bytes(half);
  EXPECT_TRUE(first.is_disconnected_by(*server_)) << "its message began first";
  EXPECT_THAT(log_line_with("127.0.0.1"),
              HasSubstr("the incomplete messages of all connections together are too long"));
}

// With a limited receive queue, libzmq 4.3 fails an assertion in out_event here, which ends the whole process.
TEST_F(ZapAuthenticatorTest, a_peer_that_floods_pings_and_resets_does_not_end_the_broker) {
  start({}, false);
  const std::string greeting = std::string("\xff\0\0\0\0\0\0\0\x01\x7f\x03\x01", 12) + "NULL" + std::string(48, '\0');
  const std::string ready = std::string("\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06", 24) + "DEALER";
  const std::string ping("\x04\x07\x04PING\0\0", 9);
  // The test must give ZeroMQ time to read the flood before the reset, but cannot observe that it has. So one of
  // several tries, each with a longer pause, must show that it had.
  std::size_t count = 0;
  for (int tries = 1; tries <= 10 && count <= 1'000; ++tries) {
    const std::chrono::milliseconds pause(300 * tries);
    {
      Stranger stranger;
      stranger.send_bytes(greeting + ready);
      (void)server_->receive(pause.count(), 1);
      std::string flood;
      for (int i = 0; i < 1'200; ++i) flood += std::string("\0\x01x", 3);
      stranger.send_bytes(flood + ping + flood);
      std::this_thread::sleep_for(pause);
      stranger.reset();
    }
    std::this_thread::sleep_for(pause);
    count = 0;
    for (auto packets = server_->receive(100, 100); packets && !packets->empty();
         packets = server_->receive(100, 100)) {
      count += packets->size();
    }
  }
  EXPECT_GT(count, 1'000u);
  EXPECT_TRUE(send_hello(Side::client, std::nullopt).packet);
}

TEST_F(ZapAuthenticatorTest, connections_over_the_limit_are_closed_and_the_others_stay) {
  const ClientKey alice = issue("alice", Role::submit);
  for (const bool with_keys : {true, false}) {
    start({.handshake_ms = 60'000, .connections_max = 8, .connections_per_address_max = 4}, with_keys);
    const auto key = with_keys ? std::optional(alice) : std::nullopt;
    const auto first = connect(Side::client, key);
    ASSERT_TRUE(send_hello(*first).packet);
    {
      std::vector<std::unique_ptr<Stranger>> held;
      // Without keys the first connection uses the abstract socket and also counts for this machine.
      for (int i = 0; i < 3; ++i) held.push_back(std::make_unique<Stranger>());
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(Stranger().is_disconnected_by(*server_));
      EXPECT_THAT(log_line_with("connections of at most"),
                  HasSubstr("disconnected 127.0.0.1: it has 4 connections of at most 4"));
      EXPECT_TRUE(receives_within(*first, kSoonMs));
    }
    // New connections are accepted once these are closed.
    EXPECT_TRUE(send_hello(Side::client, key).packet);
  }
}

}  // namespace
}  // namespace kq::net
