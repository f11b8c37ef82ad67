#include "broker/broker.h"

#include <gtest/gtest.h>

#include "broker/script/script.h"
#include "store/keys.h"
#include "store/memory_store.h"

namespace kq::broker {
namespace {

std::optional<std::int64_t> wake_of(Broker& broker, store::MemoryStore& store, std::int64_t now_ms) {
  Ready ready;
  for (Event event : {Event(Tick{}), Event(Dispatch{})}) ready.merge(*broker.step(std::move(event), now_ms));
  const auto wake_at_ms = ready.wake_at_ms();
  EXPECT_TRUE(commit(std::move(ready), store));
  return wake_at_ms;
}

TEST(Broker, an_idle_broker_does_not_wake) {
  store::MemoryStore store;
  auto broker = Broker::recover(store, {}, 1000);
  EXPECT_EQ(wake_of(*broker, store, 1000), std::nullopt);
}

TEST(Broker, wakes_when_the_next_lease_lapses) {
  store::MemoryStore store;
  Script(store).run("submit jobs=a");
  auto broker = Broker::recover(store, {}, 1000);
  Hello hello{
      .worker = "w", .epoch = 1, .devices = {DeviceInfo{}}, .credit = 1, .evaluator = std::string(kEvaluatorVersion)};
  hello.devices[0].model = "cpu";
  ASSERT_TRUE(broker->step(FromWorker{"w", {1, hello}}, 1000));
  EXPECT_EQ(wake_of(*broker, store, 2000),
            1000 + 30'000);  // the silent session ends before the lease that was just granted
  ASSERT_TRUE(broker->step(FromWorker{"w", {1, Heartbeat{1, {}}}}, 3000));
  // The turn at that time finds that the session was heard meanwhile, and waits for the lease.
  EXPECT_EQ(wake_of(*broker, store, 3000), 1000 + 30'000);
  EXPECT_EQ(wake_of(*broker, store, 1000 + 30'000), 2000 + 30'000);
}

TEST(Broker, sequences_continue_even_if_the_counter_is_lost) {
  store::MemoryStore store;
  Script(store).run("submit jobs=a,b");
  const store::Write write{store::Family::meta, std::string(store::kNextSequenceKey), std::nullopt};
  ASSERT_TRUE(store.commit(std::span(&write, 1)));
  EXPECT_EQ(Broker::recover(store, {}, 1000)->state().next_sequence, 3u);
}

TEST(Broker, refuses_to_start_from_a_damaged_index) {
  store::MemoryStore store;
  const store::Write write{store::Family::queue, store::queue_key({}, 1), "damaged"};
  ASSERT_TRUE(store.commit(std::span(&write, 1)));
  const auto broker = Broker::recover(store, {}, 1000);
  ASSERT_FALSE(broker);
  EXPECT_EQ(broker.error().kind, ErrorKind::our_fault);
}

}  // namespace
}  // namespace kq::broker
