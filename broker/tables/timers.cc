#include "broker/tables/timers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "broker/core/state.h"
#include "broker/jobs/lifecycle.h"

namespace kq::broker {
namespace {

tl::unexpected<Error> damaged(const char* what) {
  return our_fault(std::string("store, family 'timer': ") + what);
}

Expected<void> fire(Step& step, const store::TimerPlace& place) {
  KQ_TRY_VALUE(auto job, load(step, place.seq));
  if (job == nullptr || job->record.state != JobState::queued) return {};
  if (place.kind == store::TimerKind::may_run) {
    // Another timer of this Tick may have ended its waiting.
    if (job->record.not_before_ms != place.at_ms) return {};
    --step.state.timers.waiting_n;
    come_due(step, *job);
    return {};
  }
  // One that began in time and is queued again goes on.
  if (job->record.deadline_ms != place.at_ms || job->record.leased_at_ms != 0) return {};
  return expire_queued(step, *job);
}

}  // namespace

void set_timer(Step& step, const store::TimerPlace& place, std::string value) {
  Timers& timers = step.state.timers;
  step.ready.write(store::Family::timer, store::timer_key(place), std::move(value));
  timers.next_ms = std::min(place.at_ms, timers.next_ms.value_or(place.at_ms));
  // A clock that went back over a restart may set a timer before the others.
  timers.from = std::min(timers.from, store::timer_key(place));
  if (place.kind == store::TimerKind::may_run) ++timers.waiting_n;
}

void clear_timer(Step& step, const store::TimerPlace& place) {
  step.ready.erase(store::Family::timer, store::timer_key(place));
  if (place.kind == store::TimerKind::may_run) --step.state.timers.waiting_n;
}

Expected<void> fire_timers(Step& step) {
  Timers& timers = step.state.timers;
  if (!timers.next_ms || *timers.next_ms > step.now_ms) return {};
  std::vector<store::TimerPlace> due;
  std::optional<std::int64_t> later_ms;
  bool well_formed = true;
  const auto visit = [&](std::string_view key, std::string_view) {
    const auto place = store::timer_place_from(key);
    well_formed = place.has_value();
    if (!well_formed) return false;
    if (place->at_ms > step.now_ms || due.size() >= step.state.options.timers_per_step_max) {
      later_ms = place->at_ms;
      return false;
    }
    due.push_back(*place);
    return true;
  };
  if (auto scanned = step.state.store->scan(store::Family::timer, timers.from, "", visit); !scanned) return scanned;
  if (!well_formed) return damaged("a key is no time and sequence");
  timers.next_ms = later_ms;
  for (const store::TimerPlace& place : due) {
    timers.from = store::timer_key(place) + '\0';
    step.ready.erase(store::Family::timer, store::timer_key(place));
    if (auto done = fire(step, place); !done) return done;
  }
  return {};
}

Expected<void> recover_timers(
    Timers& timers, const store::Store& store,
    const std::function<Expected<void>(Sequence, const store::LaneId&, const store::QueueEntry&)>& waits) {
  Expected<void> done;
  const auto visit = [&](std::string_view key, std::string_view value) {
    const auto place = store::timer_place_from(key);
    if (!place) {
      done = damaged("a key is no time and sequence");
      return false;
    }
    if (!timers.next_ms) {
      timers.next_ms = place->at_ms;
      timers.from = key;
    }
    if (place->kind == store::TimerKind::expires) return true;
    const auto entry = store::timer_value_from(value);
    done = entry ? waits(place->seq, entry->first, entry->second) : damaged("a value is no entry of a lane");
    if (done) ++timers.waiting_n;
    return done.has_value();
  };
  if (auto scanned = store.scan(store::Family::timer, "", "", visit); !scanned) return scanned;
  return done;
}

}  // namespace kq::broker
