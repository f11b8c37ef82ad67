// Leaderboards: the figures of kernels, their ranks for each problem and device model, and the two summary figures that
// KernelBench defines.
//
// Theory of operation. A kernel (the files of a submission) may be measured any number of times. Its figure on a board
// is the median over its runs there, with a noise; a rerun makes the noise smaller, and never replaces a slower run by
// a faster one. A job with fewer than kRankSamplesMin timed samples does not count. Kernels whose figures differ by
// less than their noise share a rank, where the noise is that of a comparison among all kernels of the board
// (core/ranks/comparison.h). A kernel takes the first place only where it is faster beyond that noise, so the earlier
// one of two equal kernels keeps the place. The holder of the place has rank 1 and is listed first. A kernel that was
// beaten while the board was small may have rank 1 too once the board has many kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/bytes/hash.h"
#include "core/job.h"
#include "core/ranks/comparison.h"
#include "core/result.h"
#include "core/submission.h"

namespace kq {

// The fewest timed samples of a job that counts on a board, of the submission and of the reference each.
inline constexpr std::uint32_t kRankSamplesMin = 5;
inline constexpr std::uint32_t kRankReferenceSamplesMin = 3;
// The runs of a kernel that a row keeps. Later runs change nothing.
inline constexpr std::size_t kRunsPerKernelMax = 31;

// One job of a kernel.
struct KernelRun {
  Sequence seq = 0;
  double median_ns = 0;
  double reference_ns = 0;
  double noise_ns = 0;            // of median_ns
  double reference_noise_ns = 0;  // of reference_ns

  friend bool operator==(const KernelRun&, const KernelRun&) = default;
};

// The figure of one kernel for one problem on one device model. The store keeps it in the family `kernel`, and the row
// of the first place in the family `board`. Names and times of the job are those of the kernel's first run.
struct LeaderboardRow {
  std::string problem;
  Hash problem_hash;  // board_hash() of the submission
  std::string device_model;
  Sequence seq = 0;
  std::string label;
  std::string author;
  std::string backend;
  double median_ns = 0;     // the median over the runs
  double reference_ns = 0;  // the median over the runs
  double speedup = 0;       // reference_ns / median_ns
  std::int64_t finished_at_ms = 0;
  bool fell_back = false;   // an extension of the submission does not compile, so the time is that of its fallback
  std::string submitter{};  // as the key proves it, unlike the author; empty in rows of an earlier kq
  bool is_decoy = false;    // the submission has kernels, but none of them ran (KernelsRan)
  Streams streams = Streams::reject;
  Graphs graphs = Graphs::reject;
  bool has_findings = false;  // the guard has found something in the submission for review (Result::findings)
  Hash kernel_hash{};         // kernel_hash() of the submission
  Baseline baseline = Baseline::eager;
  double noise_ns = 0;             // of median_ns; 0: unknown, for a row of an older version of kq
  double reference_noise_ns = 0;   // of reference_ns
  std::uint32_t sample_count = 0;  // of the submission, over all runs
  bool is_noisy = false;           // one of the runs was measured on a busy machine
  std::vector<KernelRun> runs{};   // at most kRunsPerKernelMax, the first one first

  friend bool operator==(const LeaderboardRow&, const LeaderboardRow&) = default;
};

// Returns the hash that identifies the board of a submission. It is the hash of the reference's source where the
// problem has neither tolerances nor a precision of its own, the baseline is eager, and streams and graphs are
// rejected. Otherwise these are hashed too, so that a submission with a looser tolerance, another baseline or another
// policy is listed on another board.
Hash board_hash(const Submission& submission);

// Returns the hash that identifies a kernel: that of its file, or one over the names and hashes of several files.
Hash kernel_hash(const Submission& submission);

// Returns the row of a finished job, or nothing where its verdict does not rank, it has too few timed samples, it runs
// only some of the problem's workloads, or it ran no kernel of its own where the problem asks for some. The row has no
// submitter, because the job's record knows that.
std::optional<LeaderboardRow> board_row(const Submission& submission, const Result& result, Sequence seq,
                                        std::int64_t finished_at_ms);

// Adds the runs of another row of the same kernel on the same board. A run that is already there, or that finds no
// room, changes nothing.
void add_runs(LeaderboardRow& row, const LeaderboardRow& other);

// Returns the figure of a row as kernels are compared. The noise is 0 for a row of an older version of kq, and
// kComparedNoiseShareMax of the time where it is infinite, because there is one sample only.
Figure figure_of(const LeaderboardRow& row);
// Returns whether the first run of a kernel is earlier than that of another one.
bool is_earlier(const LeaderboardRow& a, const LeaderboardRow& b);
// Returns whether `challenger` is faster than `holder` beyond the noise of a board that has this many kernels. Where
// the noise of both is 0, equal figures are not faster.
bool is_better(const LeaderboardRow& challenger, const LeaderboardRow& holder, std::size_t kernel_count);

// A row with its rank among the kernels of its board. Equal kernels share a rank, counted as in sports: 1, 1, 3.
struct RankedRow : LeaderboardRow {
  std::uint32_t rank = 1;
  std::uint32_t tie_count = 0;  // the other kernels with this rank
};

// Merges rows of the same kernel, and returns all kernels ordered by problem name, device model, board, rank and time
// of their first run, but for the last of holders(), which comes first. Kernels share a rank where none of those
// without a lower one is faster beyond the noise of the board.
std::vector<RankedRow> ranked(std::span<const LeaderboardRow> rows);

// Returns the first row of each board in ranked().
std::vector<RankedRow> best_of(std::span<const LeaderboardRow> rows);

// Returns the geometric mean of the speedups, or 0 where no row has one. Rows without a speedup are ignored. The sum is
// of logarithms, so that it cannot overflow.
double geometric_mean_speedup(std::span<const LeaderboardRow> rows);

// Returns the fraction of `problem_count` problems whose best row is strictly more than p times as fast as the
// reference (fast_p in src/kernelbench/score.py of KernelBench). For p = 0 it is the fraction of solved problems.
double fast_p(std::span<const LeaderboardRow> best, std::size_t problem_count, double p);

template <class V>
void fields(V& v, KernelRun& x) {
  v("seq", x.seq);
  v("median_ns", x.median_ns);
  v("reference_ns", x.reference_ns);
  v("noise_ns", x.noise_ns);
  v("reference_noise_ns", x.reference_noise_ns);
}
template <class V>
void fields(V& v, LeaderboardRow& x) {
  v("problem", x.problem);
  v("problem_hash", x.problem_hash);
  v("device_model", x.device_model);
  v("seq", x.seq);
  v("label", x.label);
  v("author", x.author);
  v("backend", x.backend);
  v("median_ns", x.median_ns);
  v("reference_ns", x.reference_ns);
  v("speedup", x.speedup);
  v("finished_at_ms", x.finished_at_ms);
  v("fell_back", x.fell_back);
  v("submitter", x.submitter);
  v("decoy", x.is_decoy);
  v("streams", x.streams);
  v("graphs", x.graphs);
  v("findings", x.has_findings);
  v("kernel_hash", x.kernel_hash);
  v("baseline", x.baseline);
  v("noise_ns", x.noise_ns);
  v("reference_noise_ns", x.reference_noise_ns);
  v("sample_count", x.sample_count);
  v("is_noisy", x.is_noisy);
  v("runs", x.runs);
}

}  // namespace kq
