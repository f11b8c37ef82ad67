#include "tools/table/levels.h"

#include <string>

namespace kq::tools {
namespace {

std::size_t one(const RunRow&) {
  return 1;
}
std::size_t cases(const RunRow& row) {
  return row.entry.submission.problem.workloads.size();
}
std::size_t samples(const RunRow& row) {
  return row.result ? row.result->samples.submission_ns.size() + row.result->samples.reference_ns.size() : 0;
}

// The items at the level `sample` are the samples of the submission in the order of measurement, then those of the
// reference.
bool is_of_reference(const RunRow& row, std::size_t item) {
  return item >= row.result->samples.submission_ns.size();
}
Cell side(const RunRow& row, std::size_t item) {
  return std::string(is_of_reference(row, item) ? "reference" : "submission");
}
std::size_t index_on_side(const RunRow& row, std::size_t item) {
  return is_of_reference(row, item) ? item - row.result->samples.submission_ns.size() : item;
}
Cell sample_index(const RunRow& row, std::size_t item) {
  return std::uint64_t{index_on_side(row, item)};
}
Cell sample_us(const RunRow& row, std::size_t item) {
  const Samples& all = row.result->samples;
  const auto& of_side = is_of_reference(row, item) ? all.reference_ns : all.submission_ns;
  return static_cast<double>(of_side[index_on_side(row, item)]) / 1e3;
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
     [](const RunRow& row, std::size_t item) -> Cell { return row.entry.submission.problem.workloads[item].name; }},
};
constexpr ItemColumn kSampleColumns[] = {
    {"side", ColumnType::text, "", "which side was called: submission, reference", side},
    {"sample_n", ColumnType::integer, "", "index of the timed call of that side, from 0", sample_index},
    {"sample_us", ColumnType::number, "us", "time of the call, measured by the judge", sample_us},
};
constexpr std::string_view kJobColumnsShown[] = {"schema",  "job_id",       "run",    "label",
                                                 "problem", "problem_hash", "author", "device_model"};

constexpr Level kLevels[] = {
    {"job", "one row per job", one, {}, {}, false},
    {"case",
     "one row per case of a job's problem; a problem of KernelBench has one case",
     cases,
     kCaseColumns,
     {},
     false},
    {"sample", "one row per timed call", samples, kSampleColumns, kJobColumnsShown, true},
    {"metric", "one row per figure of a profiled kernel", metrics, kMetricColumns, kJobColumnsShown, false},
};

}  // namespace

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
