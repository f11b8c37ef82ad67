// The table that shows how kq's judge and the own programs of problems in GPU MODE's form differ: a row for each test
// and benchmark that both have run (kq submit --judged-by both).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"

namespace kq::tools {

// What the label of a job whose problem measured by itself ends with (producer/formats/popcorn/submissions.h).
inline constexpr std::string_view kSelfReportedSuffix = "@self_reported";

class SideBySide {
 public:
  void add(const RunRow& row);
  // Returns the table; its last line counts the pairs whose verdicts differ.
  std::string table_text() const;
  // Returns whether some submission was judged in both ways.
  bool has_pairs() const;

 private:
  // What one side says of one case.
  struct Side {
    std::string outcome;  // the verdict with its reason
    std::string verdict;
    double time_ns = 0;
  };
  struct Pair {
    std::map<std::string, Side> own, judged;  // by case
    Side own_job, judged_job;
    bool has_own = false, has_judged = false;
    std::vector<std::string> cases;  // names in the order of the run
  };

  std::map<std::string, Pair> pairs_;  // by the label without the suffix
};

}  // namespace kq::tools
