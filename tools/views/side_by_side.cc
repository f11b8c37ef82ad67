#include "tools/views/side_by_side.h"

#include <algorithm>
#include <cstdio>

#include "core/base/enum_names.h"
#include "tools/cli/text.h"
#include "tools/table/levels.h"

namespace kq::tools {
namespace {

constexpr const char* kWhole = "(all)";

double time_of(const RunRow& row) {
  const Measurement* const measured = row.result ? measurement_of(row.result->verdict) : nullptr;
  return measured == nullptr ? 0 : measured->submission.median_ns;
}

std::string verdict_of(const RunRow& row) {
  return std::string(row.result ? to_string(name_of(row.result->verdict)) : to_string(row.job.state));
}

std::string ratio_text(double own_ns, double judged_ns) {
  if (own_ns <= 0 || judged_ns <= 0) return "-";
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", judged_ns / own_ns);
  return text;
}

}  // namespace

void SideBySide::add(const RunRow& row) {
  std::string label = row.entry.submission.label;
  const bool is_own = row.entry.submission.backend == Backend::eval_program && label.ends_with(kSelfReportedSuffix);
  if (is_own) label.resize(label.size() - kSelfReportedSuffix.size());
  Pair& pair = pairs_[label];
  (is_own ? pair.has_own : pair.has_judged) = true;
  (is_own ? pair.own_job : pair.judged_job) = {outcome_text(row), verdict_of(row), time_of(row)};
  if (!row.result || row.result->cases.empty()) return;
  for (std::size_t i = 0; i < case_count(row); ++i) {
    const std::string name = case_name(row, i);
    const RunRow one = case_of(row, i);
    (is_own ? pair.own : pair.judged)[name] = {outcome_text(one), verdict_of(one), time_of(one)};
    if (std::ranges::find(pair.cases, name) == pair.cases.end()) pair.cases.push_back(name);
  }
}

bool SideBySide::has_pairs() const {
  return std::ranges::any_of(pairs_, [](const auto& one) { return one.second.has_own && one.second.has_judged; });
}

std::string SideBySide::table_text() const {
  std::vector<std::vector<std::string>> rows;
  std::size_t pair_count = 0, other_count = 0;
  const auto add_row = [&](const std::string& label, const std::string& name, const Side& own, const Side& judged) {
    const auto outcome = [](const Side& side) { return side.outcome.empty() ? "-" : side.outcome; };
    rows.push_back({label, name, outcome(own), time_text(own.time_ns), outcome(judged), time_text(judged.time_ns),
                    ratio_text(own.time_ns, judged.time_ns)});
  };
  for (const auto& [label, pair] : pairs_) {
    if (!pair.has_own || !pair.has_judged) continue;
    ++pair_count;
    other_count += pair.own_job.verdict == pair.judged_job.verdict ? 0 : 1;
    const auto side = [](const std::map<std::string, Side>& cases, const std::string& name) {
      const auto found = cases.find(name);
      return found == cases.end() ? Side{} : found->second;
    };
    for (const std::string& name : pair.cases) add_row(label, name, side(pair.own, name), side(pair.judged, name));
    add_row(label, kWhole, pair.own_job, pair.judged_job);
  }
  return table({{"submission"},
                {"case"},
                {"self-reported"},
                {"mean", true},
                {"judged by kq"},
                {"median", true},
                {"median / mean", true}},
               rows) +
         std::to_string(pair_count) + (pair_count == 1 ? " submission" : " submissions") +
         " judged in both ways: " + std::to_string(other_count) + " with another verdict\n";
}

}  // namespace kq::tools
