#include "broker/tables/job_table.h"

#include "core/base/check.h"

namespace kq::broker {

Job* JobTable::find(Sequence seq) {
  const auto place = jobs_.find(seq);
  return place == jobs_.end() ? nullptr : &place->second;
}

const Job* JobTable::find(Sequence seq) const {
  const auto place = jobs_.find(seq);
  return place == jobs_.end() ? nullptr : &place->second;
}

const Job* JobTable::find(const Hash& key) const {
  const auto place = by_key_.find(key);
  return place == by_key_.end() ? nullptr : find(place->second);
}

Job& JobTable::insert(Job job) {
  const Sequence seq = job.record.seq;
  KQ_CHECK(job.record.state != JobState::finished);
  KQ_CHECK((job.record.state == JobState::leased) == job.lease.has_value());
  KQ_CHECK(by_key_.emplace(job.record.key, seq).second);
  const auto [place, is_new] = jobs_.emplace(seq, std::move(job));
  KQ_CHECK(is_new);
  if (place->second.lease) {
    deadlines_.emplace(place->second.lease->deadline_ms, seq);
  } else {
    ++queued_count_;
    touched_.push_back(seq);
  }
  return place->second;
}

void JobTable::start_lease(Job& job, ActiveLease lease) {
  enter(job, JobEvent::lease);
  deadlines_.emplace(lease.deadline_ms, job.record.seq);
  job.lease = std::move(lease);
}

void JobTable::requeue(Job& job) {
  enter(job, JobEvent::requeue);
  touched_.push_back(job.record.seq);
}

void JobTable::finish(Job& job, Ending ending) {
  enter(job, JobEvent::finish);
  job.ending = ending;
  touched_.push_back(job.record.seq);
}

void JobTable::revive(Job& job) {
  enter(job, JobEvent::revive);
  job.ending.reset();
}

void JobTable::renew(Job& job, std::int64_t deadline_ms) {
  KQ_CHECK(job.lease.has_value());
  deadlines_.erase({job.lease->deadline_ms, job.record.seq});
  job.lease->deadline_ms = deadline_ms;
  deadlines_.emplace(deadline_ms, job.record.seq);
}

void JobTable::extend_all(std::int64_t ms) {
  std::set<std::pair<std::int64_t, Sequence>> later;
  for (const auto& [deadline_ms, seq] : deadlines_) {
    find(seq)->lease->deadline_ms += ms;
    later.emplace_hint(later.end(), deadline_ms + ms, seq);
  }
  deadlines_ = std::move(later);
}

std::optional<std::int64_t> JobTable::next_deadline_ms() const {
  if (deadlines_.empty()) return std::nullopt;
  return deadlines_.begin()->first;
}

std::vector<Sequence> JobTable::lapsed(std::int64_t now_ms) const {
  std::vector<Sequence> seqs;
  for (const auto& [deadline_ms, seq] : deadlines_) {
    if (deadline_ms > now_ms) break;
    seqs.push_back(seq);
  }
  return seqs;
}

void JobTable::shrink(std::size_t queued_jobs_cached_max) {
  for (auto seq = touched_.rbegin(); seq != touched_.rend(); ++seq) {
    const Job* job = find(*seq);
    if (job == nullptr) continue;  // the job is in touched_ twice
    const bool finished = job->record.state == JobState::finished;
    const bool queued_too_many = job->record.state == JobState::queued && queued_count_ > queued_jobs_cached_max;
    if (finished || queued_too_many) drop(*seq);
  }
  touched_.clear();
}

void JobTable::drop(Sequence seq) {
  const auto place = jobs_.find(seq);
  if (place->second.record.state == JobState::queued) --queued_count_;
  by_key_.erase(place->second.record.key);
  jobs_.erase(place);
}

// Changes the state and the indexes of the table. The change must be in the table of core/job.h.
void JobTable::enter(Job& job, JobEvent event) {
  const auto next = after(job.record.state, event);
  KQ_CHECK(next.has_value());
  if (job.record.state == JobState::queued) --queued_count_;
  if (job.lease) {
    deadlines_.erase({job.lease->deadline_ms, job.record.seq});
    job.lease.reset();
  }
  job.record.state = *next;
  if (*next == JobState::queued) ++queued_count_;
}

}  // namespace kq::broker
