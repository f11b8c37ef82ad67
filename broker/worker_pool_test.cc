#include "broker/worker_pool.h"

#include <gtest/gtest.h>

namespace kq {
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

TEST(WorkerPool, an_id_is_never_used_twice) {
  WorkerPool workers;
  const SessionId first = workers.insert("peer", hello("host:7", 5), 1000).id;
  workers.remove(first);
  EXPECT_NE(workers.insert("peer", hello("host:7", 5), 1000).id, first);
}

TEST(WorkerPool, leases_and_strays_use_up_credit) {
  WorkerPool workers;
  Session& session = workers.insert("peer", hello("host:7", 5), 1000);
  EXPECT_EQ(session.free_credit(), 2u);
  session.leases = {1};
  EXPECT_EQ(session.free_credit(), 1u);
  session.strays_n = 5;
  EXPECT_EQ(session.free_credit(), 0u);
}

TEST(WorkerPool, serves_a_lane_if_any_device_of_any_session_does) {
  WorkerPool workers;
  EXPECT_FALSE(workers.serves({}));
  workers.insert("peer", hello("host:7", 5), 1000);
  EXPECT_TRUE(workers.serves({}));
  EXPECT_FALSE(workers.serves({DeviceWish::cuda, ""}));
}

}  // namespace
}  // namespace kq
