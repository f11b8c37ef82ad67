#include "tools/report/boards/board_history.h"

#include <algorithm>
#include <tuple>

namespace kq::tools {
namespace {

constexpr std::size_t kSlugNameBytesMax = 60;

// Returns the kernels that had the first place, in the order of time. Each one counts with the figure that it has now,
// from its first job on: what a kernel won by luck and lost by reruns was no record.
std::vector<Standing> records(const std::vector<Standing>& entries) {
  std::vector<const Standing*> in_time;
  for (const Standing& entry : entries) in_time.push_back(&entry);
  std::ranges::sort(in_time, [](const Standing* a, const Standing* b) { return is_earlier(a->row, b->row); });
  std::vector<Figure> figures;
  for (const Standing* one : in_time) figures.push_back(figure_of(one->row));
  std::vector<Standing> found;
  for (const std::size_t place : holders(figures)) found.push_back(*in_time[place]);
  return found;
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

std::string Board::slug() const {
  const std::string identity =
      to_hex(sha256(problem + '\n' + to_hex(problem_hash) + '\n' + device_model + '\n' + baseline));
  return plain_name(problem) + "." + plain_name(device_model) + "." + identity.substr(0, 8);
}

std::vector<Board> BoardCollector::finish() const {
  std::vector<Board> boards;
  for (Standing& standing : standings_.finish()) {
    if (boards.empty() || !is_same_board(boards.back().entries.front(), standing))
      boards.push_back({.problem = standing.row.problem,
                        .problem_hash = standing.row.problem_hash,
                        .device_model = standing.row.device_model,
                        .baseline = std::string(to_string(standing.row.baseline))});
    boards.back().entries.push_back(std::move(standing));
  }
  for (Board& board : boards) {
    board.entry_count = board.entries.size();
    board.history = records(board.entries);
    if (board.entries.size() > kBoardEntriesMax) board.entries.resize(kBoardEntriesMax);
  }
  return boards;
}

}  // namespace kq::tools
