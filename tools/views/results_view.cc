#include "tools/views/results_view.h"

#include <array>
#include <cstdio>

#include "tools/cli/text.h"
#include "tools/table/columns.h"
#include "tools/table/levels.h"

namespace kq::tools {
namespace {

std::string device_text(const RunRow& row) {
  return row.result && !row.result->device.model.empty() ? row.result->device.model : "-";
}

// Returns the JSON object of a row, with an array of its cases if these are asked for.
producer::Json json_of(const RunRow& row, bool has_cases) {
  producer::Json json = to_json(row);
  if (!has_cases) return json;
  producer::JsonObject object = *json.object();
  producer::JsonArray cases;
  for (std::size_t i = 0; i < case_count(row); ++i) {
    producer::JsonObject one{{"case_id", producer::Json{case_name(row, i)}}};
    const producer::Json columns = to_json(case_of(row, i));
    one.insert(one.end(), columns.object()->begin(), columns.object()->end());
    cases.push_back(producer::Json{std::move(one)});
  }
  object.emplace_back("cases_of_job", producer::Json{std::move(cases)});
  return {std::move(object)};
}

// Returns the baseline and the precision behind the reference's time, where they are not the usual ones.
std::string conditions_text(const Submission& submission) {
  const Baseline baseline = submission.trials.baseline;
  const Precision precision = submission.problem.precision;
  std::string text = baseline == Baseline::eager ? "" : std::string(to_string(baseline));
  if (precision != Precision::as_given) text += (text.empty() ? "" : ", ") + std::string(to_string(precision));
  return text.empty() ? "" : " (" + text + ")";
}

std::vector<std::string> cells_of(const RunRow& row) {
  const Measurement* measurement = row.result ? measurement_of(row.result->verdict) : nullptr;
  const Submission& submission = row.entry.submission;
  std::vector<std::string> cells{submission.label, printable(submission.problem.name), device_text(row),
                                 outcome_text(row)};
  if (measurement == nullptr) {
    cells.insert(cells.end(), {"-", "-", "-"});
  } else {
    const TimeTexts times = time_texts(*measurement);
    cells.insert(cells.end(), {times.own, times.reference + conditions_text(submission), times.speedup});
  }
  return cells;
}

std::string percent_text(double share) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%", 100 * share);
  return text.data();
}

// Returns a row for each kernel that the GPU ran, or one that says that none is known.
std::vector<std::vector<std::string>> kernels_of(const RunRow& row) {
  const std::string& label = row.entry.submission.label;
  if (!row.result || !row.result->kernels_ran) return {{label, "-", "-", "-", "-", "unknown"}};
  const KernelsRan& ran = *row.result->kernels_ran;
  std::int64_t all_ns = 0;
  for (const RanKernel& kernel : ran.kernels) all_ns += kernel.ns;
  std::vector<std::vector<std::string>> cells;
  for (const RanKernel& kernel : ran.kernels) {
    const double share = all_ns > 0 ? static_cast<double>(kernel.ns) / static_cast<double>(all_ns) : 0;
    cells.push_back({label, std::string(to_string(kernel.owner)), std::to_string(kernel.count),
                     time_text(static_cast<double>(kernel.ns)), percent_text(share), printable(kernel.name)});
  }
  if (ran.left_out > 0) cells.push_back({label, "-", "-", "-", "-", std::to_string(ran.left_out) + " more"});
  if (cells.empty()) cells.push_back({label, "-", "0", "-", "-", "none"});
  if (ran.is_decoy) cells.back().back() += "  (decoy: no kernel of the submission ran)";
  return cells;
}

}  // namespace

std::string ResultsView::add(const RunRow& row) {
  ++row_count_;
  const std::string ending(row.result ? to_string(name_of(row.result->verdict)) : to_string(row.job.state));
  ++count_by_outcome_[ending];
  const bool passed = ending == to_string(VerdictName::passed);
  passed_count_ += passed ? 1 : 0;
  abandoned_count_ += ending == to_string(VerdictName::abandoned) ? 1 : 0;
  unfinished_count_ += row.result ? 0 : 1;
  const Measurement* measurement = row.result ? measurement_of(row.result->verdict) : nullptr;
  noisy_count_ += measurement != nullptr && measurement->is_noisy ? 1 : 0;
  // An unfinished job has not failed.
  if (style_.only_failed && (passed || !row.result)) return "";
  ++shown_count_;
  if (style_.json) return json_row(row);
  if (style_.only_failed) return evidence_text(row);
  if (style_.kernels) {
    for (std::vector<std::string>& cells : kernels_of(row)) cells_.push_back(std::move(cells));
    return "";
  }
  problems_.insert(row.entry.submission.problem.name);
  if (!style_.cases) cells_.push_back(cells_of(row));
  for (std::size_t i = 0; style_.cases && i < case_count(row); ++i) {
    std::vector<std::string> cells = cells_of(case_of(row, i));
    cells.insert(cells.begin() + 1, case_name(row, i));
    cells_.push_back(std::move(cells));
  }
  return "";
}

std::string ResultsView::json_row(const RunRow& row) {
  const std::string start =
      shown_count_ == 1 ? R"({"schema": "kq.results/1", "run": )" + producer::json_quoted(run_) + ", \"rows\": [\n"
                        : ",\n";
  return start + producer::to_text(json_of(row, style_.cases));
}

std::string ResultsView::finish() {
  if (style_.json) {
    producer::JsonObject counts;
    for (const auto& [ending, count] : count_by_outcome_)
      counts.emplace_back(ending, producer::Json{static_cast<std::int64_t>(count)});
    const std::string start =
        shown_count_ == 0 ? R"({"schema": "kq.results/1", "run": )" + producer::json_quoted(run_) + ", \"rows\": ["
                          : "\n";
    return start + "], \"counts\": " + producer::to_text({std::move(counts)}) + "}\n";
  }
  std::string text;
  if (!style_.only_failed) {
    text = style_.kernels
               ? table({{"label"}, {"owner"}, {"launches", true}, {"time", true}, {"share", true}, {"kernel"}}, cells_)
               : table_of_jobs();
    if (noisy_count_ > 0) text += kBusyText;
  }
  return text + counts();
}

std::string ResultsView::table_of_jobs() {
  std::vector<TableColumn> columns{{"label"},        {"problem"},
                                   {"device"},       {"verdict", false, style_.colours ? outcome_colour : nullptr},
                                   {"median", true}, {"reference", true},
                                   {"speedup", true}};
  if (style_.cases) columns.insert(columns.begin() + 1, {"case"});
  if (problems_.size() <= 1) {
    const std::ptrdiff_t at = style_.cases ? 2 : 1;
    columns.erase(columns.begin() + at);
    for (std::vector<std::string>& cells : cells_) cells.erase(cells.begin() + at);
  }
  return table(columns, cells_);
}

std::string ResultsView::counts() const {
  std::string text = std::to_string(row_count_) + (row_count_ == 1 ? " job: " : " jobs: ");
  std::string comma;
  for (const auto& [ending, count] : count_by_outcome_) {
    const auto state = parse_enum<JobState>(ending);
    text += comma + std::to_string(count) + " " + (state ? producer::state_text(*state) : ending);
    comma = ", ";
  }
  return text + '\n';
}

ExitCode ResultsView::exit_code() const {
  if (row_count_ == 0) return ExitCode::nothing;
  if (unfinished_count_ > 0) return ExitCode::gave_up;
  if (abandoned_count_ > 0) return ExitCode::our_fault;
  return passed_count_ == row_count_ ? ExitCode::ok : ExitCode::job_failed;
}

}  // namespace kq::tools
