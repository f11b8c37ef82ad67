#include "tools/views/standings.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/base/own_share.h"
#include "core/measurement.h"
#include "tools/cli/natural_order.h"

namespace kq::tools {
namespace {

using KernelKey = std::tuple<std::string, std::string, Hash, Hash>;  // problem, device model, board, kernel

KernelKey key_of(const LeaderboardRow& row) {
  return {row.problem, row.device_model, row.problem_hash, row.kernel_hash};
}

void add_names(std::vector<std::string>& names, std::span<const std::string> more) {
  for (const std::string& name : more) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
}

// Returns the row of a job with the figure of its kernel. The names are those of the job.
LeaderboardRow with_figure(LeaderboardRow row, const LeaderboardRow& kernel) {
  row.median_ns = kernel.median_ns;
  row.noise_ns = kernel.noise_ns;
  row.reference_ns = kernel.reference_ns;
  row.reference_noise_ns = kernel.reference_noise_ns;
  row.speedup = kernel.speedup;
  row.sample_count = kernel.sample_count;
  row.is_noisy = kernel.is_noisy;
  row.runs = kernel.runs;
  return row;
}

bool is_before(const Standing& a, const Standing& b) {
  if (const auto order = natural_order(a.value, b.value); order != 0) return order < 0;
  if (const auto order = natural_order(a.row.problem, b.row.problem); order != 0) return order < 0;
  return std::tie(a.row.device_model, a.row.problem_hash) < std::tie(b.row.device_model, b.row.problem_hash);
}

// Returns the row of a job on a board with its reruns, of which each counts with the samples of the job.
std::optional<LeaderboardRow> row_with_reruns(const RunRow& row) {
  auto made = board_row(row.entry.submission, *row.result, row.job.seq, row.job.finished_at_ms);
  if (!made || row.reruns.empty()) return made;
  LeaderboardRow reruns = *made;
  reruns.runs = row.reruns;
  reruns.sample_count = made->sample_count * static_cast<std::uint32_t>(row.reruns.size());
  add_runs(*made, reruns);
  return made;
}

}  // namespace

std::string submitter_in(const RunRow& row) {
  return submitter_behind(row.entry.submitter.empty() ? row.job.submitter : row.entry.submitter, row.run);
}

bool is_same_board(const Standing& a, const Standing& b) {
  return a.value == b.value && a.row.problem == b.row.problem && a.row.device_model == b.row.device_model &&
         a.row.problem_hash == b.row.problem_hash;
}

std::vector<Standing> first_of_each_board(std::span<const Standing> standings, std::size_t count) {
  std::vector<Standing> found;
  std::size_t place = 0;
  for (std::size_t i = 0; i < standings.size(); ++i) {
    place = i > 0 && is_same_board(standings[i], standings[i - 1]) ? place + 1 : 0;
    if (place < count) found.push_back(standings[i]);
  }
  return found;
}

void StandingsBuilder::add(const RunRow& row, const std::string& value) {
  if (!row.result) return;
  const auto [place, is_new] =
      index_.try_emplace({value, row.entry.submission.problem.name, row.job.seq}, jobs_.size());
  if (!is_new) {
    // Rows come by run. Label and author are those of the run that brought the job, whatever the other runs are called.
    if (row.run == row.job.run) {
      if (auto first = row_with_reruns(row)) {
        first->submitter = submitter_in(row);
        rows_[place->second] = std::move(*first);
      }
    }
    return add_names(jobs_[place->second].run_names, {&row.run, 1});
  }
  auto made = row_with_reruns(row);
  if (!made) {
    index_.erase(place);
    return;
  }
  made->submitter = submitter_in(row);
  rows_.push_back(std::move(*made));
  jobs_.push_back({.value = value,
                   .run_names = {row.run},
                   .is_self_reported = measurement_of(row.result->verdict)->method == kSelfReported});
}

std::vector<Standing> StandingsBuilder::finish() const {
  std::vector<std::size_t> in_time(jobs_.size());
  std::iota(in_time.begin(), in_time.end(), std::size_t{0});
  std::ranges::stable_sort(in_time, {},
                           [&](std::size_t i) { return std::pair(rows_[i].finished_at_ms, rows_[i].seq); });

  // The figure of each kernel over all its jobs, and the first job of each kernel by value.
  std::map<KernelKey, Standing> kernels;
  for (RankedRow& row : ranked(rows_)) kernels[key_of(row)].row = std::move(row);
  std::map<std::string, std::map<KernelKey, std::size_t>> firsts;
  for (const std::size_t i : in_time) {
    Standing& kernel = kernels.at(key_of(rows_[i]));
    add_names(kernel.run_names, jobs_[i].run_names);
    kernel.is_self_reported = kernel.is_self_reported || jobs_[i].is_self_reported;
    firsts[jobs_[i].value].try_emplace(key_of(rows_[i]), i);
  }

  std::vector<Standing> standings;
  for (const auto& [value, first_of_kernel] : firsts) {
    std::vector<LeaderboardRow> rows;
    for (const auto& [key, first] : first_of_kernel) rows.push_back(with_figure(rows_[first], kernels.at(key).row));
    for (RankedRow& row : ranked(rows)) {
      const Standing& kernel = kernels.at(key_of(row));
      Standing& standing =
          standings.emplace_back(Standing{.value = value, .is_self_reported = kernel.is_self_reported});
      standing.run_names = jobs_[first_of_kernel.at(key_of(row))].run_names;
      add_names(standing.run_names, kernel.run_names);
      standing.row = std::move(row);
    }
  }
  std::ranges::stable_sort(standings, is_before);
  return standings;
}

}  // namespace kq::tools
