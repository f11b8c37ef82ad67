#include "tests/sim/index.h"

#include <set>

#include "store/keys.h"

namespace kq::sim {
namespace {

using Wrong = std::optional<std::string>;

std::string text_of(Sequence seq) {
  return "job " + std::to_string(seq);
}

bool waits(const JobRecord& job) {
  return job.state == JobState::queued && job.not_before_ms != 0;
}

// Every job that is unfinished and need not wait has one entry, and nobody else has.
Wrong complaint_about_queue(const std::map<Sequence, JobRecord>& jobs, const store::Store& disk) {
  Wrong wrong;
  std::set<Sequence> indexed;
  (void)disk.scan(store::Family::queue, "", "", [&](std::string_view key, std::string_view value) {
    const auto place = store::queue_place_from(key);
    const auto entry = store::queue_entry_from(value);
    const auto job = place ? jobs.find(place->seq) : jobs.end();
    if (!entry || job == jobs.end()) {
      wrong = "an entry of the queue is unreadable, or of no job";
    } else if (!indexed.insert(place->seq).second) {
      wrong = text_of(place->seq) + " stands twice in the queue's index";
    } else if (job->second.state == JobState::finished || waits(job->second)) {
      wrong = text_of(place->seq) + " stands in the queue's index and is finished or waits";
    } else if (entry->leased != (job->second.state == JobState::leased) ||
               place->lane.priority != job->second.priority || entry->bytes != job->second.bytes ||
               entry->submitted_at_ms != job->second.submitted_at_ms) {
      wrong = "the queue's index says other things of " + text_of(place->seq) + " than its record";
    }
    return !wrong;
  });
  for (const auto& [seq, job] : jobs) {
    if (wrong || job.state == JobState::finished || waits(job) || indexed.contains(seq)) continue;
    wrong = text_of(seq) + " is unfinished and not in the queue's index";
  }
  return wrong;
}

// Every job that waits has its time there. An expiry may outlive its meaning.
Wrong complaint_about_timers(const std::map<Sequence, JobRecord>& jobs, const store::Store& disk) {
  Wrong wrong;
  std::set<Sequence> timed;
  std::set<Sequence> expiring;
  (void)disk.scan(store::Family::timer, "", "", [&](std::string_view key, std::string_view value) {
    const auto place = store::timer_place_from(key);
    const auto job = place ? jobs.find(place->seq) : jobs.end();
    if (job == jobs.end()) {
      wrong = "a timer is unreadable, or of no job";
    } else if (place->kind == store::TimerKind::expires) {
      if (job->second.deadline_ms == place->at_ms) expiring.insert(place->seq);
    } else if (!store::timer_value_from(value) || !waits(job->second) || job->second.not_before_ms != place->at_ms) {
      wrong = "a timer says other things of " + text_of(place->seq) + " than its record";
    } else {
      timed.insert(place->seq);
    }
    return !wrong;
  });
  for (const auto& [seq, job] : jobs) {
    if (wrong) return wrong;
    if (waits(job) && !timed.contains(seq)) wrong = text_of(seq) + " waits and has no timer";
    if (job.state == JobState::queued && job.leased_at_ms == 0 && job.deadline_ms != 0 && !expiring.contains(seq)) {
      wrong = text_of(seq) + " has a deadline and no timer";
    }
  }
  return wrong;
}

Wrong complaint_about_dead(const std::map<Sequence, JobRecord>& jobs, const store::Store& disk,
                           const std::function<bool(Sequence)>& is_dead) {
  std::set<Sequence> dead;
  (void)disk.scan(store::Family::dead, "", "", [&](std::string_view key, std::string_view) {
    dead.insert(store::sequence_from(key).value_or(0));
    return true;
  });
  for (const auto& [seq, job] : jobs) {
    if (is_dead(seq) != dead.contains(seq)) {
      return text_of(seq) +
             (dead.contains(seq) ? " is no dead letter and stands among them" : " is no longer among the dead letters");
    }
  }
  return std::nullopt;
}

}  // namespace

bool is_for_ever(store::Family family) {
  switch (family) {
    case store::Family::state:
    case store::Family::ids:
    case store::Family::body:
    case store::Family::result:
    case store::Family::samples:
    case store::Family::blob:
    case store::Family::run:
    case store::Family::board:
    case store::Family::reuse:
      return true;
    case store::Family::meta:
    case store::Family::queue:
    case store::Family::timer:
    case store::Family::dead:
    case store::Family::object:
      return false;
  }
  return true;
}

std::optional<std::string> complaint_about_indexes(const std::map<Sequence, JobRecord>& jobs, const store::Store& disk,
                                                   const std::function<bool(Sequence)>& is_dead) {
  if (auto wrong = complaint_about_queue(jobs, disk)) return wrong;
  if (auto wrong = complaint_about_timers(jobs, disk)) return wrong;
  return complaint_about_dead(jobs, disk, is_dead);
}

}  // namespace kq::sim
