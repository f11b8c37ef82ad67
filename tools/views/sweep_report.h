// The report that kq sweep prints at its end, gathered row by row.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "producer/client/json.h"
#include "producer/submit/output.h"
#include "producer/submit/submit.h"
#include "tools/table/expect.h"
#include "tools/views/boards.h"

namespace kq::tools {

inline constexpr std::size_t kExplainedMax = 20;  // at most so many jobs that did not pass are listed

class SweepReport {
 public:
  // `expectations` may be null; otherwise it must outlive the report.
  SweepReport(const producer::SubmitSummary& submitted, Expectations* expectations);

  // Adds a row of the run, in any order. Ignores a row that this sweep did not submit and returns false.
  bool add(const RunRow& row);
  void finish();

  std::size_t not_passed_count() const { return not_passed_count_; }
  std::size_t disagreement_count() const { return disagreements_.size(); }
  bool agrees() const { return expectations_ == nullptr || disagreements_.empty(); }

  // Returns the report for people: counts of verdicts, jobs that did not pass and why, the leaderboard, and the jobs
  // that did not end as expected.
  std::string text(bool colours = false) const;
  // Returns the report for programs: one JSON object. `exit_code` is that of the process.
  std::string json(const producer::EndOfCall& end, int exit_code) const;

 private:
  std::string explained() const;

  std::string run_;
  std::size_t accepted_count_;
  std::size_t reused_count_;
  std::set<std::string> labels_;
  Expectations* expectations_;

  std::map<std::string, std::size_t> count_by_outcome_;  // by verdict, or by the state of an unfinished job
  std::size_t not_passed_count_ = 0;
  std::vector<std::string> explanations_;  // of the first kExplainedMax jobs that did not pass
  LeaderboardBuilder builder_;
  Leaderboard board_;
  std::vector<std::string> disagreements_;
};

// Returns the object of a sweep that has ended without a report.
std::string sweep_json(const std::string& run, const producer::EndOfCall& end, int exit_code);

// Returns "accepted 3, reused 11", or "reused all 14 jobs, ..." when no job has to run.
std::string submitted_text(const producer::SubmitSummary& submitted);

}  // namespace kq::tools
