// Jobs that wait for a time: to be queued (not-before, or the pause after a failure), or to expire in the queue. They
// lie in the store's family `timer` alone; RAM knows when the next one is due and how many wait to be queued.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "store/keys.h"
#include "store/store.h"

namespace kq::broker {

struct Job;
struct Step;

struct Timers {
  // Every timer in the store is at or after this key: what is before was deleted, and is never looked at again.
  std::string from;
  std::optional<std::int64_t> next_ms;  // of the earliest; perhaps too early, never too late
  std::uint64_t waiting_n = 0;          // jobs whose time to be queued has not come
};

void set_timer(Step& step, const store::TimerPlace& place, std::string value);
void clear_timer(Step& step, const store::TimerPlace& place);

// Queues the jobs whose time has come, ends those whose deadline has passed before they began. In a Tick before any
// timer is set.
Expected<void> fire_timers(Step& step);

// At a restart: visits what waits, so that it is counted, and finds the earliest.
Expected<void> recover_timers(
    Timers& timers, const store::Store& store,
    const std::function<Expected<void>(Sequence, const store::LaneId&, const store::QueueEntry&)>& waits);

}  // namespace kq::broker
