#include "tools/views/user_ranks.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "tools/cli/text.h"
#include "tools/table/columns.h"
#include "tools/table/csv.h"
#include "tools/views/board_formats.h"

namespace kq::tools {
namespace {

constexpr double kNsPerS = 1e9;
constexpr std::string_view kUnknownUser = "-";

// Returns the author of a submission, else its submitter, else kUnknownUser.
std::string user_of(const RunRow& row) {
  const std::string& author = row.entry.submission.author;
  const std::string user = author.empty() ? submitter_in(row) : author;
  return user.empty() ? std::string(kUnknownUser) : user;
}

std::tuple<std::string, std::string, Hash, Hash> key_of(const LeaderboardRow& row) {
  return {row.problem, row.device_model, row.problem_hash, row.kernel_hash};
}

}  // namespace

void UserRanks::add(const RunRow& row) {
  standings_.add(row, user_of(row));
}

void UserRanks::finish() {
  std::map<std::tuple<std::string, std::string, Hash, Hash>, Standing> bests;
  std::vector<LeaderboardRow> rows;
  for (Standing& best : first_of_each_board(standings_.finish(), 1)) {
    // The hash names the user, because users with the same kernel have a rank each.
    best.row.kernel_hash = sha256(best.value);
    rows.push_back(best.row);
    bests.emplace(key_of(best.row), std::move(best));
  }
  ranks_.clear();
  for (RankedRow& row : ranked(rows)) {
    Standing& user = ranks_.emplace_back(bests.at(key_of(row)));
    user.row = std::move(row);
  }
}

std::string UserRanks::table_text() const {
  std::vector<std::vector<std::string>> lines;
  bool is_any_tied = false, is_any_busy = false;
  const std::set<std::string> shared = shared_names(ranks_);
  for (const Standing& user : ranks_) {
    is_any_tied = is_any_tied || user.row.tie_count > 0;
    is_any_busy = is_any_busy || user.row.is_noisy;
    lines.push_back({board_name(user.row, shared), user.row.device_model, rank_text(user.row), user.value,
                     user.row.label, noisy_time_text(user.row), std::to_string(user.row.runs.size()),
                     std::to_string(user.row.sample_count)});
  }
  std::string text = table({{"problem"},
                            {"device"},
                            {"rank", true},
                            {"user"},
                            {"submission"},
                            {"time", true},
                            {"jobs", true},
                            {"samples", true}},
                           lines);
  if (!shared.empty()) text += std::string(kSharedNamesMeaning) + '\n';
  if (is_any_tied) text += "≈: " + std::string(kTiedMeans) + '\n';
  if (is_any_busy) text += "~: " + std::string(kBusyMeans) + '\n';
  return text;
}

std::string UserRanks::csv() const {
  std::string text =
      "problem,rank,user,submission,score_s,gpu,time,noise_s,run_count,sample_count,tie_count,noisy,baseline,"
      "problem_hash\n";
  for (const Standing& user : ranks_) {
    const RankedRow& row = user.row;
    const Cell fields[] = {row.problem,
                           std::uint64_t{row.rank},
                           user.value == kUnknownUser ? Cell() : Cell(user.value),
                           row.label,
                           row.median_ns / kNsPerS,
                           row.device_model,
                           utc_time(row.finished_at_ms),
                           row.noise_ns / kNsPerS,
                           static_cast<std::uint64_t>(row.runs.size()),
                           std::uint64_t{row.sample_count},
                           std::uint64_t{row.tie_count},
                           row.is_noisy,
                           std::string(to_string(row.baseline)),
                           to_hex(row.problem_hash)};
    text += csv_line(fields);
  }
  return text;
}

}  // namespace kq::tools
