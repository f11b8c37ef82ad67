#include "tests/sim/index.h"

#include <set>

#include "store/keys.h"
#include "tests/sim/job_text.h"

namespace kq::sim {
namespace {

using IndexError = std::optional<std::string>;

// Exactly the unfinished jobs that are not delayed must have an entry, and only one.
IndexError validate_queue(const std::map<Sequence, JobRecord>& jobs, const store::Store& disk) {
  IndexError error;
  std::set<Sequence> indexed;
  (void)disk.scan(store::Family::queue, "", "", [&](std::string_view key, std::string_view value) {
    const auto place = store::queue_place_from(key);
    const auto entry = store::queue_entry_from(value);
    const auto job = place ? jobs.find(place->seq) : jobs.end();
    if (!entry || job == jobs.end()) {
      error = "an entry of the queue's index cannot be read or names no job";
    } else if (!indexed.insert(place->seq).second) {
      error = text_of(place->seq) + " is twice in the queue's index";
    } else if (job->second.state == JobState::finished || is_delayed(job->second)) {
      error = text_of(place->seq) + " is in the queue's index although it is finished or delayed";
    } else if (entry->leased != (job->second.state == JobState::leased) ||
               place->lane.priority != job->second.priority || entry->bytes != job->second.bytes ||
               entry->submitted_at_ms != job->second.submitted_at_ms) {
      error = "the entry of " + text_of(place->seq) + " in the queue's index differs from its record";
    }
    return !error;
  });
  for (const auto& [seq, job] : jobs) {
    if (error || job.state == JobState::finished || is_delayed(job) || indexed.contains(seq)) continue;
    error = text_of(seq) + " is unfinished but not in the queue's index";
  }
  return error;
}

// Every delayed job must have a timer for its start, and every queued job with a deadline that was never leased one for
// its deadline. A timer of a deadline may remain after the deadline has lost its effect.
IndexError validate_timers(const std::map<Sequence, JobRecord>& jobs, const store::Store& disk) {
  IndexError error;
  std::set<Sequence> timed;
  std::set<Sequence> expiring;
  (void)disk.scan(store::Family::timer, "", "", [&](std::string_view key, std::string_view value) {
    const auto place = store::timer_place_from(key);
    const auto job = place ? jobs.find(place->seq) : jobs.end();
    if (job == jobs.end()) {
      error = "a timer cannot be read or names no job";
    } else if (place->kind == store::TimerKind::expires) {
      if (job->second.deadline_ms == place->at_ms) expiring.insert(place->seq);
    } else if (!store::timer_value_from(value) || !is_delayed(job->second) ||
               job->second.not_before_ms != place->at_ms) {
      error = "a timer of " + text_of(place->seq) + " differs from its record";
    } else {
      timed.insert(place->seq);
    }
    return !error;
  });
  for (const auto& [seq, job] : jobs) {
    if (error) return error;
    if (is_delayed(job) && !timed.contains(seq)) error = text_of(seq) + " is delayed but has no timer";
    if (job.state == JobState::queued && job.leased_at_ms == 0 && job.deadline_ms != 0 && !expiring.contains(seq)) {
      error = text_of(seq) + " has a deadline but no timer";
    }
  }
  return error;
}

IndexError validate_dead(const std::map<Sequence, JobRecord>& jobs, const store::Store& disk,
                         const std::function<bool(Sequence)>& is_dead) {
  std::set<Sequence> dead;
  (void)disk.scan(store::Family::dead, "", "", [&](std::string_view key, std::string_view) {
    dead.insert(store::sequence_from(key).value_or(0));
    return true;
  });
  for (const auto& [seq, job] : jobs) {
    if (is_dead(seq) != dead.contains(seq)) {
      return text_of(seq) +
             (dead.contains(seq) ? " is among the dead letters but must not be" : " is not among the dead letters");
    }
  }
  return std::nullopt;
}

}  // namespace

bool is_permanent(store::Family family) {
  switch (family) {
    case store::Family::state:
    case store::Family::ids:
    case store::Family::body:
    case store::Family::result:
    case store::Family::samples:
    case store::Family::blob:
    case store::Family::run:
    case store::Family::board:
    case store::Family::kernel:
    case store::Family::reuse:
      return true;
    case store::Family::meta:
    case store::Family::queue:
    case store::Family::timer:
    case store::Family::dead:
    case store::Family::object:
    case store::Family::sender:
    case store::Family::owner:
      return false;
  }
  return true;
}

std::optional<std::string> validate_indexes(const std::map<Sequence, JobRecord>& jobs, const store::Store& disk,
                                            const std::function<bool(Sequence)>& is_dead) {
  if (auto error = validate_queue(jobs, disk)) return error;
  if (auto error = validate_timers(jobs, disk)) return error;
  return validate_dead(jobs, disk, is_dead);
}

}  // namespace kq::sim
