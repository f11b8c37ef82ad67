#include "store/boards.h"

#include <algorithm>
#include <functional>
#include <tuple>
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
    const std::optional<LeaderboardRow> before = row;
    if (!row) row = run;
    add_runs(*row, run);
    put(Family::kernel, kernel, *row);

    const std::string board = board_key(run.problem_hash, run.device_model);
    KQ_TRY_VALUE(const auto first, find(Family::board, board));
    if (first && !may_change_first_place(before, *row, *first)) return {};
    KQ_TRY_VALUE(const auto best, first ? first_place(*row) : Expected<LeaderboardRow>(*row));
    put(Family::board, board, best);
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

  // A new kernel takes the first place from a kernel that it beats, or as the earlier one of two equal kernels. A rerun
  // that has changed the figure of a kernel may also give the place to a third kernel, unless the holder beats the
  // kernel before and after: then the holder beats all that the kernel beats.
  static bool may_change_first_place(const std::optional<LeaderboardRow>& before, const LeaderboardRow& row,
                                     const LeaderboardRow& holder) {
    if (before) return *before != row && !(is_better(holder, *before) && is_better(holder, row));
    const bool is_earlier = std::tie(row.finished_at_ms, row.seq) < std::tie(holder.finished_at_ms, holder.seq);
    return is_better(row, holder) || (is_earlier && !is_better(holder, row));
  }

  // Returns the row in the first place of a kernel's board, as core/leaderboard.h ranks its kernels.
  Expected<LeaderboardRow> first_place(const LeaderboardRow& row) {
    std::vector<LeaderboardRow> unbeaten{row};
    const auto see = [&](const LeaderboardRow& other) {
      if (other.device_model == row.device_model && other.kernel_hash != row.kernel_hash && !is_better(row, other))
        unbeaten.push_back(other);
    };
    const std::string prefix(as_bytes(row.problem_hash));
    Expected<void> readable;
    KQ_TRY(store_.scan(Family::kernel, prefix, "", [&](std::string_view key, std::string_view value) {
      if (!key.starts_with(prefix)) return false;
      if (pending_.contains({Family::kernel, std::string(key)})) return true;
      const auto other = read_row(Family::kernel, value);
      if (other) see(*other);
      if (!other) readable = failure(other.error());
      return readable.has_value();
    }));
    if (!readable) return failure(readable.error());
    for (auto place = pending_.lower_bound({Family::kernel, prefix});
         place != pending_.end() && place->first.first == Family::kernel && place->first.second.starts_with(prefix);
         ++place) {
      if (place->second) see(*place->second);
    }
    // The board is one whatever names its problem had.
    std::vector<LeaderboardRow> same_name = unbeaten;
    for (LeaderboardRow& other : same_name) other.problem = row.problem;
    const Hash first = best_of(same_name).front().kernel_hash;
    return *std::ranges::find(unbeaten, first, &LeaderboardRow::kernel_hash);
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
