// Tests a primary and a follower together, over a link in memory and with stores on disk.
#include "broker/standby/primary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>
#include <filesystem>
#include <functional>

#include "broker/standby/follower.h"
#include "core/codec/codec.h"
#include "core/messages.h"
#include "store/keys.h"
#include "store/rocks/rocks_store.h"
#include "store/temporary_directory.h"

namespace kq::broker {
namespace {

using testing::HasSubstr;

// Both ends of a link. Messages wait in queues.
struct Wire {
  std::deque<std::string> to_primary;
  std::deque<std::string> to_standby;
  bool is_cut = false;
};

class PrimaryEnd final : public net::ServerLink {
 public:
  explicit PrimaryEnd(Wire& wire) : wire_(wire) {}
  Expected<std::vector<net::Packet>> receive(std::int64_t, std::size_t) override { return std::vector<net::Packet>(); }
  bool send(const net::Peer&, std::string bytes) override {
    if (!wire_.is_cut) wire_.to_standby.push_back(std::move(bytes));
    return true;
  }

 private:
  Wire& wire_;
};

class StandbyEnd final : public net::ClientLink {
 public:
  explicit StandbyEnd(Wire& wire) : wire_(wire) {}
  bool send(std::string_view bytes) override {
    if (!wire_.is_cut) wire_.to_primary.emplace_back(bytes);
    return true;
  }
  Expected<std::optional<std::string>> receive(std::int64_t) override {
    if (wire_.to_standby.empty()) return std::nullopt;
    std::string bytes = std::move(wire_.to_standby.front());
    wire_.to_standby.pop_front();
    return bytes;
  }

 private:
  Wire& wire_;
};

class PrimaryTest : public testing::Test {
 protected:
  std::unique_ptr<store::Store> open(const std::string& name, bool follows = false) {
    store::RocksStoreOptions options{.space = {.reserve_bytes = 0, .low_bytes = 0}};
    options.kept_log_bytes = kept_log_bytes;
    options.follows = follows;
    auto opened = store::open_rocks_store(path(name), store::OpenMode::read_write, options);
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
    return std::move(*opened);
  }
  std::string path(const std::string& name) const { return directory.path() + "/" + name; }

  void start_primary(Primary::Options options = {}) {
    store = open("first");
    ++epoch;
    ASSERT_TRUE(history.begin(*store, epoch, 77, "host:first"));
    options.checkpoint_dir = path("checkpoint");
    primary.emplace(
        *store, history, server, lease.get(), options, [this] { return now_ms; },
        [this](NoteLevel, const std::string& text) { said += text + "\n"; });
  }

  void start_follower() {
    auto started =
        Follower::start(client, {.store_dir = path("second"),
                                 .name = "host:second",
                                 .open = [this]() -> Expected<std::unique_ptr<store::Store>> {
                                   if (!store::holds_store(path("second"))) return nullptr;
                                   return open("second", true);
                                 },
                                 .now_ms = [this] { return now_ms; },
                                 .random = [this] { return ++random; },
                                 .log = [this](NoteLevel, const std::string& text) { said += text + "\n"; }});
    ASSERT_TRUE(started);
    follower.emplace(std::move(*started));
  }

