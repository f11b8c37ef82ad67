#include "tools/report/boards/board_history.h"
#include "tools/cli/natural_order.h"

#include <algorithm>

namespace kq::tools {
namespace {

constexpr std::size_t kSlugNameBytesMax = 60;

// Keeps the entries that were a record when they finished.
std::vector<BoardEntry> records(std::vector<BoardEntry> entries) {
  std::stable_sort(entries.begin(), entries.end(), [](const BoardEntry& a, const BoardEntry& b) {
    return std::tuple(a.row.finished_at_ms, a.row.seq) < std::tuple(b.row.finished_at_ms, b.row.seq);
  });
  std::vector<BoardEntry> found;
  for (BoardEntry& entry : entries) {
    if (found.empty() || is_better(entry.row, found.back().row)) found.push_back(std::move(entry));
  }
  return found;
}

bool is_before(const BoardEntry& a, const BoardEntry& b) {
  return std::tuple(a.row.median_ns, a.row.finished_at_ms, a.row.seq) <
         std::tuple(b.row.median_ns, b.row.finished_at_ms, b.row.seq);
}

// Entries share the rank of the fastest entry of their group as long as they are tied with it.
void give_ranks(std::vector<BoardEntry>& entries) {
  std::size_t first = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i > 0 && !is_tied(entries[first], entries[i])) first = i;
    entries[i].rank = first + 1;
  }
}

std::string plain_name(const std::string& name) {
  std::string plain;
  for (const char c : name.substr(0, kSlugNameBytesMax)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_plain)
      plain += c;
    else if (!plain.empty() && plain.back() != '-')
      plain += '-';
  }
  if (plain.ends_with('-')) plain.pop_back();
  return plain.empty() ? "board" : plain;
}

}  // namespace

bool is_tied(const BoardEntry& a, const BoardEntry& b) {
  return !is_better(a.row, b.row) && !is_better(b.row, a.row);
}

std::string Board::slug() const {
  const std::string identity =
      to_hex(sha256(problem + '\n' + to_hex(problem_hash) + '\n' + device_model + '\n' + baseline));
  return plain_name(problem) + "." + plain_name(device_model) + "." + identity.substr(0, 8);
}

void BoardCollector::add(const RunRow& row) {
  if (!row.result || !seen_.insert(row.job.seq).second) return;
  const Submission& submission = row.entry.submission;
  auto ranked = board_row(submission, *row.result, row.job.seq, row.job.finished_at_ms);
  if (!ranked) return;
  BoardEntry entry{
      .row = std::move(*ranked), .run = row.run, .baseline = std::string(to_string(submission.trials.baseline))};
  entry.row.submitter = row.entry.submitter.empty() ? row.job.submitter : row.entry.submitter;
  const Measurement* measurement = measurement_of(row.result->verdict);
  entry.is_self_reported = measurement != nullptr && measurement->method == kSelfReported;
  if (entry.row.noise_ns > 0 && entry.row.median_ns > 0)
    entry.noise_pct = 100 * entry.row.noise_ns / entry.row.median_ns;
  Entries& entries = boards_[Key{entry.row.problem, entry.row.device_model, entry.baseline, entry.row.problem_hash}];
  ++entries.count;
  entries.all_in_time.push_back(entry);
  entries.fastest.push_back(std::move(entry));
  // Both lists stay bounded, whatever the number of jobs.
  if (entries.fastest.size() >= 2 * kBoardEntriesMax) {
    std::sort(entries.fastest.begin(), entries.fastest.end(), is_before);
    entries.fastest.resize(kBoardEntriesMax);
  }
  if (entries.all_in_time.size() >= 2 * kBoardEntriesMax) entries.all_in_time = records(std::move(entries.all_in_time));
}

std::vector<Board> BoardCollector::finish() {
  std::vector<Board> boards;
  for (auto& [key, entries] : boards_) {
    Board& board = boards.emplace_back();
    board.problem = std::get<0>(key);
    board.device_model = std::get<1>(key);
    board.baseline = std::get<2>(key);
    board.problem_hash = std::get<3>(key);
    board.entry_count = entries.count;
    board.history = records(std::move(entries.all_in_time));
    board.entries = std::move(entries.fastest);
    std::sort(board.entries.begin(), board.entries.end(), is_before);
    if (board.entries.size() > kBoardEntriesMax) board.entries.resize(kBoardEntriesMax);
    give_ranks(board.entries);
  }
  std::stable_sort(boards.begin(), boards.end(),
                   [](const Board& a, const Board& b) { return natural_order(a.problem, b.problem) < 0; });
  return boards;
}

}  // namespace kq::tools
