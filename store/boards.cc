#include "store/boards.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>
#include <vector>

#include "core/codec/codec.h"
#include "store/keys.h"

namespace kq::store {
namespace {

constexpr std::size_t kHashBytes = sizeof(Hash::bytes);

Expected<LeaderboardRow> read_row(Family family, std::string_view bytes) {
  auto row = decode<LeaderboardRow>(bytes);
  if (!row) return our_fault("store, family '" + std::string(to_string(family)) + "': " + row.error().message);
  return row;
}

// Returns the key of a kernel's board: the hash of the board, and the device model that follows the kernel's hash.
std::string board_of(std::string_view kernel) {
  return std::string(kernel.substr(0, kHashBytes)).append(kernel.substr(2 * kHashBytes));
}

// A kernel as it is compared.
struct Kernel {
  std::int64_t finished_at_ms;
  Sequence seq;
  std::string key;
  Figure figure;

  static Kernel of(std::string_view key, const LeaderboardRow& row) {
    return {.finished_at_ms = row.finished_at_ms, .seq = row.seq, .key = std::string(key), .figure = figure_of(row)};
  }
};

class Boards {
 public:
  Boards(const Store& store, PendingBoards& pending, const WriteRow& write)
      : store_(store), pending_(pending), write_(write) {}

  Expected<void> add(const LeaderboardRow& run) {
    const std::string kernel = kernel_key(run.problem_hash, run.kernel_hash, run.device_model);
    const std::string board = board_key(run.problem_hash, run.device_model);
    KQ_TRY_VALUE(auto row, find(Family::kernel, kernel));
    KQ_TRY_VALUE(BoardKernels * kernels, kernels_of(board));
    const std::optional<LeaderboardRow> before = row;
    if (!row) {
      row = run;
      ++kernels->count;
    }
    add_runs(*row, run);
    put(Family::kernel, kernel, *row);

    KQ_TRY_VALUE(const auto first, find(Family::board, board));
    if (!first) {
      put(Family::board, board, *row);
      if (kernels->count == 1) kernels->nearest_lead = 0;
      return {};
    }
    if (!before && is_earlier(*first, *row)) {
      add_new(board, *kernels, *row, *first);
      return {};
    }
    if (is_place_safe(before, *row, *first, kernels->count)) {
      see_lead(*kernels, *row, *first);
      return {};
    }
    return give_place(board, *kernels);
  }

  Expected<void> remove(const std::vector<std::string>& keys) {
    std::set<std::string> boards;
    for (const std::string& key : keys) {
      const std::string board = board_of(key);
      KQ_TRY_VALUE(BoardKernels * kernels, kernels_of(board));
      KQ_TRY_VALUE(const auto row, find(Family::kernel, key));
      if (!row) continue;
      --kernels->count;
      pending_.rows.insert_or_assign({Family::kernel, key}, std::nullopt);
      write_(Family::kernel, key, std::nullopt);
      boards.insert(board);
    }
    for (const std::string& board : boards) {
      KQ_TRY_VALUE(BoardKernels * kernels, kernels_of(board));
      if (kernels->nearest_lead && *kernels->nearest_lead <= noise_factor(kernels->count)) continue;
      KQ_TRY(give_place(board, *kernels));
    }
    return {};
  }

 private:
  Expected<std::optional<LeaderboardRow>> find(Family family, const std::string& key) {
    if (const auto place = pending_.rows.find({family, key}); place != pending_.rows.end()) return place->second;
    KQ_TRY_VALUE(const auto bytes, store_.get(family, key));
    if (!bytes) return std::optional<LeaderboardRow>();
    KQ_TRY_VALUE(auto row, read_row(family, *bytes));
    pending_.rows.insert_or_assign({family, key}, row);
    return std::optional(std::move(row));
  }

  void put(Family family, const std::string& key, const LeaderboardRow& row) {
    write_(family, key, encode(row));
    pending_.rows.insert_or_assign({family, key}, row);
  }

  // Returns what is known of the kernels of a board, and counts them where that is nothing.
  Expected<BoardKernels*> kernels_of(const std::string& board) {
    if (const auto place = pending_.boards.find(board); place != pending_.boards.end()) return &place->second;
    std::size_t count = 0;
    const auto see = [&](std::string_view, std::string_view) {
      ++count;
      return Expected<void>();
    };
    KQ_TRY(each_kernel(board, see, [&](std::string_view, const LeaderboardRow&) { ++count; }));
    return &pending_.boards.emplace(board, BoardKernels{.count = count}).first->second;
  }

