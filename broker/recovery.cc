#include "broker/recovery.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "broker/jobs/prebuild.h"
#include "core/codec/codec.h"
#include "store/keys.h"
#include "store/reader.h"

namespace kq::broker {

// Reads the store once and fills a State.
class Recovery {
 public:
  Recovery(const store::Store& store, const BrokerOptions& options, std::int64_t now_ms)
      : state_{.options = options, .store = &store}, store_(store), now_ms_(now_ms) {}

  Expected<State> run() {
    for (const auto part : {&Recovery::names, &Recovery::queue, &Recovery::timers, &Recovery::leases,
                            &Recovery::switches, &Recovery::sequence}) {
      KQ_TRY((this->*part)());
    }
    KQ_TRY(recover_builds(state_));
    drop_unused_names();
    return std::move(state_);
  }

 private:
  QueueTables& tables() { return state_.queue.tables(Queue::WriterKey()); }

  // Visits the keys of family meta that begin with `prefix`.
  Expected<void> scan_meta(std::string_view prefix,
                           const std::function<Expected<void>(std::string_view key, std::string_view value)>& take) {
    Expected<void> done;
    const auto visit = [&](std::string_view key, std::string_view value) {
      done = take(key, value);
      return done.has_value();
    };
    std::string end(prefix);
    end.back() = static_cast<char>(end.back() + 1);
    KQ_TRY(store_.scan(store::Family::meta, prefix, end, visit));
    return done;
  }

  Expected<void> names() {
    auto classes = scan_meta(store::kClassPrefix, [&](std::string_view key, std::string_view value) -> Expected<void> {
      const auto number = store::number_from(store::kClassPrefix, key);
      auto needs = decode<Requirements>(value);
      if (!number || !needs) return our_fault("store, family 'meta': a class of jobs is unreadable");
      known_classes_.restore(*number, *needs);
      return {};
    });
    if (!classes) return classes;
    return scan_meta(store::kSubmitterPrefix, [&](std::string_view key, std::string_view value) -> Expected<void> {
      const auto number = store::number_from(store::kSubmitterPrefix, key);
      if (!number) return our_fault("store, family 'meta': a submitter is unreadable");
      known_submitters_.restore(*number, std::string(value));
      return {};
    });
  }

  // Gives the scheduler the names of the lane. They must be known before a job enters the lane.
  Expected<void> name_lane(const store::LaneId& lane) {
    if (last_named_ == lane) return {};
    const Requirements* needs = known_classes_.name(lane.needs);
    const std::string* submitter = known_submitters_.name(lane.submitter);
    if (needs == nullptr || submitter == nullptr)
      return our_fault("store, family 'queue': a lane has no name in family 'meta'");
    Scheduler& scheduler = tables().scheduler;
    if (scheduler.classes.name(lane.needs) == nullptr) scheduler.classes.restore(lane.needs, *needs);
    if (scheduler.submitters.name(lane.submitter) == nullptr) scheduler.submitters.restore(lane.submitter, *submitter);
    last_named_ = lane;
    return {};
  }

  Expected<void> queue() {
    Expected<void> done;
    const auto visit = [&](std::string_view key, std::string_view value) {
      const auto place = store::queue_place_from(key);
      const auto entry = store::queue_entry_from(value);
      if (!place || !entry) {
        done = our_fault("store, family 'queue': an entry is unreadable");
        return false;
      }
      done = name_lane(place->lane);
      if (!done) return false;
      newest_ = std::max(newest_, place->seq);
      tables().accounts.add(place->lane, entry->bytes);
      if (entry->leased) {
        leased_.push_back(*place);
      } else {
        tables().scheduler.restore(
            place->lane, {.seq = place->seq, .problem = entry->problem, .submitted_at_ms = entry->submitted_at_ms});
      }
      return true;
    };
    KQ_TRY(store_.scan(store::Family::queue, "", "", visit));
    return done;
  }

  Expected<void> timers() {
    Expected<void> done;
    const auto visit = [&](std::string_view key, std::string_view value) {
      const auto place = store::timer_place_from(key);
      if (!place) {
        done = our_fault("store, family 'timer': a key is not a time and a sequence");
        return false;
      }
      tables().timers.restore(*place, key);
      if (place->kind == store::TimerKind::may_run) done = waiting_job(place->seq, value);
      return done.has_value();
    };
    KQ_TRY(store_.scan(store::Family::timer, "", "", visit));
    return done;
  }

