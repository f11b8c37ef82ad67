// The output of kq-results: the rows of a run, printed one at a time, and the exit code for all of them.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/records.h"

namespace kq::tools {

// What the tilde before a time means, as a line below such times.
inline constexpr std::string_view kBusyText =
    "~: the machine was busy while this was measured; measure again on a quiet one\n";

struct ResultsStyle {
  bool json = false;
  bool only_failed = false;  // only rows that did not pass; in text mode with the evidence instead of the times
  bool kernels = false;      // a row for each kernel that the GPU ran, in text mode
  bool cases = false;        // a row for each case of a job; as JSON an array `cases` in each row
  bool colours = false;      // of verdicts in the table
};

class ResultsView {
 public:
  ResultsView(ResultsStyle style, std::string run) : style_(style), run_(std::move(run)) {}

  // Returns what to print now for this row. The table is printed by finish(), because its widths depend on all rows.
  std::string add(const RunRow& row);
  std::string finish();

  std::size_t row_count() const { return row_count_; }
  // Returns gave_up when a job is unfinished, else our_fault when one was abandoned, else job_failed when one did not
  // pass, else ok; nothing when there are no rows.
  ExitCode exit_code() const;

 private:
  std::string json_row(const RunRow& row);
  // Returns the table of jobs or of their cases. It has a column for the problem if they have more than one.
  std::string table_of_jobs();
  std::string counts() const;

  ResultsStyle style_;
  std::string run_;
  std::size_t row_count_ = 0;
  std::size_t passed_count_ = 0;
  std::size_t abandoned_count_ = 0;
  std::size_t unfinished_count_ = 0;
  std::size_t noisy_count_ = 0;  // measured on a busy machine
  std::size_t shown_count_ = 0;
  std::map<std::string, std::size_t> count_by_outcome_;
  std::set<std::string> problems_;  // of the jobs in the table
  std::vector<std::vector<std::string>> cells_;
};

}  // namespace kq::tools
