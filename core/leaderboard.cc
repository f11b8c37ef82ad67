#include "core/leaderboard.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace kq {
namespace {

std::string shortest(const std::optional<double>& value) {
  if (!value) return "default";
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, *value);
  return {digits, end.ptr};
}

// Returns whether the job, or a timed workload of it, has too few samples.
bool has_few_samples(const Measurement& all, const Result& result) {
  if (all.submission.sample_count < kRankSamplesMin || all.reference.sample_count < kRankReferenceSamplesMin)
    return true;
  return std::ranges::any_of(result.cases, [](const CaseResult& one) {
    const Measurement* measurement = measurement_of(one.verdict);
    return one.weight > 0 && measurement != nullptr && measurement->submission.sample_count < kRankSamplesMin;
  });
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

// Returns the median over runs, and its noise: that within the runs, which becomes smaller with each run, or the
// scatter of the runs, whichever is larger.
Figure figure_over(const std::vector<KernelRun>& runs, double KernelRun::*median, double KernelRun::*noise) {
  std::vector<double> medians, noises;
  std::vector<std::int64_t> rounded;
  for (const KernelRun& run : runs) {
    medians.push_back(run.*median);
    noises.push_back(run.*noise);
    rounded.push_back(std::llround(run.*median));
  }
  Figure figure{.median_ns = median_of(std::move(medians))};
  const double within_ns = median_of(std::move(noises)) / std::sqrt(static_cast<double>(runs.size()));
  figure.noise_ns = std::max({within_ns, kNoiseErrors * median_error_ns(rounded), kNoiseShareMin * figure.median_ns});
  return figure;
}

void compute_figures(LeaderboardRow& row) {
  const Figure own = figure_over(row.runs, &KernelRun::median_ns, &KernelRun::noise_ns);
  const Figure reference = figure_over(row.runs, &KernelRun::reference_ns, &KernelRun::reference_noise_ns);
  row.median_ns = own.median_ns;
  row.noise_ns = own.noise_ns;
  row.reference_ns = reference.median_ns;
  row.reference_noise_ns = reference.noise_ns;
  row.speedup = own.median_ns > 0 && reference.median_ns > 0 ? reference.median_ns / own.median_ns : 0;
}

// Returns for each kernel whether the lead of another one over it is larger than `factor`. The rows are ordered by
// their medians.
std::vector<bool> beaten(const std::vector<LeaderboardRow*>& rows, double factor) {
  // A row that is neither faster nor less noisy than an earlier row beats nothing that the earlier one does not beat.
  std::vector<Figure> challengers;
  std::vector<bool> are_beaten;
  for (const LeaderboardRow* row : rows) {
    const Figure figure = figure_of(*row);
    are_beaten.push_back(
        std::ranges::any_of(challengers, [&](const Figure& other) { return lead(other, figure) > factor; }));
    if (challengers.empty() || figure.noise_ns < challengers.back().noise_ns) challengers.push_back(figure);
  }
  return are_beaten;
}

// Returns the kernel that has the first place. It is unbeaten, so that it has rank 1.
const LeaderboardRow* holder_of(std::vector<const LeaderboardRow*> kernels) {
  std::ranges::sort(kernels, [](const auto* a, const auto* b) { return is_earlier(*a, *b); });
  std::vector<Figure> figures;
  for (const LeaderboardRow* kernel : kernels) figures.push_back(figure_of(*kernel));
  return kernels[holders(figures).back()];
}

// Appends the kernels of one board in the order of their ranks. Each rank has the kernels that none of those left
// beats. "Is faster beyond the noise" is transitive, so that no kernel has a better rank than one that beats it.
void rank_board(std::vector<LeaderboardRow> board, std::vector<RankedRow>& ranks) {
  std::ranges::sort(board, [](const LeaderboardRow& a, const LeaderboardRow& b) {
    return std::tie(a.median_ns, a.seq) < std::tie(b.median_ns, b.seq);
  });
  std::vector<LeaderboardRow*> left;
  for (LeaderboardRow& row : board) left.push_back(&row);
  const LeaderboardRow* const holder = holder_of({left.begin(), left.end()});
  const double factor = noise_factor(board.size());
  std::uint32_t rank = 1;
  while (!left.empty()) {
    const std::vector<bool> are_beaten = beaten(left, factor);
    std::vector<LeaderboardRow*> equals, others;
    for (std::size_t i = 0; i < left.size(); ++i) (are_beaten[i] ? others : equals).push_back(left[i]);
    std::ranges::sort(equals, [&](const auto* a, const auto* b) {
      return a != b && (a == holder || (b != holder && is_earlier(*a, *b)));
    });
    const auto count = static_cast<std::uint32_t>(equals.size());
    for (LeaderboardRow* row : equals) ranks.push_back({std::move(*row), rank, count - 1});
    rank += count;
    left = std::move(others);
  }
}

}  // namespace

Hash board_hash(const Submission& submission) {
  const Problem& problem = submission.problem;
  const Trials& trials = submission.trials;
  std::string text;
  if (problem.precision != Precision::as_given || problem.rtol || problem.atol) {
    text += " precision " + std::string(to_string(problem.precision)) + " rtol " + shortest(problem.rtol) + " atol " +
            shortest(problem.atol);
  }
  if (trials.streams != Streams::reject) text += " streams " + std::string(to_string(trials.streams));
  if (trials.graphs != Graphs::reject) text += " graphs " + std::string(to_string(trials.graphs));
  if (trials.baseline != Baseline::eager) text += " baseline " + std::string(to_string(trials.baseline));
  return text.empty() ? problem.hash : sha256(to_hex(problem.hash) + text);
}

