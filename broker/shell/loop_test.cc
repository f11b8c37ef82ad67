#include "broker/shell/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/codec/codec.h"
#include "core/limits.h"
#include "store/memory_store.h"

namespace kq::broker {
namespace {

// A link whose arriving messages the test sets. It keeps what is sent, unless the peer is gone.
class FakeLink final : public net::ServerLink {
 public:
  Expected<std::vector<net::Packet>> receive(std::int64_t timeout_ms, std::size_t packets_max) override {
    waits_ms.push_back(timeout_ms);
    if (when_asked) when_asked(timeout_ms);
    std::vector<net::Packet> packets;
    while (!arriving.empty() && packets.size() < packets_max) {
      packets.push_back(std::move(arriving.front()));
      arriving.erase(arriving.begin());
    }
    return packets;
  }

  bool send(const net::Peer& peer, std::string bytes) override {
    if (peer.id == gone) return false;
    sent.push_back({peer, std::move(bytes)});
    return true;
  }

  void count_violation(const net::Packet& packet, std::string_view why) override {
    violations.push_back(packet.peer.id + ": " + std::string(why));
  }

  std::vector<std::string> violations;
  std::vector<net::Packet> arriving;
  std::vector<net::Packet> sent;
  std::vector<std::int64_t> waits_ms;
  std::string gone;
  std::function<void(std::int64_t timeout_ms)> when_asked;
};

// A store that can be copied into a directory that does not exist yet.
class CopiedStore final : public store::Store {
 public:
  Expected<void> commit(std::span<const store::Write> writes) override { return memory.commit(writes); }
  Expected<std::optional<std::string>> get(store::Family family, std::string_view key) const override {
    return memory.get(family, key);
  }
  Expected<void> scan(store::Family family, std::string_view first, std::string_view end,
                      const Visit& visit) const override {
    return memory.scan(family, first, end, visit);
  }
  Expected<store::Space> space() override { return memory.space(); }
  Expected<void> checkpoint(const std::string& dir) override {
    if (!copies.insert(dir).second) return bad_input(dir + " is there already");
    return {};
  }

  store::MemoryStore memory;
  std::set<std::string> copies;
};

class LoopTest : public testing::Test {
 protected:
  void arrive(const ClientRequest& request) {
    link.arriving.push_back({{net::Side::client, "c"}, encode_message(Message<ClientRequest>{7, request})});
  }
  void arrive(const WorkerRequest& request) {
    link.arriving.push_back({{net::Side::worker, "w"}, encode_message(Message<WorkerRequest>{7, request})});
  }

  static SubmitBatch one_job() {
    Submission submission;
    submission.label = "a";
    submission.files = {{"a.py", sha256("a")}};
    submission.problem.name = "relu";
    submission.problem.file = "relu.py";
    submission.problem.hash = sha256("relu");
    return {.run = "r", .jobs = {submission}, .blobs = {{sha256("a"), "a"}, {sha256("relu"), "relu"}}};
  }

  static Hello hello() {
    DeviceInfo cpu;
    cpu.model = "EPYC";
    return {.worker = "w", .epoch = 1, .devices = {cpu}, .credit = 1, .evaluator = std::string(kEvaluatorVersion)};
  }

  template <class Body, class Reply>
  Body sent(std::size_t i) {
    return std::get<Body>(decode_message<Reply>(link.sent.at(i).bytes)->body);
  }

