#include "store/migration_2.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/codec/codec.h"
#include "core/records.h"
#include "store/keys.h"
#include "store/reader.h"

namespace kq::store {
namespace {

// The step migrates every job first, then every label of every run, which tells a job its run. A place is the letter of
// the part and the last key that is done.
constexpr char kJobs = 'j';
constexpr char kRuns = 'r';

constexpr std::uint32_t kRecordBytes = 1'024;  // bytes that count for a job besides its files

tl::unexpected<Error> damaged(Family family, std::string_view what) {
  return our_fault("store, family '" + std::string(to_string(family)) + "': " + std::string(what));
}

struct Page {
  std::vector<std::pair<std::string, std::string>> items;
  bool more = false;
};

Expected<Page> read_page(const Store& store, Family family, const std::string& after, std::size_t items_max) {
  Page page;
  const std::string first = after.empty() ? after : after + '\0';
  KQ_TRY(store.scan(family, first, "", [&](std::string_view key, std::string_view value) {
    page.more = page.items.size() == items_max;
    if (!page.more) page.items.emplace_back(key, value);
    return !page.more;
  }));
  return page;
}

class Slice {
 public:
  Slice(const Store& store, std::vector<Write>& writes) : store_(store), writes_(writes) {}

  Expected<void> load_classes() {
    Expected<void> readable;
    const std::string first(kClassPrefix);
    std::string end = first;
    end.back() += 1;
    auto scanned = store_.scan(Family::meta, first, end, [&](std::string_view key, std::string_view value) {
      const auto number = number_from(kClassPrefix, key);
      auto needs = decode<Requirements>(value);
      if (!number || !needs) readable = damaged(Family::meta, "a class of jobs is unreadable");
      if (readable) classes_.emplace(std::move(*needs), *number);
      return readable.has_value();
    });
    return scanned ? readable : scanned;
  }

  Expected<void> take_job(const std::string& value) {
    auto job = decode<JobRecord>(value);
    if (!job) return damaged(Family::state, job.error().message);
    KQ_TRY_VALUE(const auto submission, read_body(store_, job->seq));
    if (!submission) return damaged(Family::body, "job " + std::to_string(job->seq) + " has none");
    job->needs = requirements_of(*submission);
    job->problem = submission->problem.hash;
    if (job->state == JobState::finished) {
      if (auto listed = list_if_abandoned(*job); !listed) return listed;
    } else {
      KQ_TRY_VALUE(auto bytes, bytes_of(*submission));
      job->bytes = bytes;
      enqueue(*job);
    }
    write(*job);
    return {};
  }

  Expected<void> take_label(const std::string& key, const std::string& value) {
    auto entry = decode<RunEntry>(value);
    if (!entry) return damaged(Family::run, entry.error().message);
    KQ_TRY_VALUE(auto job, read_job(store_, entry->seq));
    if (!job) return damaged(Family::run, "job " + std::to_string(entry->seq) + " has no record in family 'state'");
    job->run = key.substr(0, key.find('\0'));
    write(*job);
    // Schema 1 does not record which label was the first one.
    writes_.push_back({Family::reuse, reuse_key(entry->seq, key), reuse_value(job->submitted_at_ms)});
    return {};
  }

 private:
  void write(const JobRecord& job) { writes_.push_back({Family::state, sequence_key(job.seq), encode(job)}); }

  Expected<std::uint32_t> bytes_of(const Submission& submission) const {
    std::uint32_t bytes = kRecordBytes;
    for (const SourceFile& file : submission.files) {
      KQ_TRY_VALUE(const auto blob, store_.get(Family::blob, hash_key(file.hash)));
      if (blob) bytes += static_cast<std::uint32_t>(blob->size());
    }
    return bytes;
  }

  // A job without failures caused by kq was not abandoned, so its result need not be read.
  Expected<void> list_if_abandoned(const JobRecord& job) {
    if (job.failures == 0) return {};
    KQ_TRY_VALUE(const auto result, read_result(store_, job.seq, false));
    if (result && name_of(result->verdict) == VerdictName::abandoned) {
      writes_.push_back({Family::dead, sequence_key(job.seq), ""});
    }
    return {};
  }

  void enqueue(const JobRecord& job) {
    const auto next = static_cast<std::uint32_t>(classes_.size());  // numbers are assigned from 0 without gaps
    const auto [place, is_new] = classes_.try_emplace(job.needs, next);
    if (is_new) writes_.push_back({Family::meta, numbered_key(kClassPrefix, place->second), encode(job.needs)});
    // Schema 1 records no submitter, so all jobs get the same one.
    writes_.push_back({Family::meta, numbered_key(kSubmitterPrefix, 0), ""});
    QueueEntry entry{.problem = 0,
                     .submitted_at_ms = job.submitted_at_ms,
                     .bytes = job.bytes,
                     .leased = job.state == JobState::leased};
    for (std::size_t i = 0; i < sizeof entry.problem; ++i) entry.problem = entry.problem << 8 | job.problem.bytes[i];
    const LaneId lane{.needs = place->second, .priority = job.priority, .submitter = 0};
    writes_.push_back({Family::queue, queue_key(lane, job.seq), queue_value(entry)});
  }

  const Store& store_;
  std::vector<Write>& writes_;
  std::map<Requirements, std::uint32_t> classes_;
};

}  // namespace

Expected<std::string> migrate_1_to_2(const Store& store, const std::string& place, std::size_t records,
                                     std::vector<Write>& writes) {
  const char part = place.empty() ? kJobs : place.front();
  const std::string after = place.empty() ? "" : place.substr(1);
  KQ_TRY_VALUE(auto page, read_page(store, part == kJobs ? Family::state : Family::run, after, records));
  Slice slice(store, writes);
  KQ_TRY(slice.load_classes());
  for (const auto& [key, value] : page.items) {
    if (auto taken = part == kJobs ? slice.take_job(value) : slice.take_label(key, value); !taken) {
      return failure(std::move(taken.error()));
    }
  }
  if (page.more) return part + page.items.back().first;
  return part == kJobs ? std::string(1, kRuns) : std::string();
}

}  // namespace kq::store
