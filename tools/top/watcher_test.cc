#include "tools/top/watcher.h"

#include <gtest/gtest.h>

#include "tools/ctl/scripted_world.h"

namespace kq::tools {
namespace {

// Answers every question of a look; a broker without runs.
void answer_all(ScriptedWorld& kq) {
  kq.on<BrokerQuery>([](const BrokerQuery&) { return BrokerReply{.version = "7", .workers = {}}; });
  kq.on<QueueQuery>([](const QueueQuery&) { return QueueReply{}; });
  kq.on<RunsQuery>([](const RunsQuery&) { return RunsReply{}; });
  kq.on<StatsQuery>([](const StatsQuery&) { return StatsReply{}; });
}

void wait_for_looks(const Watcher& watcher, std::uint64_t count) {
  while (watcher.look_count() < count) std::this_thread::yield();
}

TEST(Watcher, looks_again_and_again) {
  ScriptedWorld kq;
  answer_all(kq);
  Watcher watcher(
      kq.broker.client(), [] { return 1'000; }, 1);
  wait_for_looks(watcher, 3);
  const Snapshot snapshot = watcher.snapshot();
  ASSERT_NE(snapshot.facts, nullptr);
  EXPECT_EQ(snapshot.facts->version, "7");
  EXPECT_FALSE(snapshot.error);
  EXPECT_EQ(snapshot.silent_ms, 0);
}

TEST(Watcher, a_broker_that_does_not_answer_is_silent_since_its_last_answer) {
  ScriptedWorld kq;  // answers nothing, and the client's clock advances while it waits
  std::atomic<std::int64_t> now_ms = 1'000;
  Watcher watcher(
      kq.broker.client(), [&] { return now_ms.load(); }, 1);
  wait_for_looks(watcher, 1);
  now_ms = 13'000;
  const Snapshot snapshot = watcher.snapshot();
  EXPECT_EQ(snapshot.facts, nullptr);
  EXPECT_EQ(snapshot.silent_ms, 12'000);
}

TEST(Watcher, a_refusal_is_an_error_and_no_silence) {
  ScriptedWorld kq;
  kq.on<StatsQuery>([](const StatsQuery&) { return Refused{"the key is revoked"}; });
  Watcher watcher(
      kq.broker.client(), [] { return 1'000; }, 1);
  wait_for_looks(watcher, 1);
  EXPECT_EQ(watcher.snapshot().error.value().kind, ErrorKind::bad_input);
  EXPECT_EQ(watcher.snapshot().silent_ms, 0);
}

TEST(Watcher, ends_while_it_is_paused) {
  ScriptedWorld kq;
  answer_all(kq);
  Watcher watcher(
      kq.broker.client(), [] { return 1'000; }, 1);
  watcher.pause(true);
  watcher.pause(true);
  wait_for_looks(watcher, 1);
}

}  // namespace
}  // namespace kq::tools