Hash kernel_hash(const Submission& submission) {
  if (submission.files.size() == 1) return submission.files.front().hash;
  std::string files;
  for (const SourceFile& file : submission.files) files += to_hex(file.hash) + " " + file.name + "\n";
  return sha256(files);
}

std::optional<LeaderboardRow> board_row(const Submission& submission, const Result& result, Sequence seq,
                                        std::int64_t finished_at_ms) {
  const Measurement* measurement = measurement_of(result.verdict);
  if (!row_of(name_of(result.verdict)).ranks || measurement == nullptr || measurement->submission.sample_count == 0 ||
      (measurement->method != kSelfReported && has_few_samples(*measurement, result)) ||
      !runs_all_workloads(submission.problem))
    return std::nullopt;
  const bool is_decoy = result.kernels_ran && result.kernels_ran->is_decoy;
  if (is_decoy && result.kernels_ran->are_own_wanted) return std::nullopt;
  LeaderboardRow row{.problem = submission.problem.name,
                     .problem_hash = board_hash(submission),
                     .device_model = result.device.model,
                     .seq = seq,
                     .label = submission.label,
                     .author = submission.author,
                     .backend = std::string(to_string(submission.backend)),
                     .finished_at_ms = finished_at_ms,
                     .fell_back = result.extensions && result.extensions->fell_back,
                     .is_decoy = is_decoy,
                     .streams = submission.trials.streams,
                     .graphs = submission.trials.graphs,
                     .has_findings = !result.findings.empty(),
                     .kernel_hash = kernel_hash(submission),
                     .baseline = submission.trials.baseline,
                     .sample_count = measurement->submission.sample_count,
                     .is_noisy = measurement->is_noisy,
                     .runs = {{.seq = seq,
                               .median_ns = measurement->submission.median_ns,
                               .reference_ns = measurement->reference.median_ns,
                               .noise_ns = submission_noise_ns(*measurement),
                               .reference_noise_ns = reference_noise_ns(*measurement)}}};
  compute_figures(row);
  return row;
}

void add_runs(LeaderboardRow& row, const LeaderboardRow& other) {
  for (const KernelRun& run : other.runs) {
    const bool is_known = std::ranges::find(row.runs, run.seq, &KernelRun::seq) != row.runs.end();
    if (is_known || row.runs.size() >= kRunsPerKernelMax) continue;
    row.runs.push_back(run);
    row.sample_count += other.sample_count / static_cast<std::uint32_t>(other.runs.size());
    row.is_noisy = row.is_noisy || other.is_noisy;
  }
  if (!row.runs.empty()) compute_figures(row);
}

Figure figure_of(const LeaderboardRow& row) {
  const bool is_known = std::isfinite(row.noise_ns);
  return {.median_ns = row.median_ns, .noise_ns = is_known ? row.noise_ns : kComparedNoiseShareMax * row.median_ns};
}

bool is_earlier(const LeaderboardRow& a, const LeaderboardRow& b) {
  return std::tie(a.finished_at_ms, a.seq) < std::tie(b.finished_at_ms, b.seq);
}

bool is_better(const LeaderboardRow& challenger, const LeaderboardRow& holder, std::size_t kernel_count) {
  return lead(figure_of(challenger), figure_of(holder)) > noise_factor(kernel_count);
}

std::vector<RankedRow> ranked(std::span<const LeaderboardRow> rows) {
  std::map<std::tuple<std::string, std::string, Hash>, std::map<Hash, LeaderboardRow>> boards;
  std::vector<const LeaderboardRow*> in_order;
  for (const LeaderboardRow& row : rows) in_order.push_back(&row);
  std::ranges::sort(in_order, [](const auto* a, const auto* b) { return is_earlier(*a, *b); });
  for (const LeaderboardRow* row : in_order) {
    const auto [place, is_new] =
        boards[{row->problem, row->device_model, row->problem_hash}].try_emplace(row->kernel_hash, *row);
    if (!is_new) add_runs(place->second, *row);
  }
  std::vector<RankedRow> ranks;
  for (auto& [key, kernels] : boards) {
    std::vector<LeaderboardRow> board;
    for (auto& [hash, row] : kernels) board.push_back(std::move(row));
    rank_board(std::move(board), ranks);
  }
  return ranks;
}

std::vector<RankedRow> best_of(std::span<const LeaderboardRow> rows) {
  std::vector<RankedRow> best;
  for (RankedRow& one : ranked(rows)) {
    const bool is_same = !best.empty() && best.back().problem == one.problem &&
                         best.back().device_model == one.device_model && best.back().problem_hash == one.problem_hash;
    if (!is_same) best.push_back(std::move(one));
  }
  return best;
}

double geometric_mean_speedup(std::span<const LeaderboardRow> rows) {
  double logs = 0;
  std::size_t n = 0;
  for (const LeaderboardRow& row : rows) {
    if (row.speedup <= 0) continue;
    logs += std::log(row.speedup);
    ++n;
  }
  return n == 0 ? 0 : std::exp(logs / static_cast<double>(n));
}

double fast_p(std::span<const LeaderboardRow> best, std::size_t problem_count, double p) {
  if (problem_count == 0) return 0;
  std::size_t n = 0;
  // For p = 0 a solved problem counts even where its speedup is unknown.
  for (const LeaderboardRow& row : best) n += p <= 0 || row.speedup > p ? 1 : 0;
  return static_cast<double>(n) / static_cast<double>(problem_count);
}

}  // namespace kq