  // Counts a queued job that waits for its time. `value` is the value of its timer.
  Expected<void> waiting_job(Sequence seq, std::string_view value) {
    const auto entry = store::timer_value_from(value);
    if (!entry) return our_fault("store, family 'timer': a value is not an entry of a lane");
    KQ_TRY(name_lane(entry->first));
    newest_ = std::max(newest_, seq);
    tables().accounts.add(entry->first, entry->second.bytes);
    return {};
  }

  Expected<void> leases() {
    for (const store::QueuePlace& place : leased_) {
      KQ_TRY_VALUE(auto record, store::read_job(store_, place.seq));
      if (!record || record->state != JobState::leased) {
        return our_fault("store: job " + std::to_string(place.seq) +
                         " is leased in family 'queue' and not in family 'state'");
      }
      tables().jobs.insert({.record = std::move(*record),
                            .lane = place.lane,
                            .lease = ActiveLease{.worker = "",
                                                 .device = {},
                                                 .deadline_ms = now_ms_ + state_.options.lease_ms,
                                                 .lapse_is_failure = false}});
    }
    return {};
  }

  Expected<void> switches() {
    auto paused = scan_meta(store::kPausedPrefix, [&](std::string_view key, std::string_view) -> Expected<void> {
      const std::string name(key.substr(store::kPausedPrefix.size()));
      state_.switches.paused.insert(name);
      if (name.empty()) return {};  // "" pauses everybody, not the submitter without a name
      if (const auto number = tables().scheduler.submitters.find(name)) tables().scheduler.pause(*number, true);
      return {};
    });
    if (!paused) return paused;
    return scan_meta(store::kDrainingPrefix, [&](std::string_view key, std::string_view) -> Expected<void> {
      state_.switches.draining.emplace(key.substr(store::kDrainingPrefix.size()), 0);
      return {};
    });
  }

  Expected<void> sequence() {
    KQ_TRY_VALUE(const auto bytes, store_.get(store::Family::meta, store::kNextSequenceKey));
    if (bytes) {
      const auto seq = store::sequence_from(*bytes);
      if (!seq) return our_fault("store, family 'meta', next_sequence: 8 bytes of a sequence were expected");
      state_.next_sequence = *seq;
    }
    state_.next_sequence = std::max(state_.next_sequence, newest_ + 1);
    KQ_TRY_VALUE(const auto from, store_.get(store::Family::meta, store::kRetainedFromKey));
    if (from) {
      const auto seq = store::sequence_from(*from);
      if (!seq) return our_fault("store, family 'meta', retained_from: 8 bytes of a sequence were expected");
      state_.retention.begin_at(*seq, now_ms_);
    }
    return {};
  }

  // The next numbers are above all that were ever given, even if their names are dropped.
  void drop_unused_names() {
    known_classes_.each([&](std::uint32_t number, const Requirements&) {
      if (tables().scheduler.classes.name(number) == nullptr)
        state_.unused_names.push_back(store::numbered_key(store::kClassPrefix, number));
    });
    known_submitters_.each([&](std::uint32_t number, const std::string&) {
      if (tables().scheduler.submitters.name(number) == nullptr)
        state_.unused_names.push_back(store::numbered_key(store::kSubmitterPrefix, number));
    });
    tables().scheduler.classes.skip_to(known_classes_.next());
    tables().scheduler.submitters.skip_to(known_submitters_.next());
  }

  State state_;
  const store::Store& store_;
  const std::int64_t now_ms_;
  Numbering<Requirements> known_classes_;
  Numbering<std::string> known_submitters_;
  std::optional<store::LaneId> last_named_;
  std::vector<store::QueuePlace> leased_;
  Sequence newest_ = 0;
};

Expected<State> recover_state(const store::Store& store, const BrokerOptions& options, std::int64_t now_ms) {
  return Recovery(store, options, now_ms).run();
}

void delete_unused_names(Step& step) {
  for (std::string& key : std::exchange(step.state.unused_names, {}))
    step.ready.erase(store::Family::meta, std::move(key));
}

}  // namespace kq::broker
