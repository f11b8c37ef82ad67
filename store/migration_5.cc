#include "store/migration_5.h"

#include <utility>

#include "core/base/own_share.h"
#include "core/codec/codec.h"
#include "core/leaderboard.h"
#include "core/records.h"
#include "store/boards.h"
#include "store/keys.h"
#include "store/reader.h"

namespace kq::store {
namespace {

// A place is this letter and the key of the last job that is done.
constexpr char kJobs = 'j';

// Rows of an older kq may stand under keys that no board has any more.
Expected<void> remove_boards(const Store& store, std::vector<Write>& writes) {
  return store.scan(Family::board, "", "", [&](std::string_view key, std::string_view) {
    writes.push_back({Family::board, std::string(key), std::nullopt});
    return true;
  });
}

Expected<void> add_job(const Store& store, const std::string& value, PendingBoards& pending,
                       std::vector<Write>& writes) {
  const auto job = decode<JobRecord>(value);
  if (!job) return our_fault("store, family 'state': " + job.error().message);
  if (job->state != JobState::finished) return {};
  KQ_TRY_VALUE(const auto submission, read_body(store, job->seq));
  KQ_TRY_VALUE(const auto result, read_result(store, job->seq, false));
  if (!submission || !result) return {};
  auto row = board_row(*submission, *result, job->seq, job->finished_at_ms);
  if (!row) return {};
  row->submitter = submitter_behind(first_submitter_of(*job), job->run);
  return add_to_boards(store, pending, *row, [&](Family family, std::string key, std::optional<std::string> bytes) {
    writes.push_back({family, std::move(key), std::move(bytes)});
  });
}

}  // namespace

Expected<std::string> migrate_4_to_5(const Store& store, const std::string& place, std::size_t records,
                                     std::vector<Write>& writes) {
  if (place.empty()) {
    KQ_TRY(remove_boards(store, writes));
    return std::string(1, kJobs);
  }
  const std::string first = place.size() == 1 ? "" : place.substr(1) + '\0';
  std::vector<std::pair<std::string, std::string>> jobs;
  bool more = false;
  KQ_TRY(store.scan(Family::state, first, "", [&](std::string_view key, std::string_view value) {
    more = jobs.size() == records;
    if (!more) jobs.emplace_back(key, value);
    return !more;
  }));
  PendingBoards pending;
  for (const auto& [key, value] : jobs) {
    KQ_TRY(add_job(store, value, pending, writes));
  }
  return more ? kJobs + jobs.back().first : std::string();
}

}  // namespace kq::store
