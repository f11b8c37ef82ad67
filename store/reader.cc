#include "store/reader.h"

#include <algorithm>
#include <utility>

#include "core/codec.h"
#include "core/limits.h"
#include "store/keys.h"

namespace kq {
namespace {

// What cannot be read back was broken by us or by the disk: never the fault of whoever asks.
tl::unexpected<Error> damaged(Family family, std::string_view what, const std::string& why) {
  return our_fault("store, family '" + std::string(to_string(family)) + "', " + std::string(what) + ": " + why);
}

std::string job_text(Sequence seq) {
  return "job " + std::to_string(seq);
}

template <class T>
Expected<std::optional<T>> read_record(const Store& store, Family family, Sequence seq) {
  auto bytes = store.get(family, sequence_key(seq));
  if (!bytes) return failure(std::move(bytes.error()));
  if (!*bytes) return std::nullopt;
  auto record = decode<T>(**bytes);
  if (!record) return damaged(family, job_text(seq), record.error().message);
  return std::optional<T>(std::move(*record));
}

// The keys after `key`: no key lies between a key and the same key with a NUL appended.
std::string first_after(std::string key) {
  key += '\0';
  return key;
}

// Joins a run's entry with its job, and with its result once that is final.
Expected<RunRow> read_row(const Store& store, const std::string& run, RunEntry entry, bool with_samples) {
  const Sequence seq = entry.seq;
  auto job = read_job(store, seq);
  if (!job) return failure(std::move(job.error()));
  if (!*job) return damaged(Family::run, "run '" + run + "'", job_text(seq) + " has no record in family 'state'");
  RunRow row{.run = run, .entry = std::move(entry), .job = std::move(**job), .result = std::nullopt};
  if (is_as_first_submitted(row.entry)) {
    auto body = read_body(store, seq);
    if (!body) return failure(std::move(body.error()));
    if (!*body) return damaged(Family::run, "run '" + run + "'", job_text(seq) + " has no submission in family 'body'");
    row.entry.submission = std::move(**body);
  }
  if (row.job.state != JobState::finished) return row;
  auto result = read_result(store, seq, with_samples);
  if (!result) return failure(std::move(result.error()));
  if (!*result) return damaged(Family::result, job_text(seq), "the job is finished and has no result");
  row.result = std::move(**result);
  return row;
}

struct Page {
  std::vector<std::pair<std::string, std::string>> items;  // key and value
  bool more = false;
};

// At most min(limit, kQueryRowsMax) items of [first, end), and whether there are more.
Expected<Page> read_page(const Store& store, Family family, std::string_view first, std::string_view end,
                         std::size_t limit) {
  const std::size_t items_max = std::min(limit, kQueryRowsMax);
  Page page;
  auto scanned = store.scan(family, first, end, [&](std::string_view key, std::string_view value) {
    page.more = page.items.size() == items_max;
    if (!page.more) page.items.emplace_back(key, value);
    return !page.more;
  });
  if (!scanned) return failure(std::move(scanned.error()));
  return page;
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
  if (!with_samples) (*result)->samples = {};
  if (!with_samples || (*result)->samples != Samples{}) return result;
  auto samples = read_record<Samples>(store, Family::samples, seq);
  if (!samples) return failure(std::move(samples.error()));
  if (*samples) (*result)->samples = std::move(**samples);
  return result;
}

Expected<std::optional<Sequence>> find_key(const Store& store, const Hash& key) {
  auto bytes = store.get(Family::ids, hash_key(key));
  if (!bytes) return failure(std::move(bytes.error()));
  if (!*bytes) return std::nullopt;
  const auto seq = sequence_from(**bytes);
  if (!seq) return damaged(Family::ids, "key " + to_hex(key), "8 bytes of a sequence were expected");
  return seq;
}

Expected<RunReply> read_run(const Store& store, const RunQuery& query) {
  const std::string first =
      query.after_label.empty() ? run_prefix(query.run) : first_after(run_key(query.run, query.after_label));
  auto page = read_page(store, Family::run, first, run_prefix_end(query.run), query.limit);
  if (!page) return failure(std::move(page.error()));
  RunReply reply;
  reply.more = page->more;
  for (const auto& [key, value] : page->items) {
    auto entry = decode<RunEntry>(value);
    if (!entry) return damaged(Family::run, "run '" + query.run + "'", entry.error().message);
    auto row = read_row(store, query.run, std::move(*entry), query.with_samples);
    if (!row) return failure(std::move(row.error()));
    reply.rows.push_back(std::move(*row));
  }
  return reply;
}

Expected<BoardReply> read_board(const Store& store, const BoardQuery& query) {
  const std::string first = query.after_key.empty() ? "" : first_after(query.after_key);
  auto page = read_page(store, Family::board, first, "", query.limit);
  if (!page) return failure(std::move(page.error()));
  BoardReply reply;
  reply.more = page->more;
  for (auto& [key, value] : page->items) {
    auto row = decode<LeaderboardRow>(value);
    if (!row) return damaged(Family::board, "a row", row.error().message);
    reply.rows.push_back(std::move(*row));
    reply.last_key = std::move(key);
  }
  return reply;
}

}  // namespace kq
