// Leaderboards: the best row for each problem and device model, and the two summary figures that KernelBench defines.
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

// The best passed job of one problem on one device model. The store keeps it in the family `board`.
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
  bool fell_back = false;   // an extension of the submission does not compile, so the time is that of its fallback
  std::string submitter{};  // as the key proves it, unlike the author; empty in rows of an earlier kq
  bool is_decoy = false;    // the submission has kernels, but none of them ran (KernelsRan)
  Streams streams = Streams::reject;
  Graphs graphs = Graphs::reject;
  bool has_findings = false;  // the guard has found something in the submission for review (Result::findings)

  friend bool operator==(const LeaderboardRow&, const LeaderboardRow&) = default;
};

// Returns the hash that identifies the board of a problem. It is the hash of the reference's source where the problem
// has neither tolerances nor a precision of its own. Otherwise these are hashed too, so that a submission with a looser
// tolerance is listed on another board. Submissions that may use streams or graphs have boards of their own likewise.
Hash board_hash(const Problem& problem, Streams streams = Streams::reject, Graphs graphs = Graphs::reject);

// Returns the row of a finished job, or nothing where its verdict does not rank, it has no timed samples, it runs
// only some of the problem's workloads, or it ran no kernel of its own where the problem asks for some.
std::optional<LeaderboardRow> board_row(const Submission& submission, const Result& result, Sequence seq,
                                        std::int64_t finished_at_ms);

// Returns whether `challenger` replaces `holder`. It must be strictly faster, so the first of equal rows stays.
bool is_better(const LeaderboardRow& challenger, const LeaderboardRow& holder);
bool is_better(const LeaderboardRow& challenger, double holder_median_ns);

// Returns the best rows of a run, ordered by problem name and then by device model.
std::vector<LeaderboardRow> best_of(std::span<const LeaderboardRow> passed);

// Returns the geometric mean of the speedups, or 0 where no row has one. Rows without a speedup are ignored. The sum is
// of logarithms, so that it cannot overflow.
double geometric_mean_speedup(std::span<const LeaderboardRow> rows);

// Returns the fraction of `problem_count` problems whose best row is strictly more than p times as fast as the
// reference (fast_p in src/kernelbench/score.py of KernelBench). For p = 0 it is the fraction of solved problems.
double fast_p(std::span<const LeaderboardRow> best, std::size_t problem_count, double p);

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
}

}  // namespace kq