  store::MemoryStore store;
  FakeLink link;
  std::int64_t now_ms = 1000;
  std::int64_t clock_read_ms = 0;  // how far each reading moves the clock, to simulate a slow loop
  Broker broker = *Broker::recover(store, {}, now_ms);
  Loop loop{broker, store, link, [this] { return now_ms += clock_read_ms; }};
};

TEST_F(LoopTest, the_observer_is_called_at_intervals) {
  std::vector<std::int64_t> calls;
  loop.observe([&](std::int64_t at_ms) { calls.push_back(at_ms); });
  for (; now_ms < 4'000; now_ms += 300) ASSERT_TRUE(loop.turn());
  EXPECT_EQ(calls, (std::vector<std::int64_t>{1'000, 2'200, 3'400}));
}

TEST_F(LoopTest, one_turn_accepts_answers_and_leases) {
  arrive(hello());
  arrive(one_job());
  ASSERT_TRUE(loop.turn());
  ASSERT_EQ(link.sent.size(), 3u);
  EXPECT_EQ((sent<Welcome, WorkerReply>(0).lease_ms), 30'000u);
  EXPECT_EQ((sent<SubmitAck, ClientReply>(1).jobs.at(0).acceptance), Acceptance::accepted);
  EXPECT_EQ((sent<LeaseBatch, WorkerReply>(2).leases.at(0).blobs.size()), 2u);
}

TEST_F(LoopTest, nothing_is_sent_when_the_commit_fails) {
  arrive(one_job());
  store.fail_next_commit("disk full");
  const auto done = loop.turn();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error(), (Error{ErrorKind::our_fault, "disk full"}));
  EXPECT_TRUE(link.sent.empty());
}

TEST_F(LoopTest, malformed_messages_count_against_their_sender) {
  link.arriving = {{{net::Side::client, "c"}, "?"}, {{net::Side::worker, "w"}, "?"}};
  ASSERT_TRUE(loop.turn());
  ASSERT_EQ(link.sent.size(), 1u);
  EXPECT_THAT((sent<Refused, ClientReply>(0).reason), testing::HasSubstr("malformed message"));
  EXPECT_THAT(link.violations,
              testing::ElementsAre(testing::StartsWith("c: malformed"), testing::StartsWith("w: malformed")));
}

TEST_F(LoopTest, a_lease_that_cannot_be_sent_is_requeued_at_once) {
  arrive(hello());
  arrive(one_job());
  link.gone = "w";
  ASSERT_TRUE(loop.turn());
  EXPECT_EQ(broker.state().queue.jobs().leased_count(), 1u);
  ASSERT_TRUE(loop.turn());
  EXPECT_EQ(link.waits_ms.back(), 0);
  EXPECT_EQ(broker.state().queue.jobs().leased_count(), 0u);
  EXPECT_EQ(broker.state().queue.jobs().find(Sequence{1})->record.failures, 0u);
  EXPECT_EQ(broker.state().workers.size(), 0u);
}

TEST_F(LoopTest, leases_of_two_messages_that_cannot_be_sent_are_requeued_together) {
  BrokerOptions options;
  options.lease_batch_bytes_max = 1;
  broker = *Broker::recover(store, options, now_ms);
  Hello two = hello();
  two.credit = 2;
  SubmitBatch jobs = one_job();
  jobs.jobs.push_back(jobs.jobs[0]);
  jobs.jobs[1].label = jobs.jobs[1].salt = "b";
  arrive(two);
  arrive(jobs);
  link.gone = "w";
  ASSERT_TRUE(loop.turn());
  EXPECT_EQ(broker.state().queue.jobs().leased_count(), 2u);
  ASSERT_TRUE(loop.turn());
  EXPECT_EQ(broker.state().queue.jobs().leased_count(), 0u);
}

TEST_F(LoopTest, a_stall_of_the_loop_costs_no_lease) {
  arrive(hello());
  arrive(one_job());
  ASSERT_TRUE(loop.turn());
  link.when_asked = [this](std::int64_t timeout_ms) { now_ms += timeout_ms + 31'000; };
  for (int i = 0; i < 4; ++i) {
    arrive(Heartbeat{1, {{1, 1}}});
    ASSERT_TRUE(loop.turn());
    EXPECT_EQ(broker.state().queue.jobs().find(Sequence{1})->record.failures, 0u);
    EXPECT_EQ(broker.state().workers.size(), 1u);
  }
  link.when_asked = [this](std::int64_t timeout_ms) { now_ms += timeout_ms; };
  for (std::int64_t from_ms = now_ms; now_ms < from_ms + 31'000;) ASSERT_TRUE(loop.turn());
  ASSERT_TRUE(loop.turn());
  EXPECT_EQ(broker.state().queue.jobs().find(Sequence{1})->record.failures, 1u);
}

TEST_F(LoopTest, a_long_turn_defers_messages_and_workers_go_before_them) {
  clock_read_ms = 20;
  for (int i = 0; i < 5; ++i) arrive(StatusQuery{{1}});
  ASSERT_TRUE(loop.turn());
  const std::size_t answered_count = link.sent.size();
  EXPECT_GT(answered_count, 0u);
  EXPECT_LT(answered_count, 5u);
  arrive(hello());
  ASSERT_TRUE(loop.turn());
  EXPECT_EQ(link.waits_ms.back(), 0);
  EXPECT_EQ(link.sent.at(answered_count).peer.side, net::Side::worker);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(loop.turn());
  EXPECT_EQ(link.sent.size(), 6u);
}

TEST_F(LoopTest, many_packets_share_one_commit) {
  for (int i = 0; i < 100; ++i) arrive(StatusQuery{{1}});
  ASSERT_TRUE(loop.turn());
  EXPECT_EQ(link.sent.size(), 100u);
}

TEST_F(LoopTest, a_backup_of_a_store_in_memory_is_refused) {
  arrive(Backup{.dir = "/backup/monday"});
  while (link.sent.empty()) ASSERT_TRUE(loop.turn());
  EXPECT_THAT((sent<Refused, ClientReply>(0).reason), testing::HasSubstr("only a store on disk can be copied"));
}

TEST_F(LoopTest, a_repeated_backup_order_is_answered_and_not_made_again) {
  CopiedStore disk;
  Broker of_disk = *Broker::recover(disk, {}, now_ms);
  Loop turns{of_disk, disk, link, [this] { return now_ms; }};
  const auto ask = [&](std::uint64_t request_id) {
    link.sent.clear();
    link.arriving.push_back({{net::Side::client, "c"},
                             encode_message(Message<ClientRequest>{request_id, Backup{.dir = "/backup/monday"}})});
    while (link.sent.empty()) ASSERT_TRUE(turns.turn());
  };
  for (int i = 0; i < 2; ++i) {
    ask(7);
    EXPECT_NO_THROW((sent<Done, ClientReply>(0)));
  }
  ask(8);
  EXPECT_EQ((sent<Refused, ClientReply>(0).reason), "/backup/monday is there already");
}

TEST_F(LoopTest, the_broker_is_told_of_the_disk_space) {
  store.set_space({.free_bytes = 5, .nearly_full = true});
  arrive(one_job());
  ASSERT_TRUE(loop.turn());
  EXPECT_EQ((sent<SubmitAck, ClientReply>(0).jobs.at(0).acceptance), Acceptance::busy);
}

TEST_F(LoopTest, the_disk_space_is_checked_again_after_many_committed_bytes) {
  const auto submit = [&](const std::string& file) {
    SubmitBatch batch = one_job();
    batch.jobs[0].label = file.substr(0, 8);
    batch.jobs[0].files[0].hash = sha256(file);
    batch.blobs[0] = {sha256(file), file};
    link.sent.clear();
    arrive(batch);
    EXPECT_TRUE(loop.turn());
    return sent<SubmitAck, ClientReply>(0).jobs.at(0).acceptance;
  };
  EXPECT_EQ(submit("first"), Acceptance::accepted);
  store.set_space({.free_bytes = 5, .nearly_full = true});
  EXPECT_EQ(submit("second"), Acceptance::accepted) << "too few bytes for a check";
  std::size_t taken_bytes = 0;
  for (int i = 0; taken_bytes <= 2 * kSpaceCheckBytes; ++i, taken_bytes += kFileBytesMax) {
    std::string file(kFileBytesMax, 'x');
    file.replace(0, 8, std::to_string(10'000'000 + i));
    if (submit(file) == Acceptance::busy) break;
  }
  EXPECT_LE(taken_bytes, kSpaceCheckBytes);
}

TEST_F(LoopTest, a_turn_takes_a_limited_number_of_bytes_and_defers_the_rest) {
  constexpr std::size_t kMessages = 8;
  for (std::size_t i = 0; i < kMessages; ++i) {
    SubmitBatch batch = one_job();
    const std::string file(kFileBytesMax, static_cast<char>('a' + i));
    batch.jobs[0].label = file.substr(0, 8);
    batch.jobs[0].files[0].hash = sha256(file);
    batch.blobs[0] = {sha256(file), file};
    arrive(batch);
  }
  ASSERT_TRUE(loop.turn());
  const std::size_t answered = link.sent.size();
  EXPECT_GE(answered, kTurnBytesMax / kFileBytesMax / 2);
  EXPECT_LE(answered, kTurnBytesMax / kFileBytesMax + 1);
  ASSERT_TRUE(loop.turn());
  EXPECT_EQ(link.sent.size(), kMessages) << "the deferred messages need no new message";
}

TEST_F(LoopTest, waits_until_the_broker_wants_to_wake) {
  arrive(hello());
  ASSERT_TRUE(loop.turn());
  now_ms = 1000 + 30'000 - 50;
  ASSERT_TRUE(loop.turn());
  EXPECT_EQ(link.waits_ms.back(), 50);
}

// A standby whose messages begin with R. It has a commit on disk after `waits` checks.
class FakeReplication final : public Replication {
 public:
  Expected<bool> receive(const net::Packet& packet) override {
    if (!packet.bytes.starts_with('R')) return false;
    ++received;
    return true;
  }
  Expected<void> send() override { return {}; }
  Expected<bool> must_wait() override {
    if (waits == 0) return false;
    if (when_waiting) when_waiting();
    --waits;
    return true;
  }
  std::optional<std::uint64_t> lag() const override { return 0; }
  Expected<void> check_lease() override {
    return has_lease ? Expected<void>() : Expected<void>(our_fault("the lease is lost"));
  }

  int received = 0;
  int waits = 0;
  bool has_lease = true;
  std::function<void()> when_waiting;
};

TEST_F(LoopTest, replies_wait_for_the_standby_and_other_messages_are_deferred_meanwhile) {
  FakeReplication standby;
  loop.replicate(standby);
  standby.waits = 2;
  standby.when_waiting = [&] {
    EXPECT_TRUE(link.sent.empty());
    link.arriving.push_back({{net::Side::worker, "s"}, "R progress"});
    arrive(hello());
  };
  arrive(one_job());
  ASSERT_TRUE(loop.turn());
  EXPECT_EQ(link.sent.size(), 1u) << "the acknowledgement";
  EXPECT_EQ(standby.received, 2);
  EXPECT_EQ(broker.state().workers.size(), 0u);
  ASSERT_TRUE(loop.turn());
  EXPECT_EQ(broker.state().workers.size(), 1u) << "the deferred messages are handled in the next turn";
}

TEST_F(LoopTest, a_broker_that_has_lost_its_lease_sends_nothing) {
  FakeReplication standby;
  loop.replicate(standby);
  standby.has_lease = false;
  arrive(one_job());
  const auto done = loop.turn();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "the lease is lost");
  EXPECT_TRUE(link.sent.empty());
}

TEST_F(LoopTest, stops_when_the_flag_is_set) {
  const volatile std::sig_atomic_t stop = 1;
  EXPECT_TRUE(loop.run(stop));
  EXPECT_TRUE(link.waits_ms.empty());
}

}  // namespace
}  // namespace kq::broker
