// The rows of a run as kq-results prints them, one at a time, and what they mean together.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/records.h"

namespace kq::tools {

struct ResultsStyle {
  bool json = false;
  bool only_failed = false;  // in text: with the evidence instead of the figures
};

class ResultsView {
 public:
  ResultsView(ResultsStyle style, std::string run) : style_(style), run_(std::move(run)) {}

  // What to print for this row now. A table waits for its last row, to know its widths.
  std::string add(const RunRow& row);
  std::string finish();

  std::size_t row_count() const { return row_count_; }
  // 4 while jobs are unfinished, else 3 when one was abandoned, else 1 when one did not pass, else 0.
  ExitCode exit_code() const;

 private:
  std::string json_row(const RunRow& row);
  std::string counts() const;

  ResultsStyle style_;
  std::string run_;
  std::size_t row_count_ = 0;
  std::size_t passed_count_ = 0;
  std::size_t abandoned_count_ = 0;
  std::size_t unfinished_count_ = 0;
  std::size_t shown_count_ = 0;
  std::map<std::string, std::size_t> count_by_outcome_;
  std::vector<std::vector<std::string>> cells_;
};

}  // namespace kq::tools
