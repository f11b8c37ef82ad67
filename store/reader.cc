#include "store/reader.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "core/blob.h"
#include "core/codec/codec.h"
#include "core/limits.h"
#include "store/keys.h"

namespace kq::store {
namespace {

constexpr std::size_t kWalkedPerValueMax = 4;  // keys

// Returns an our_fault error: a record that cannot be read was damaged by kq or by the disk, never by the client.
tl::unexpected<Error> damaged(Family family, std::string_view what, const std::string& why) {
  return our_fault("store, family '" + std::string(to_string(family)) + "', " + std::string(what) + ": " + why);
}

std::string job_text(Sequence seq) {
  return "job " + std::to_string(seq);
}

template <class T>
Expected<std::optional<T>> read_record(const Store& store, Family family, Sequence seq) {
  KQ_TRY_VALUE(auto bytes, store.get(family, sequence_key(seq)));
  if (!bytes) return std::nullopt;
  auto record = decode<T>(*bytes);
  if (!record) return damaged(family, job_text(seq), record.error().message);
  return std::optional<T>(std::move(*record));
}

// Returns the first key after `key`: no key lies between a key and the same key with a NUL appended.
std::string first_after(std::string key) {
  key += '\0';
  return key;
}

// Calls `visit` with the index in `seqs`, which must ascend, and the value of each key that exists. The jobs of a run
// mostly have adjacent sequences: a scan over them, and past a few others, costs a third of separate lookups.
Expected<void> each_value(const Store& store, Family family, const std::vector<Sequence>& seqs,
                          const std::function<void(std::size_t i, std::string_view value)>& visit) {
  if (seqs.empty()) return {};
  if ((seqs.back() - seqs.front()) / kWalkedPerValueMax < seqs.size()) {
    std::size_t i = 0;
    return store.scan(family, sequence_key(seqs.front()), first_after(sequence_key(seqs.back())),
                      [&](std::string_view key, std::string_view value) {
                        const auto seq = sequence_from(key);
                        while (i < seqs.size() && seqs[i] < seq) ++i;
                        for (; i < seqs.size() && seqs[i] == seq; ++i) visit(i, value);
                        return true;
                      });
  }
  std::vector<std::string> keys;
  keys.reserve(seqs.size());
  for (const Sequence seq : seqs) keys.push_back(sequence_key(seq));
  KQ_TRY_VALUE(const auto values, store.get_many(family, keys));
  for (std::size_t i = 0; i < seqs.size(); ++i) {
    if (values[i]) visit(i, *values[i]);
  }
  return {};
}

// A job's sequence and the place for its record.
template <class T>
struct Wanted {
  Sequence seq = 0;
  T* place = nullptr;
};

// Reads the records of many jobs into their places. Returns the first job that has no record, if there is one.
template <class T>
Expected<std::optional<Sequence>> read_records(const Store& store, Family family, std::vector<Wanted<T>> wanted) {
  std::ranges::sort(wanted, {}, &Wanted<T>::seq);
  std::vector<Sequence> seqs;
  for (const Wanted<T>& one : wanted) seqs.push_back(one.seq);
  Expected<void> put;
  std::vector<bool> found(seqs.size());
  const auto visited = each_value(store, family, seqs, [&](std::size_t i, std::string_view value) {
    auto record = decode<T>(value);
    if (!record) {
      if (put) put = damaged(family, job_text(seqs[i]), record.error().message);
      return;
    }
    *wanted[i].place = std::move(*record);
    found[i] = true;
  });
  if (!visited) return failure(visited.error());
  if (!put) return failure(put.error());
  const auto missing = std::ranges::find(found, false);
  return missing == found.end() ? std::nullopt : std::optional(seqs[static_cast<std::size_t>(missing - found.begin())]);
}

// Joins a run's entries with their jobs, those as first submitted with that submission, and those of finished jobs with
// their results. Reads one family after the other instead of row by row, because the keys of a page are close together.
Expected<void> fill_rows(const Store& store, const std::string& run, std::vector<RunRow>& rows) {
  const auto lacks = [&run](Sequence seq, const char* what) {
    return damaged(Family::run, "run '" + run + "'", job_text(seq) + what);
  };
  std::vector<Wanted<JobRecord>> jobs;
  std::vector<Wanted<Submission>> bodies;
  for (RunRow& row : rows) {
    jobs.push_back({row.entry.seq, &row.job});
    if (is_as_first_submitted(row.entry)) bodies.push_back({row.entry.seq, &row.entry.submission});
  }
  auto missing = read_records(store, Family::state, std::move(jobs));
  if (!missing) return failure(missing.error());
  if (*missing) return lacks(**missing, " has no record in family 'state'");
  for (RunRow& row : rows) {
    if (is_as_first_submitted(row.entry)) row.entry.submitter = first_submitter_of(row.job);
  }
  // A row whose submission is lost keeps its label: the broker ends such a job as `abandoned`, and the rest of the run
  // stays readable.
  missing = read_records(store, Family::body, std::move(bodies));
  if (!missing) return failure(missing.error());
  std::vector<Wanted<Result>> results;
  for (RunRow& row : rows) {
    if (row.job.state == JobState::finished) results.push_back({row.entry.seq, &row.result.emplace()});
  }
  missing = read_records(store, Family::result, std::move(results));
  if (!missing) return failure(missing.error());
  if (*missing) return damaged(Family::result, job_text(**missing), "the job is finished and has no result");
  return {};
}

// Adds the samples of family `samples` to a result that was stored without them. Removes the samples of the result if
// the caller did not ask for them.
Expected<void> settle_samples(const Store& store, Sequence seq, bool with_samples, Result& result) {
  if (!with_samples) result.samples = {};
  if (!with_samples || result.samples != Samples{}) return {};
  KQ_TRY_VALUE(auto samples, read_record<Samples>(store, Family::samples, seq));
  if (samples) result.samples = std::move(*samples);
  return {};
}

// Adds the jobs of the row's kernel that were submitted for the run, too: a forced rerun has taken over their row, or
// they have another one.
Expected<void> add_reruns(const Store& store, RunRow& row) {
  const auto own = board_row(row.entry.submission, *row.result, row.entry.seq, row.job.finished_at_ms);
  if (!own) return {};
  KQ_TRY_VALUE(const auto bytes,
               store.get(Family::kernel, kernel_key(own->problem_hash, own->kernel_hash, own->device_model)));
  if (!bytes) return {};
  const auto kernel = decode<LeaderboardRow>(*bytes);
  if (!kernel) return damaged(Family::kernel, job_text(row.entry.seq), kernel.error().message);
  const std::string key = run_key(row.run, row.entry.submission.label);
  for (const KernelRun& run : kernel->runs) {
    if (run.seq == row.entry.seq) continue;
    KQ_TRY_VALUE(const auto job, read_job(store, run.seq));
    KQ_TRY_VALUE(const auto reused, store.get(Family::reuse, reuse_key(run.seq, key)));
    if ((job && job->run == row.run) || reused) row.reruns.push_back(run);
  }
  return {};
}

struct Page {
  std::vector<std::pair<std::string, std::string>> items;  // key and value
  bool more = false;
};

// Returns at most min(limit, kQueryRowsMax) items of [first, end), and whether there are more.
Expected<Page> read_page(const Store& store, Family family, std::string_view first, std::string_view end,
                         std::size_t limit) {
  const std::size_t items_max = std::min(limit, kQueryRowsMax);
  Page page;
  KQ_TRY(store.scan(family, first, end, [&](std::string_view key, std::string_view value) {
    page.more = page.items.size() == items_max;
    if (!page.more) page.items.emplace_back(key, value);
    return !page.more;
  }));
  return page;
}

// Returns the time at which a run was submitted: that of its entry, if the entry reuses a job, else that of the job.
Expected<std::int64_t> read_submitted_at_ms(const Store& store, const std::string& key, const RunEntry& entry,
                                            const JobRecord& job) {
  if (is_as_first_submitted(entry)) return job.submitted_at_ms;
  KQ_TRY_VALUE(const auto reused, store.get(Family::reuse, reuse_key(entry.seq, key)));
  return (reused ? reused_at_ms_from(*reused) : std::nullopt).value_or(job.submitted_at_ms);
}

}  // namespace

Expected<std::optional<JobRecord>> read_job(const Store& store, Sequence seq) {
  return read_record<JobRecord>(store, Family::state, seq);
}

Expected<std::optional<Submission>> read_body(const Store& store, Sequence seq) {
  return read_record<Submission>(store, Family::body, seq);
}

Expected<std::optional<Result>> read_result(const Store& store, Sequence seq, bool with_samples) {
  auto result = read_record<Result>(store, Family::result, seq);
  if (!result || !*result) return result;
  KQ_TRY(settle_samples(store, seq, with_samples, **result));
  return result;
}

Expected<std::optional<Sequence>> find_key(const Store& store, const Hash& key) {
  KQ_TRY_VALUE(auto bytes, store.get(Family::ids, hash_key(key)));
  if (!bytes) return std::nullopt;
  const auto seq = sequence_from(*bytes);
  if (!seq) return damaged(Family::ids, "key " + to_hex(key), "8 bytes of a sequence were expected");
  return seq;
}

Expected<std::optional<RunOwner>> read_owner(const Store& store, std::string_view run) {
  KQ_TRY_VALUE(const auto bytes, store.get(Family::owner, run));
  if (bytes) {
    auto owner = decode<RunOwner>(*bytes);
    if (!owner) return damaged(Family::owner, "run '" + std::string(run) + "'", owner.error().message);
    return std::optional(std::move(*owner));
  }
  KQ_TRY_VALUE(const auto page, read_page(store, Family::run, run_prefix(run), run_prefix_end(run), 1));
  if (page.items.empty()) return std::nullopt;
  const auto entry = decode<RunEntry>(page.items.front().second);
  if (!entry) return damaged(Family::run, "run '" + std::string(run) + "'", entry.error().message);
  if (!entry->submitter.empty()) return RunOwner{.owner = entry->submitter};
  KQ_TRY_VALUE(const auto job, read_job(store, entry->seq));
  return RunOwner{.owner = job ? first_submitter_of(*job) : ""};
}

Expected<std::optional<RunEntry>> read_entry(const Store& store, std::string_view run, std::string_view label) {
  KQ_TRY_VALUE(const auto bytes, store.get(Family::run, run_key(run, label)));
  if (!bytes) return std::nullopt;
  auto entry = decode<RunEntry>(*bytes);
  if (!entry) return damaged(Family::run, "run '" + std::string(run) + "'", entry.error().message);
  if (!is_as_first_submitted(*entry)) return std::optional(std::move(*entry));
  KQ_TRY_VALUE(const auto job, read_job(store, entry->seq));
  if (job) entry->submitter = first_submitter_of(*job);
  KQ_TRY_VALUE(auto body, read_body(store, entry->seq));
  if (body) entry->submission = std::move(*body);
  return std::optional(std::move(*entry));
}

Expected<std::optional<std::string>> read_file(const Store& store, const Hash& hash) {
  for (const Packing packing : {Packing::raw, Packing::lz4, Packing::zstd}) {
    KQ_TRY_VALUE(auto bytes, store.get(Family::blob, blob_key(hash, packing)));
    if (!bytes) continue;
    Decompressor decompressor;
    auto content = content_of(decompressor, {.hash = hash, .bytes = std::move(*bytes), .packing = packing});
    if (!content) return damaged(Family::blob, "file " + to_hex(hash), content.error().message);
    return std::optional(std::move(*content));
  }
  return std::nullopt;
}

Expected<RunReply> read_run(const Store& store, const RunQuery& query) {
  const std::string first =
      query.after_label.empty() ? run_prefix(query.run) : first_after(run_key(query.run, query.after_label));
  KQ_TRY_VALUE(auto page, read_page(store, Family::run, first, run_prefix_end(query.run), query.limit));
  RunReply reply;
  reply.more = page.more;
  reply.rows.resize(page.items.size());
  for (std::size_t i = 0; i < page.items.size(); ++i) {
    auto entry = decode<RunEntry>(page.items[i].second);
    if (!entry) return damaged(Family::run, "run '" + query.run + "'", entry.error().message);
    reply.rows[i].run = query.run;
    reply.rows[i].entry = std::move(*entry);
  }
  KQ_TRY(fill_rows(store, query.run, reply.rows));
  for (std::size_t i = 0; i < reply.rows.size(); ++i) {
    RunEntry& entry = reply.rows[i].entry;
    if (is_as_first_submitted(entry)) entry.submission.label = page.items[i].first.substr(run_prefix(query.run).size());
  }
  for (RunRow& row : reply.rows) {
    if (!row.result) continue;
    KQ_TRY(settle_samples(store, row.entry.seq, query.with_samples, *row.result));
    if (query.with_reruns) KQ_TRY(add_reruns(store, row));
  }
  return reply;
}

// Seeks from the first job of one run to the first job of the next: one seek per run, however many jobs it has.
Expected<RunsReply> read_runs(const Store& store, const RunsQuery& query) {
  const std::size_t runs_max = std::min<std::size_t>(query.limit, kQueryRowsMax);
  RunsReply reply;
  std::string first = query.after.empty() ? "" : run_prefix_end(query.after);
  for (;;) {
    KQ_TRY_VALUE(const auto page, read_page(store, Family::run, first, "", 1));
    if (page.items.empty()) return reply;
    reply.more = reply.runs.size() == runs_max;
    if (reply.more) return reply;
    const auto& [key, value] = page.items.front();
    KnownRun known{.run = key.substr(0, key.find('\0')), .submitter = {}, .submitted_at_ms = 0};
    const auto entry = decode<RunEntry>(value);
    if (!entry) return damaged(Family::run, "run '" + known.run + "'", entry.error().message);
    KQ_TRY_VALUE(const auto job, read_job(store, entry->seq));
    if (!job)
      return damaged(Family::run, "run '" + known.run + "'",
                     "job " + std::to_string(entry->seq) + " has no record in family 'state'");
    KQ_TRY_VALUE(const auto owner, read_owner(store, known.run));
    known.submitter = owner ? owner->owner : "";
    KQ_TRY_VALUE(known.submitted_at_ms, read_submitted_at_ms(store, key, *entry, *job));
    first = run_prefix_end(known.run);
    reply.runs.push_back(std::move(known));
  }
}

Expected<BoardReply> read_board(const Store& store, const BoardQuery& query) {
  const std::string first = query.after_key.empty() ? "" : first_after(query.after_key);
  KQ_TRY_VALUE(auto page, read_page(store, Family::board, first, "", query.limit));
  BoardReply reply;
  reply.more = page.more;
  for (auto& [key, value] : page.items) {
    auto row = decode<LeaderboardRow>(value);
    if (!row) return damaged(Family::board, "a row", row.error().message);
    reply.rows.push_back(std::move(*row));
    reply.last_key = std::move(key);
  }
  return reply;
}

}  // namespace kq::store
