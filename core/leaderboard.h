// Leaderboards: one best row per problem and device model, and the two summary figures KernelBench users know.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/bytes/hash.h"
#include "core/job.h"
#include "core/result.h"
#include "core/submission.h"

namespace kq {

// The best passed job of one problem on one device model. On disk in family `board`.
struct LeaderboardRow {
  std::string problem;
  Hash problem_hash;  // board_hash() of the problem
  std::string device_model;
  Sequence seq = 0;
  std::string label;
  std::string author;
  std::string backend;
  double median_ns = 0;
  double reference_ns = 0;
  double speedup = 0;
  std::int64_t finished_at_ms = 0;

  friend bool operator==(const LeaderboardRow&, const LeaderboardRow&) = default;
};

// What a board is about: the reference's source and how closely it must be met. Without tolerances and a precision of
// its own it is the hash of the source; a submitter who loosens the tolerance plays on a board of his own.
Hash board_hash(const Problem& problem);

// The row a finished job may take; nothing unless its verdict ranks and it was timed.
std::optional<LeaderboardRow> board_row(const Submission& submission, const Result& result, Sequence seq,
                                        std::int64_t finished_at_ms);

// Whether `challenger` takes the place of `holder`: strictly faster, so the first of equals keeps it.
bool is_better(const LeaderboardRow& challenger, const LeaderboardRow& holder);
bool is_better(const LeaderboardRow& challenger, double holder_median_ns);

// Best rows of a run, ordered by problem name, then device model.
std::vector<LeaderboardRow> best_of(std::span<const LeaderboardRow> passed);

// Geometric mean of the speedups, in log space so that it cannot overflow; rows without a speedup are left out; 0 for
// none.
double geometric_mean_speedup(std::span<const LeaderboardRow> rows);

// Fraction of `problems_n` problems that were solved correctly and strictly more than p times as fast as the reference
// (KernelBench, src/kernelbench/score.py: fast_p). fast_p(0) is the fraction solved.
double fast_p(std::span<const LeaderboardRow> best, std::size_t problems_n, double p);

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
}

}  // namespace kq
