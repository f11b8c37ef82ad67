#include "broker/requests/session.h"

#include <gtest/gtest.h>

#include "store/memory_store.h"

namespace kq::broker {
namespace {

class SessionsTest : public testing::Test {
 protected:
  WorkerReply reply_to(const Hello& hello, const std::string& peer = "w") {
    Ready ready;
    Step step{state, ready, now_ms};
    EXPECT_TRUE(handle_hello(step, peer, 1, hello));
    return std::get<ToWorker>(commit(std::move(ready), store)->at(0)).message.body;
  }

  static Hello hello() {
    DeviceInfo cpu;
    cpu.model = "EPYC";
    return {.worker = "host:7", .epoch = 5, .devices = {cpu}, .credit = 2, .evaluator = std::string(kEvaluatorVersion)};
  }

  std::string refusal_of(const Hello& hello) { return std::get<Refused>(reply_to(hello)).reason; }

  store::MemoryStore store;
  State state{.options = {}, .store = &store};
  std::int64_t now_ms = 1000;
};

TEST_F(SessionsTest, a_worker_is_told_the_intervals) {
  const auto welcome = std::get<Welcome>(reply_to(hello()));
  EXPECT_EQ(welcome.heartbeat_ms, state.options.heartbeat_ms);
  EXPECT_EQ(welcome.lease_ms, state.options.lease_ms);
}

TEST_F(SessionsTest, a_hello_has_limits) {
  Hello many = hello();
  many.devices.assign(65, many.devices[0]);
  EXPECT_EQ(refusal_of(many), "65 devices, at most 64 are allowed");
  Hello greedy = hello();
  greedy.credit = 1025;
  EXPECT_EQ(refusal_of(greedy), "credit 1025, at most 1024 is allowed");
  Hello odd = hello();
  odd.devices[0].model = "EP\nYC";
  EXPECT_EQ(refusal_of(odd), "a device's model holds a control character at byte 2");
  Hello empty = hello();
  empty.devices[0].device_count = 0;
  EXPECT_EQ(refusal_of(empty), "a lane of 0 devices, it has 1 to 16");
  Hello endless = hello();
  endless.devices[0].uuid.assign(kNameBytesMax + 1, 'x');
  EXPECT_EQ(refusal_of(endless), "a device's UUID or architecture is 201 bytes long, the limit is 200");
  Hello all = hello();
  all.backends.assign(7, Backend::torch);
  EXPECT_EQ(refusal_of(all), "7 backends, there are 6");
  EXPECT_EQ(state.workers.size(), 0u);
}

TEST_F(SessionsTest, unknown_leases_are_revoked_up_to_a_limit) {
  reply_to(hello());
  Heartbeat beat{.epoch = 5, .leases = {}};
  for (Sequence seq = 1; seq <= state.options.credit_max + 1; ++seq) beat.leases.push_back({seq, 1});
  Ready ready;
  Step step{state, ready, now_ms};
  ASSERT_TRUE(handle_heartbeat(step, "w", 0, beat));
  const auto sends = commit(std::move(ready), store);
  ASSERT_EQ(sends->size(), 1u);
  const auto& revoke = std::get<Revoke>(std::get<ToWorker>(sends->at(0)).message.body);
  EXPECT_EQ(revoke.leases.size(), state.options.credit_max);
  EXPECT_EQ(revoke.leases[0], (LeaseId{1, 1}));
}

TEST_F(SessionsTest, silence_as_long_as_a_lease_ends_a_session) {
  reply_to(hello());
  Ready ready;
  now_ms += state.options.lease_ms - 1;
  Step early{state, ready, now_ms};
  ASSERT_TRUE(drop_silent_sessions(early));
  EXPECT_EQ(state.workers.size(), 1u);
  Step late{state, ready, now_ms + 1};
  ASSERT_TRUE(drop_silent_sessions(late));
  EXPECT_EQ(state.workers.size(), 0u);
}

TEST_F(SessionsTest, two_processes_never_share_an_address) {
  reply_to(hello(), "one");
  Hello other = hello();
  other.epoch = 6;
  reply_to(other, "two");
  reply_to(hello(), "two");  // the first process is now at the address of the second
  EXPECT_EQ(state.workers.size(), 1u);
  EXPECT_EQ(state.workers.find_peer("one"), nullptr);
  EXPECT_EQ(state.workers.find_peer("two")->epoch, 5u);
}

}  // namespace
}  // namespace kq::broker
