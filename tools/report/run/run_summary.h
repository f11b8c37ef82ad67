// What a report says about a run as a whole: counts, the fastest kernels, where it ran, and what a reader must know.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/views/boards.h"

namespace kq::tools {

// How far the jobs of a run came.
struct Funnel {
  std::size_t submitted = 0;
  std::size_t built = 0;    // no build failed and no rule refused the source
  std::size_t correct = 0;  // passed or suspect
  std::size_t faster = 0;   // passed, and faster than the reference
};

struct RunSummary {
  std::string run = {};
  Funnel funnel;
  std::map<std::string, std::size_t> count_by_outcome = {};  // verdicts, and states of unfinished jobs
  std::size_t unfinished_count = 0;
  std::int64_t first_submitted_ms = 0;
  std::int64_t last_finished_ms = 0;  // 0: no job is finished
  Leaderboard board;
  // Where the run was measured: "device", "kq", "torch", ... -> the distinct values.
  std::vector<std::pair<std::string, std::set<std::string>>> places = {};
  std::vector<std::string> warnings = {};  // one sentence each
};

class SummaryBuilder {
 public:
  explicit SummaryBuilder(std::string run);
  void add(const RunRow& row);
  RunSummary finish();

 private:
  void add_places(const Result& result);
  std::vector<std::string> warnings() const;

  RunSummary summary_;
  LeaderboardBuilder board_;
  std::map<std::string, std::size_t> place_;  // name -> index in summary_.places
  std::size_t measured_count_ = 0;
  std::size_t noisy_count_ = 0;
  std::size_t cpu_count_ = 0;
  std::size_t throttled_count_ = 0;
  std::size_t shared_gpu_count_ = 0;
  std::size_t self_reported_count_ = 0;
  std::size_t fallback_count_ = 0;
  std::map<std::string, std::set<std::string>> problem_warnings_;  // sentence -> problems
};

// The noise, in percent of the mean, above which a report warns of a time.
inline constexpr double kNoisyPct = 20;

}  // namespace kq::tools