  // One step of both ends, 10 ms later.
  Expected<void> step() {
    now_ms += 10;
    KQ_TRY(follower->turn(0));
    for (; !wire.to_primary.empty(); wire.to_primary.pop_front()) {
      KQ_TRY(primary->receive({.peer = {net::Side::worker, "s"}, .bytes = wire.to_primary.front(), .who = who}));
    }
    return primary->send();
  }
  void steps_until(const std::function<bool()>& condition) {
    for (int i = 0; i < 30'000 && !condition(); ++i) {
      const auto done = step();
      ASSERT_TRUE(done) << done.error().message;
      if (i % 10 == 9) ::usleep(1'000);  // a thread makes the checkpoint
    }
    ASSERT_TRUE(condition()) << said;
  }
  bool is_equal() {
    return follower->store() != nullptr &&
           follower->store()->commit_log()->position() == store->commit_log()->position();
  }

  void put(std::uint64_t number, std::size_t bytes = 10) {
    const store::Write write{store::Family::blob, store::sequence_key(number), std::string(bytes, 'b')};
    ASSERT_TRUE(store->commit({&write, 1}));
  }

  std::uint64_t kept_log_bytes = 64u << 20;
  store::TemporaryDirectory directory;
  Wire wire;
  PrimaryEnd server{wire};
  StandbyEnd client{wire};
  Identity who;
  std::int64_t now_ms = 1'000;
  std::uint64_t random = 0;
  std::uint64_t epoch = 0;
  std::string said;
  History history;
  std::unique_ptr<HeldLease> lease;
  std::unique_ptr<store::Store> store;
  std::optional<Primary> primary;
  std::optional<Follower> follower;
};

TEST_F(PrimaryTest, a_standby_without_a_store_gets_a_copy_and_then_every_commit) {
  start_primary();
  for (std::uint64_t number = 0; number < 50; ++number) put(number, 300'000);
  start_follower();
  steps_until([&] { return is_equal(); });
  EXPECT_THAT(said, HasSubstr("gets a copy"));
  for (std::uint64_t number = 50; number < 80; ++number) put(number, number == 60 ? 3'000'000 : 1'000);
  steps_until([&] { return is_equal(); });
  EXPECT_EQ(*follower->store()->get(store::Family::blob, store::sequence_key(60)), std::string(3'000'000, 'b'));
  EXPECT_FALSE(std::filesystem::exists(path("checkpoint")));
}

TEST_F(PrimaryTest, replies_wait_until_a_required_standby_has_the_commit) {
  start_primary({.is_required = true});
  EXPECT_TRUE(*primary->must_wait()) << "no standby has followed yet";
  start_follower();
  steps_until([&] { return !*primary->must_wait(); });
  put(1);
  EXPECT_TRUE(*primary->must_wait());
  ASSERT_TRUE(primary->send());
  EXPECT_TRUE(*primary->must_wait()) << "the commit is on its way only";
  steps_until([&] { return !*primary->must_wait(); });
  EXPECT_TRUE(is_equal());
}

TEST_F(PrimaryTest, a_standby_that_was_away_goes_on_where_it_was) {
  start_primary();
  start_follower();
  put(1);
  steps_until([&] { return is_equal(); });
  follower.reset();
  for (std::uint64_t number = 2; number < 20; ++number) put(number);
  said.clear();
  start_follower();
  steps_until([&] { return is_equal(); });
  EXPECT_THAT(said, testing::Not(HasSubstr("copy")));
}

TEST_F(PrimaryTest, a_lost_message_is_asked_for_again) {
  start_primary();
  start_follower();
  put(1);
  steps_until([&] { return is_equal(); });
  wire.is_cut = true;
  put(2);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(step());
  wire.is_cut = false;
  put(3);
  steps_until([&] { return is_equal(); });
}

TEST_F(PrimaryTest, a_store_with_commits_of_its_own_is_replaced_and_kept_aside) {
  start_primary();
  start_follower();
  steps_until([&] { return is_equal(); });
  follower.reset();
  {
    const auto other = open("second");
    const store::Write write{store::Family::blob, "own", "x"};
    ASSERT_TRUE(other->commit({&write, 1}));
  }
  ASSERT_TRUE(history.begin(*store, ++epoch, 9, "host:first"));
  start_follower();
  steps_until([&] { return is_equal() && !*follower->store()->get(store::Family::blob, "own"); });
  EXPECT_TRUE(std::filesystem::exists(path("second.replaced")));
}

TEST_F(PrimaryTest, the_key_of_a_worker_may_not_copy_the_store) {
  start_primary();
  start_follower();
  who = {.name = "gpu", .role = Role::work};
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(step());
  EXPECT_FALSE(primary->is_connected());
  EXPECT_THAT(said, HasSubstr("a key with the role standby is needed"));
}

TEST_F(PrimaryTest, a_standby_whose_key_is_revoked_says_so_and_stands_by) {
  start_primary();
  start_follower();
  const Refused revoked{"its key has been revoked"};
  for (int i = 0; i < 2; ++i) {
    wire.to_standby.push_back(encode_message(Message<WorkerReply>{0, revoked}));
    ASSERT_TRUE(follower->turn(0));
  }
  EXPECT_EQ(said, "the primary refuses this standby: its key has been revoked\n");
}

TEST_F(PrimaryTest, a_broker_that_hears_of_a_later_epoch_ends) {
  start_primary();
  const auto heard = [&](std::uint64_t number) {
    return primary->receive({.peer = {net::Side::worker, "s"}, .bytes = encode_standby(Fence{number, "ipc:///b"})});
  };
  EXPECT_TRUE(heard(epoch));
  const auto fenced = heard(epoch + 1);
  ASSERT_FALSE(fenced);
  EXPECT_THAT(fenced.error().message, HasSubstr("the broker at ipc:///b serves epoch 2"));
}

TEST_F(PrimaryTest, a_broker_goes_on_alone_only_when_its_lease_says_so) {
  const std::string file = path("lease");
  auto taken = HeldLease::take({.path = file, .takeover_ms = 60'000}, std::nullopt,
                               {.epoch = 1, .holder = "host:first", .url = "u"});
  ASSERT_TRUE(taken && *taken);
  lease = std::move(*taken);
  start_primary({.is_required = true, .alone_after_ms = 500});
  start_follower();
  steps_until([&] { return primary->is_in_sync(); });  // its copy takes longer than the broker would wait
  EXPECT_FALSE(*primary->must_wait());
  EXPECT_EQ((*read_lease(file))->standby, "host:second");
  put(1);
  EXPECT_TRUE(*primary->must_wait());
  now_ms += 499;
  EXPECT_TRUE(*primary->must_wait());
  EXPECT_EQ((*read_lease(file))->standby, "host:second");
  now_ms += 1;
  EXPECT_FALSE(*primary->must_wait());
  EXPECT_EQ((*read_lease(file))->standby, kNoStandby);
  steps_until([&] { return primary->is_in_sync(); });
  EXPECT_EQ((*read_lease(file))->standby, "host:second");
}

}  // namespace
}  // namespace kq::broker