  // Calls `stored` with the key and the value of each kernel of a board in the store, and `pending` with the key and
  // the row of each kernel in memory. No kernel is visited twice.
  Expected<void> each_kernel(const std::string& board,
                             const std::function<Expected<void>(std::string_view, std::string_view)>& stored,
                             const std::function<void(std::string_view, const LeaderboardRow&)>& pending) {
    const std::string prefix = board.substr(0, kHashBytes);
    Expected<void> readable;
    KQ_TRY(store_.scan(Family::kernel, prefix, "", [&](std::string_view key, std::string_view value) {
      if (!key.starts_with(prefix)) return false;
      if (board_of(key) == board && !pending_.rows.contains({Family::kernel, std::string(key)}))
        readable = stored(key, value);
      return readable.has_value();
    }));
    if (!readable) return readable;
    for (auto place = pending_.rows.lower_bound({Family::kernel, prefix});
         place != pending_.rows.end() && place->first.first == Family::kernel &&
         place->first.second.starts_with(prefix);
         ++place) {
      if (place->second && board_of(place->first.second) == board) pending(place->first.second, *place->second);
    }
    return {};
  }

  // Gives the place to a new kernel if it is faster than the holder beyond the noise.
  void add_new(const std::string& board, BoardKernels& kernels, const LeaderboardRow& row,
               const LeaderboardRow& holder) {
    if (!is_better(row, holder, kernels.count)) return see_lead(kernels, row, holder);
    put(Family::board, board, row);
    kernels.nearest_lead.reset();
  }

  static void see_lead(BoardKernels& kernels, const LeaderboardRow& row, const LeaderboardRow& holder) {
    if (kernels.nearest_lead)
      kernels.nearest_lead = std::max(*kernels.nearest_lead, lead(figure_of(row), figure_of(holder)));
  }

  // Returns whether the holder keeps the place whatever the other kernels are: where it is faster than this kernel
  // beyond the noise, and was so before the kernel's last run. Then it is faster than all that the kernel is faster
  // than.
  static bool is_place_safe(const std::optional<LeaderboardRow>& before, const LeaderboardRow& row,
                            const LeaderboardRow& holder, std::size_t count) {
    if (before && *before == row) return true;
    return is_better(holder, row, count) && (!before || is_better(holder, *before, count));
  }

  // Reads all kernels of a board, and gives the place to the one that holders() names.
  Expected<void> give_place(const std::string& board, BoardKernels& known) {
    std::vector<Kernel> kernels;
    const auto see = [&](std::string_view key, std::string_view value) -> Expected<void> {
      KQ_TRY_VALUE(const auto row, read_row(Family::kernel, value));
      kernels.push_back(Kernel::of(key, row));
      return {};
    };
    KQ_TRY(each_kernel(
        board, see, [&](std::string_view key, const LeaderboardRow& row) { kernels.push_back(Kernel::of(key, row)); }));
    if (kernels.empty()) return {};
    std::ranges::sort(kernels, [](const Kernel& a, const Kernel& b) {
      return std::tie(a.finished_at_ms, a.seq) < std::tie(b.finished_at_ms, b.seq);
    });
    std::vector<Figure> figures;
    for (const Kernel& kernel : kernels) figures.push_back(kernel.figure);
    const std::size_t holder = holders(figures).back();
    double nearest = 0;
    for (const Figure& figure : figures) nearest = std::max(nearest, lead(figure, figures[holder]));
    known = {.count = kernels.size(), .nearest_lead = nearest};
    KQ_TRY_VALUE(const auto row, find(Family::kernel, kernels[holder].key));
    KQ_TRY_VALUE(const auto first, find(Family::board, board));
    if (row != first) put(Family::board, board, *row);
    return {};
  }

  const Store& store_;
  PendingBoards& pending_;
  const WriteRow& write_;
};

}  // namespace

void PendingBoards::shrink(std::size_t rows_max, std::size_t boards_max) {
  if (rows.size() > rows_max) rows.clear();
  if (boards.size() > boards_max) boards.clear();
}

Expected<void> add_to_boards(const Store& store, PendingBoards& pending, const LeaderboardRow& row,
                             const WriteRow& write) {
  return Boards(store, pending, write).add(row);
}

Expected<void> remove_from_boards(const Store& store, PendingBoards& pending, const std::vector<std::string>& keys,
                                  const WriteRow& write) {
  return Boards(store, pending, write).remove(keys);
}

Expected<std::map<std::string, std::size_t>> kernel_counts(const Store& store, const Hash& board) {
  std::map<std::string, std::size_t> counts;
  KQ_TRY(store.scan(Family::kernel, as_bytes(board), "", [&](std::string_view key, std::string_view) {
    if (!key.starts_with(as_bytes(board))) return false;
    ++counts[std::string(key.substr(2 * kHashBytes))];
    return true;
  }));
  return counts;
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
