#include "tools/table/levels.h"

#include <string>

namespace kq::tools {
namespace {

std::size_t one(const RunRow&) {
  return 1;
}
bool has_cases(const RunRow& row) {
  return row.result && !row.result->cases.empty();
}
Cell case_weight(const RunRow& row, std::size_t item) {
  return has_cases(row) ? row.result->cases[item].weight : 1.0;
}

const Samples& samples_of(const RunRow& row, std::size_t of_case) {
  return has_cases(row) ? row.result->cases[of_case].samples : row.result->samples;
}
std::size_t samples_in(const RunRow& row, std::size_t of_case) {
  const Samples& samples = samples_of(row, of_case);
  return samples.submission_ns.size() + samples.reference_ns.size();
}
std::size_t samples(const RunRow& row) {
  std::size_t n = 0;
  for (std::size_t i = 0; row.result && i < case_count(row); ++i) n += samples_in(row, i);
  return n;
}

// The items at the level `sample` are, case by case, the samples of the submission in the order of measurement, then
// those of the reference.
struct SampleItem {
  std::size_t of_case;
  bool is_of_reference;
  std::size_t index;  // on its side
  std::int64_t ns;
};
SampleItem sample_item(const RunRow& row, std::size_t item) {
  std::size_t of_case = 0;
  while (item >= samples_in(row, of_case)) item -= samples_in(row, of_case++);
  const Samples& samples = samples_of(row, of_case);
  const bool is_of_reference = item >= samples.submission_ns.size();
  const std::size_t index = is_of_reference ? item - samples.submission_ns.size() : item;
  return {of_case, is_of_reference, index, (is_of_reference ? samples.reference_ns : samples.submission_ns)[index]};
}
Cell side(const RunRow& row, std::size_t item) {
  return std::string(sample_item(row, item).is_of_reference ? "reference" : "submission");
}
Cell sample_index(const RunRow& row, std::size_t item) {
  return std::uint64_t{sample_item(row, item).index};
}
Cell sample_us(const RunRow& row, std::size_t item) {
  return static_cast<double>(sample_item(row, item).ns) / 1e3;
}
Cell case_of_sample(const RunRow& row, std::size_t item) {
  return case_name(row, sample_item(row, item).of_case);
}

// Returns the number of figures of all kernels of a job's profile.
std::size_t metrics(const RunRow& row) {
  std::size_t n = 0;
  if (!row.result || !row.result->profile) return n;
  for (const KernelProfile& kernel : row.result->profile->kernels) n += kernel.metrics.size();
  return n;
}
struct MetricItem {
  std::size_t kernel_index;
  const KernelProfile& kernel;
  const ProfileMetric& metric;
};
MetricItem metric_item(const RunRow& row, std::size_t item) {
  const std::vector<KernelProfile>& kernels = row.result->profile->kernels;
  std::size_t n = 0;
  while (item >= kernels[n].metrics.size()) item -= kernels[n++].metrics.size();
  return {n, kernels[n], kernels[n].metrics[item]};
}

constexpr ItemColumn kMetricColumns[] = {
    {"kernel_n", ColumnType::integer, "", "index of the kernel in the profiled call, from 0",
     [](const RunRow& row, std::size_t item) -> Cell { return std::uint64_t{metric_item(row, item).kernel_index}; }},
    {"kernel", ColumnType::text, "", "name of the kernel",
     [](const RunRow& row, std::size_t item) -> Cell { return metric_item(row, item).kernel.kernel; }},
    {"metric", ColumnType::text, "", "name of the figure as GROUP.KEY; the key ends in its unit",
     [](const RunRow& row, std::size_t item) -> Cell { return metric_item(row, item).metric.name; }},
    {"metric_value", ColumnType::number, "", "value of the figure",
     [](const RunRow& row, std::size_t item) -> Cell { return metric_item(row, item).metric.value; }},
};
constexpr ItemColumn kCaseColumns[] = {
    {"case_n", ColumnType::integer, "", "index of the case in the problem, from 0",
     [](const RunRow&, std::size_t item) -> Cell { return std::uint64_t{item}; }},
    {"case_id", ColumnType::text, "", "name of the case",
     [](const RunRow& row, std::size_t item) -> Cell { return case_name(row, item); }},
    {"case_weight", ColumnType::number, "", "weight of the case's time in the job's time", case_weight},
};
constexpr ItemColumn kSampleColumns[] = {
    {"side", ColumnType::text, "", "which side was called: submission, reference", side},
    {"sample_n", ColumnType::integer, "", "index of the timed call of that side, from 0", sample_index},
    {"sample_us", ColumnType::number, "us", "time of the call, measured by the judge", sample_us},
    {"sample_case", ColumnType::text, "", "name of the case whose inputs the call had", case_of_sample},
};
constexpr std::string_view kJobColumnsShown[] = {"schema",  "job_id",       "run",    "label",
                                                 "problem", "problem_hash", "author", "device_model"};

constexpr Level kLevels[] = {
    {"job", "one row per job", one, {}, {}, false},
    {"case",
     "one row per case of a job's problem; a problem of KernelBench has one case",
     case_count,
     kCaseColumns,
     {},
     false,
     case_of},
    {"sample", "one row per timed call", samples, kSampleColumns, kJobColumnsShown, true},
    {"metric", "one row per figure of a profiled kernel", metrics, kMetricColumns, kJobColumnsShown, false},
};

}  // namespace

std::size_t case_count(const RunRow& row) {
  return has_cases(row) ? row.result->cases.size() : 1;
}

RunRow case_of(const RunRow& row, std::size_t item) {
  RunRow shown = row;
  if (!has_cases(row)) return shown;
  shown.result->verdict = row.result->cases[item].verdict;
  shown.result->samples = row.result->cases[item].samples;
  return shown;
}

std::string case_name(const RunRow& row, std::size_t item) {
  return has_cases(row) ? row.result->cases[item].workload : std::string(kDefaultWorkload);
}

std::span<const Level> levels() {
  return kLevels;
}

const Level* find_level(std::string_view name) {
  for (const Level& level : kLevels) {
    if (level.name == name) return &level;
  }
  return nullptr;
}

}  // namespace kq::tools
