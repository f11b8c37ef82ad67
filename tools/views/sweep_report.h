// What kq sweep says at its end, gathered row by row.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "producer/client/json.h"
#include "producer/submit/submit.h"
#include "tools/table/expect.h"
#include "tools/views/boards.h"

namespace kq::tools {

inline constexpr std::size_t kExplainedMax = 20;  // jobs that did not pass, told one by one

class SweepReport {
 public:
  // `expectations` may be null; otherwise it outlives the report.
  SweepReport(const producer::SubmitSummary& submitted, Expectations* expectations);

  // Rows of the run in any order; those that this sweep did not submit are left alone: false.
  bool add(const RunRow& row);
  void finish();

  std::size_t disagreement_count() const { return disagreements_.size(); }
  bool agrees() const { return expectations_ == nullptr || disagreements_.empty(); }

  // For people: verdicts, what did not pass and why, the leaderboard, the disagreements.
  std::string text() const;
  // For programs: one object.
  std::string json(int exit_code) const;

 private:
  std::string explained() const;

  std::string run_;
  std::size_t accepted_count_;
  std::size_t reused_count_;
  std::set<std::string> labels_;
  Expectations* expectations_;

  std::map<std::string, std::size_t> count_by_outcome_;  // verdict, or the state of what is unfinished
  std::size_t not_passed_count_ = 0;
  std::vector<std::string> explanations_;  // of the first kExplainedMax
  LeaderboardBuilder builder_;
  Leaderboard board_;
  std::vector<std::string> disagreements_;
};

// "accepted 3, reused 11"; "reused all 14 jobs: they were judged before" when there was nothing to do.
std::string submitted_text(const producer::SubmitSummary& submitted);

}  // namespace kq::tools
