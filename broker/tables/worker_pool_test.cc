#include "broker/tables/worker_pool.h"

#include <gtest/gtest.h>

namespace kq::broker {
namespace {

Hello hello(const std::string& worker, std::uint64_t epoch) {
  DeviceInfo cpu;
  cpu.model = "EPYC";
  return {.worker = worker, .epoch = epoch, .devices = {cpu}, .credit = 2, .evaluator = ""};
}

TEST(WorkerPool, finds_a_session_by_address_and_by_process) {
  WorkerPool workers;
  const Session& session = workers.insert("peer", hello("host:7", 5), 1000);
  EXPECT_EQ(workers.find_peer("peer"), &session);
  EXPECT_EQ(workers.find_process("host:7", 5), &session);
  EXPECT_EQ(workers.find_process("host:7", 6), nullptr);
  EXPECT_EQ(session.last_seen_ms, 1000);
}

TEST(WorkerPool, a_process_may_move_to_another_address) {
  WorkerPool workers;
  Session& session = workers.insert("peer", hello("host:7", 5), 1000);
  workers.move(session, "other");
  EXPECT_EQ(workers.find_peer("peer"), nullptr);
  EXPECT_EQ(workers.find_peer("other"), &session);
  workers.remove(session.id);
  EXPECT_EQ(workers.find_peer("other"), nullptr);
  EXPECT_EQ(workers.find_process("host:7", 5), nullptr);
}

TEST(WorkerPool, knows_which_problems_are_warm_on_other_devices) {
  WorkerPool workers;
  Session& one = workers.insert("one", hello("host:1", 1), 1000);
  Session& other = workers.insert("other", hello("host:2", 2), 1000);
  workers.warm(one, 0, 7);
  EXPECT_FALSE(workers.warmth(one, 0).is_warm_elsewhere(7)) << "it is warm on the own device";
  EXPECT_TRUE(workers.warmth(other, 0).is_warm_elsewhere(7));
  workers.warm(other, 0, 7);
  workers.warm(one, 0, 8);
  EXPECT_TRUE(workers.warmth(one, 0).is_warm_elsewhere(7));
  EXPECT_TRUE(workers.warmth(other, 0).is_warm_elsewhere(8));
  workers.remove(one.id);
  EXPECT_FALSE(workers.warmth(other, 0).is_warm_elsewhere(8)) << "the worker that had it warm is gone";
  workers.set_devices(other, other.devices);
  EXPECT_FALSE(workers.warmth(other, 0).own.has_value());
}

TEST(WorkerPool, an_id_is_never_used_twice) {
  WorkerPool workers;
  const SessionId first = workers.insert("peer", hello("host:7", 5), 1000).id;
  workers.remove(first);
  EXPECT_NE(workers.insert("peer", hello("host:7", 5), 1000).id, first);
}

TEST(WorkerPool, knows_which_workers_are_connected) {
  WorkerPool workers;
  const SessionId id = workers.insert("peer", hello("host:7", 5), 1000).id;
  EXPECT_TRUE(workers.is_connected("host:7"));
  EXPECT_FALSE(workers.is_connected("host"));
  EXPECT_FALSE(workers.is_connected("host:8"));
  workers.remove(id);
  EXPECT_FALSE(workers.is_connected("host:7"));
}

TEST(WorkerPool, leases_and_unknown_leases_use_up_credit) {
  WorkerPool workers;
  Session& session = workers.insert("peer", hello("host:7", 5), 1000);
  EXPECT_EQ(session.free_credit(), 2u);
  session.leases = {1};
  EXPECT_EQ(session.free_credit(), 1u);
  session.unknown_lease_count = 5;
  EXPECT_EQ(session.free_credit(), 0u);
}

TEST(WorkerPool, finds_the_sessions_with_free_credit_in_the_order_of_their_arrival) {
  WorkerPool workers;
  Session& one = workers.insert("one", hello("host:1", 1), 1000);
  Session& other = workers.insert("other", hello("host:2", 2), 1000);
  EXPECT_EQ(workers.with_free_credit(), (std::vector<Session*>{&one, &other}));
  one.leases = {1, 2};
  EXPECT_EQ(workers.with_free_credit(), std::vector<Session*>{&other});
  one.leases = {1};
  workers.credit_may_have_grown(one);
  EXPECT_EQ(workers.with_free_credit(), (std::vector<Session*>{&one, &other}));
  workers.remove(one.id);
  EXPECT_EQ(workers.with_free_credit(), std::vector<Session*>{&other});
}

TEST(WorkerPool, serves_a_lane_if_any_device_of_any_session_does) {
  WorkerPool workers;
  EXPECT_FALSE(workers.serves({}));
  workers.insert("peer", hello("host:7", 5), 1000);
  EXPECT_TRUE(workers.serves({}));
  EXPECT_FALSE(workers.serves({DeviceWish::cuda, ""}));
}

}  // namespace
}  // namespace kq::broker
