#include "tools/views/boards.h"

#include <tuple>

#include "core/base/problem_name.h"
#include "tools/cli/natural_order.h"
#include "tools/cli/text.h"
#include "tools/table/cell.h"
#include "tools/table/selection.h"
#include "tools/table/tag_names.h"

namespace kq::tools {
namespace {

// The thresholds p of fast_p that KernelBench's own analysis prints.
constexpr double kThresholds[] = {0, 0.5, 0.8, 1, 1.5, 2};

// Returns the value by which boards are split; "-" for a submission without one.
std::string value_of(const RunRow& row, const std::string& by) {
  const Submission& submission = row.entry.submission;
  std::string value;
  if (by == "author") value = submission.author;
  if (by == "backend") value = to_string(submission.backend);
  if (by.starts_with(kTagPrefix)) {
    const Cell cell = tag_cell(row, by);
    if (const auto* text = std::get_if<std::string>(&cell)) value = *text;
  }
  return value.empty() && !by.empty() ? std::string(kNoValue) : value;
}

struct GroupLess {
  using Group = std::tuple<std::string, std::string, Baseline>;  // value, device model, baseline
  bool operator()(const Group& a, const Group& b) const {
    const auto order = natural_order(std::get<0>(a), std::get<0>(b));
    return order != 0 ? order < 0 : a < b;
  }
};

}  // namespace

Expected<void> validate(const BoardOptions& options) {
  const std::string& by = options.by;
  const bool is_tag = by.starts_with(kTagPrefix) && by.size() > kTagPrefix.size();
  if (by.empty() || by == "author" || by == "backend" || is_tag) return {};
  return bad_input("--by must be author, backend or tag.NAME, got '" + printable(by) + "'");
}

std::vector<DeviceSummary> Leaderboard::summaries() const {
  std::map<GroupLess::Group, std::vector<LeaderboardRow>, GroupLess> groups;
  for (const Standing& first : first_of_each_board(rows, 1)) {
    if (first.row.reference_ns > 0)
      groups[{first.value, first.row.device_model, first.row.baseline}].push_back(first.row);
  }
  for (const auto& group : judged) groups.try_emplace(group);
  std::vector<DeviceSummary> found;
  for (const auto& [group, best] : groups) {
    DeviceSummary& summary = found.emplace_back();
    std::tie(summary.value, summary.device_model, summary.baseline) = group;
    const auto count = problem_counts.find({summary.value, summary.baseline});
    summary.problem_count = count == problem_counts.end() ? referenced_count : count->second;
    summary.solved_count = best.size();
    summary.geometric_mean_speedup = kq::geometric_mean_speedup(best);
    for (double p : kThresholds) summary.fast_p.emplace_back(p, kq::fast_p(best, summary.problem_count, p));
  }
  return found;
}

// Returns whether the job counts on a board.
bool LeaderboardBuilder::is_ranked(const RunRow& row) const {
  return row.result && board_row(row.entry.submission, *row.result, row.job.seq, row.job.finished_at_ms);
}

void LeaderboardBuilder::add(const RunRow& row) {
  const Submission& submission = row.entry.submission;
  if (!options_.problem.empty() && !is_meant_by(submission.problem.name, options_.problem)) {
    if (is_ranked(row)) other_names_[board_hash(submission)].insert(submission.problem.name);
    return;
  }
  const std::string value = value_of(row, options_.by);
  const bool has_reference = submission.backend != Backend::eval_program;
  const std::pair named{submission.problem.name, board_hash(submission)};
  problems_.insert(named);
  if (has_reference) referenced_[{value, submission.trials.baseline}].insert(named);
  if (!row.result) return;
  const std::string& device_model = row.result->device.model;
  if (has_reference && row_of(name_of(row.result->verdict)).terminal && !device_model.empty())
    judged_.emplace(value, device_model, submission.trials.baseline);
  if (measurement_of(row.result->verdict) != nullptr && !runs_all_workloads(submission.problem)) ++partial_count_;
  if (options_.leaves_out_findings && !row.result->findings.empty()) {
    left_out_count_ += is_ranked(row) ? 1 : 0;
    return;
  }
  standings_.add(row, value);
}

Leaderboard LeaderboardBuilder::finish() {
  Leaderboard board{.run = run_,
                    .by = options_.by,
                    .is_ranking = options_.is_ranking(),
                    .left_out_count = left_out_count_,
                    .partial_count = partial_count_,
                    .rows = first_of_each_board(standings_.finish(), options_.top),
                    .judged = judged_};
  std::set<std::pair<std::string, Hash>> referenced;
  for (const auto& [group, problems] : referenced_) {
    board.problem_counts[group] = problems.size();
    referenced.insert(problems.begin(), problems.end());
  }
  board.problem_count = problems_.size();
  board.referenced_count = referenced.size();
  for (const auto& [name, hash] : problems_) {
    if (const auto others = other_names_.find(hash); others != other_names_.end())
      board.other_names.insert(others->second.begin(), others->second.end());
  }
  return board;
}

Expected<Leaderboard> leaderboard_of_runs(Source& source, const std::string& run, const BoardOptions& options) {
  std::vector<std::string> runs{run};
  if (run.empty()) {
    KQ_TRY_VALUE(runs, all_runs(source));
  }
  LeaderboardBuilder builder(run, options);
  const std::string tag = options.by.starts_with(kTagPrefix) ? options.by.substr(kTagPrefix.size()) : "";
  TagNames tags(tag);
  bool any = false;
  for (const std::string& one : runs) {
    KQ_TRY(each_row_with_reruns(source, one, [&](const RunRow& row) {
      any = true;
      if (!tag.empty()) tags.add(row.entry.submission);
      builder.add(row);
      return Expected<void>();
    }));
  }
  if (!any && !run.empty()) return failure(no_such_run(source, run));
  const auto missing = any && !tag.empty() ? tags.missing() : std::nullopt;
  if (missing) return failure(Error{ErrorKind::not_found, *missing});
  return builder.finish();
}

Expected<Leaderboard> leaderboard_of_boards(Source& source) {
  Expected<std::vector<LeaderboardRow>> rows = all_boards(source);
  if (!rows) return failure(rows.error());
  std::map<Baseline, std::set<Hash>> problems;
  std::set<Hash> reported;  // of boards without a reference
  Leaderboard board;
  for (LeaderboardRow& row : *rows) {
    (row.reference_ns > 0 ? problems[row.baseline] : reported).insert(row.problem_hash);
    board.rows.push_back({.row = {std::move(row), 1, 0}, .are_ties_known = false});
  }
  for (const auto& [baseline, hashes] : problems) {
    board.problem_counts[{"", baseline}] = hashes.size();
    board.referenced_count += hashes.size();
  }
  board.problem_count = board.referenced_count + reported.size();
  return board;
}

}  // namespace kq::tools
