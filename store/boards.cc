#include "store/boards.h"

#include <functional>
#include <vector>

#include "core/codec/codec.h"
#include "store/keys.h"

namespace kq::store {
namespace {

Expected<LeaderboardRow> read_row(Family family, std::string_view bytes) {
  auto row = decode<LeaderboardRow>(bytes);
  if (!row) return our_fault("store, family '" + std::string(to_string(family)) + "': " + row.error().message);
  return row;
}

class Boards {
 public:
  Boards(const Store& store, PendingBoards& pending, const WriteRow& write)
      : store_(store), pending_(pending), write_(write) {}

  Expected<void> add(const LeaderboardRow& run) {
    const std::string kernel = kernel_key(run.problem_hash, run.kernel_hash, run.device_model);
    KQ_TRY_VALUE(auto row, find(Family::kernel, kernel));
    if (!row) row = run;
    add_runs(*row, run);
    put(Family::kernel, kernel, *row);

    const std::string board = board_key(run.problem_hash, run.device_model);
    KQ_TRY_VALUE(const auto first, find(Family::board, board));
    const bool is_rerun = first && first->kernel_hash == row->kernel_hash;
    if (is_rerun) {
      KQ_TRY_VALUE(const auto best, fastest_if_better(*row));
      put(Family::board, board, best);
    } else if (!first || is_better(*row, *first)) {
      put(Family::board, board, *row);
    }
    return {};
  }

 private:
  Expected<std::optional<LeaderboardRow>> find(Family family, const std::string& key) {
    if (const auto place = pending_.find({family, key}); place != pending_.end()) return place->second;
    KQ_TRY_VALUE(const auto bytes, store_.get(family, key));
    if (!bytes) return std::optional<LeaderboardRow>();
    KQ_TRY_VALUE(auto row, read_row(family, *bytes));
    pending_.insert_or_assign({family, key}, row);
    return std::optional(std::move(row));
  }

  void put(Family family, const std::string& key, const LeaderboardRow& row) {
    write_(family, key, encode(row));
    pending_.insert_or_assign({family, key}, row);
  }

  // Returns the fastest kernel of the board where a kernel is better than `first`, otherwise `first`. A rerun may have
  // made the figure of the first place larger, or its noise smaller.
  Expected<LeaderboardRow> fastest_if_better(const LeaderboardRow& first) {
    std::optional<LeaderboardRow> fastest;
    bool is_beaten = false;
    const auto see = [&](const LeaderboardRow& row) {
      if (row.device_model != first.device_model) return;
      is_beaten = is_beaten || is_better(row, first);
      if (!fastest || row.median_ns < fastest->median_ns) fastest = row;
    };
    const std::string prefix(as_bytes(first.problem_hash));
    Expected<void> readable;
    KQ_TRY(store_.scan(Family::kernel, prefix, "", [&](std::string_view key, std::string_view value) {
      if (!key.starts_with(prefix)) return false;
      if (pending_.contains({Family::kernel, std::string(key)})) return true;
      const auto row = read_row(Family::kernel, value);
      if (row) see(*row);
      if (!row) readable = failure(row.error());
      return readable.has_value();
    }));
    if (!readable) return failure(readable.error());
    for (auto place = pending_.lower_bound({Family::kernel, prefix});
         place != pending_.end() && place->first.first == Family::kernel && place->first.second.starts_with(prefix);
         ++place) {
      if (place->second) see(*place->second);
    }
    return is_beaten ? *fastest : first;
  }

  const Store& store_;
  PendingBoards& pending_;
  const WriteRow& write_;
};

}  // namespace

Expected<void> add_to_boards(const Store& store, PendingBoards& pending, const LeaderboardRow& row,
                             const WriteRow& write) {
  return Boards(store, pending, write).add(row);
}

Expected<std::vector<std::string>> kernels_begun_by(const Store& store, const Hash& board, const Hash& kernel,
                                                    Sequence seq) {
  const std::string prefix = kernel_key(board, kernel, "");
  std::vector<std::string> keys;
  Expected<void> readable;
  KQ_TRY(store.scan(Family::kernel, prefix, "", [&](std::string_view key, std::string_view value) {
    if (!key.starts_with(prefix)) return false;
    const auto row = read_row(Family::kernel, value);
    if (!row) readable = failure(row.error());
    if (row && row->seq == seq) keys.emplace_back(key);
    return readable.has_value();
  }));
  if (!readable) return failure(readable.error());
  return keys;
}

}  // namespace kq::store
