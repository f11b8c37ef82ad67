#include "broker/jobs/read_ahead.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "broker/jobs/lifecycle.h"
#include "core/codec/codec.h"

namespace kq::broker {
namespace {

// Reads the first jobs of the lane that are not in memory.
Expected<std::vector<Job>> read_jobs(Step& step, const store::LaneId& lane, std::size_t jobs_max) {
  std::vector<std::string> keys;
  for (const Sequence seq : step.state.queue.scheduler().find(lane)->front(jobs_max)) {
    if (step.state.queue.jobs().find(seq) == nullptr) keys.push_back(store::sequence_key(seq));
  }
  KQ_TRY_VALUE(const auto records, step.state.store->get_many(store::Family::state, keys));
  KQ_TRY_VALUE(const auto bodies, step.state.store->get_many(store::Family::body, keys));
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!records[i]) continue;
    auto record = decode<JobRecord>(*records[i]);
    // A damaged job is skipped here; leasing it reports the damage.
    if (!record || record->state != JobState::queued || store::sequence_key(record->seq) != keys[i]) continue;
    Job job{.record = std::move(*record), .lane = lane};
    if (auto body = bodies[i] ? decode<Submission>(*bodies[i]) : bad_input("none"); body) {
      job.submission = std::make_shared<const Submission>(std::move(*body));
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Expected<void> read_files(Step& step, const std::vector<Job>& jobs) {
  std::set<Hash> wanted;
  const auto want = [&](const Hash& hash) {
    if (!step.state.blobs.has(hash)) wanted.insert(hash);
  };
  for (const Job& job : jobs) {
    if (!job.submission) continue;
    want(job.submission->problem.hash);
    for (const SourceFile& file : job.submission->files) want(file.hash);
  }
  return step.state.blobs.read(*step.state.store, {wanted.begin(), wanted.end()});
}

}  // namespace

Expected<void> read_ahead(Step& step, const store::LaneId& lane, std::size_t jobs_max) {
  KQ_TRY_VALUE(auto jobs, read_jobs(step, lane, jobs_max));
  KQ_TRY(read_files(step, jobs));
  for (Job& job : jobs) cache_job(step, std::move(job));
  return {};
}

}  // namespace kq::broker
