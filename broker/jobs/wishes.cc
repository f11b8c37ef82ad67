#include "broker/jobs/wishes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/check.h"
#include "core/limits.h"

namespace kq::broker {

std::vector<std::string> submitters_of(const JobRecord& job) {
  std::vector<std::string> names{job.submitter};
  names.insert(names.end(), job.also_for.begin(), job.also_for.end());
  return names;
}

bool is_for(const JobRecord& job, const std::string& submitter) {
  return job.submitter == submitter || std::ranges::find(job.also_for, submitter) != job.also_for.end();
}

bool is_for_too_many(const JobRecord& job) {
  return job.also_for.size() >= kJobSubmittersMax;
}

void add_submitter(JobRecord& job, const std::string& submitter) {
  if (!is_for(job, submitter) && !is_for_too_many(job)) job.also_for.push_back(submitter);
}

void charge_to(JobRecord& job, const std::string& submitter) {
  if (job.submitter == submitter) return;
  const auto place = std::ranges::find(job.also_for, submitter);
  KQ_CHECK(place != job.also_for.end());
  if (job.first_submitter.empty()) job.first_submitter = job.submitter;
  *place = std::exchange(job.submitter, submitter);
  if (job.first_submitter == job.submitter) job.first_submitter.clear();
}

void remove_submitters(JobRecord& job, const std::vector<std::string>& names) {
  const auto is_removed = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
  if (is_removed(job.submitter)) {
    const auto next = std::ranges::find_if_not(job.also_for, is_removed);
    KQ_CHECK(next != job.also_for.end());
    charge_to(job, std::string(*next));
  }
  std::erase_if(job.also_for, is_removed);
}

JobRecord widened(JobRecord record, const Submission& again, std::int64_t now_ms) {
  record.priority = std::max(record.priority, again.priority);
  std::vector<std::string> common;
  std::ranges::set_intersection(record.needs.labels, again.labels, std::back_inserter(common));
  record.needs.labels = std::move(common);
  if (record.state != JobState::queued) return record;  // a job that has begun waits for no time any more
  // A pause after a failure of kq is not the submitter's wish, so a submission does not shorten it.
  if (record.failures == 0)
    record.not_before_ms = again.not_before_ms <= now_ms ? 0 : std::min(record.not_before_ms, again.not_before_ms);
  const bool is_due = record.deadline_ms != 0 && record.deadline_ms <= now_ms;  // its timer is about to end the job
  if (!is_due && record.deadline_ms != 0)
    record.deadline_ms = again.deadline_ms == 0 ? 0 : std::max(record.deadline_ms, again.deadline_ms);
  return record;
}

}  // namespace kq::broker
