#include "tools/table/row_values.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/own_share.h"

namespace kq::tools::values {
namespace {

const KernelsRan* kernels_ran(const RunRow& row) {
  return row.result && row.result->kernels_ran ? &*row.result->kernels_ran : nullptr;
}

}  // namespace

Cell fault(const RunRow& row) {
  return row.result ? to_cell(fault_of(row.result->verdict)) : Cell();
}

Cell problem_warnings(const RunRow& row) {
  std::string all;
  for (const ProblemWarning& warning : row.result ? row.result->problem_warnings : std::vector<ProblemWarning>())
    all += (all.empty() ? "" : "; ") + warning.message;
  return all.empty() ? Cell() : to_cell(std::string_view(all));
}

const TruthErrors* truth_in(const RunRow& row) {
  if (!row.result) return nullptr;
  if (const Correctness* right = correctness_of(row.result->verdict)) return right->truth ? &*right->truth : nullptr;
  const Evidence* found = evidence_of(row.result->verdict);
  return found != nullptr && found->truth ? &*found->truth : nullptr;
}

Cell truth_kind(const RunRow& row) {
  const TruthErrors* found = truth_in(row);
  return found != nullptr ? to_cell(found->kind) : Cell();
}

Cell passed_by(const RunRow& row) {
  const Correctness* found = row.result ? correctness_of(row.result->verdict) : nullptr;
  return found == nullptr ? Cell() : to_cell(std::string_view(found->truth ? "truth" : "reference"));
}

const Measurement* measurement_in(const RunRow& row) {
  return row.result ? measurement_of(row.result->verdict) : nullptr;
}

Cell file_count(const RunRow& row) {
  return to_cell(row.entry.submission.files.size());
}

Cell submitter_of(const RunRow& row) {
  return submitter_behind(row.entry.submitter.empty() ? row.job.submitter : row.entry.submitter, row.run);
}

Cell tier_of(const RunRow& row) {
  if (!row.result || row.result->sandbox.empty()) return {};
  const bool is_device_code =
      row.entry.submission.backend == Backend::cuda && row.result->device.kind == DeviceKind::cuda;
  return to_cell(is_device_code ? 0u : 2u);
}

Cell build_cached(const RunRow& row) {
  return row.result ? to_cell(row.result->times.build_cached) : Cell();
}

Cell trials_s(const RunRow& row) {
  return row.result && row.result->times.trials_us > 0 ? to_cell(static_cast<double>(row.result->times.trials_us) / 1e6)
                                                       : Cell();
}

Cell other_processes(const RunRow& row) {
  if (!row.result || !row.result->conditions || !row.result->conditions->foreign) return {};
  std::string joined;
  for (const GpuProcess& one : *row.result->conditions->foreign) {
    joined += (joined.empty() ? "" : ";") + std::to_string(one.pid);
    if (one.memory_mib > 0) joined += ":" + std::to_string(one.memory_mib);
  }
  return to_cell(joined.empty() ? std::string_view("none") : std::string_view(joined));
}

Cell cpu_cores(const RunRow& row) {
  return row.result && row.result->host.cores > 0 ? to_cell(row.result->host.cores) : Cell();
}

Cell extensions(const RunRow& row) {
  if (!row.result || !row.result->extensions) return {};
  return std::to_string(row.result->extensions->compiled) + " of " + std::to_string(row.result->extensions->calls);
}

Cell extension_errors(const RunRow& row) {
  if (!row.result || !row.result->extensions) return {};
  std::string joined;
  for (const FailedExtension& failed : row.result->extensions->failed)
    joined += (joined.empty() ? "" : "; ") + failed.name + ": " + failed.error;
  return to_cell(joined);
}

Cell cases(const RunRow& row) {
  if (!row.result || row.result->cases.empty()) return {};
  const auto has_passed = [](const CaseResult& one) { return name_of(one.verdict) == VerdictName::passed; };
  return std::to_string(std::ranges::count_if(row.result->cases, has_passed)) + " of " +
         std::to_string(row.result->cases.size());
}

Cell workloads(const RunRow& row) {
  const Problem& problem = row.entry.submission.problem;
  if (runs_all_workloads(problem)) return {};
  std::string names;
  for (const Workload& workload : problem.workloads) names += (names.empty() ? "" : ",") + workload.name;
  return names;
}

Cell fell_back(const RunRow& row) {
  return row.result && row.result->extensions ? Cell(row.result->extensions->fell_back) : Cell();
}

Cell own_share(const RunRow& row) {
  const KernelsRan* const ran = kernels_ran(row);
  return ran != nullptr && ran->own_share ? Cell(*ran->own_share) : Cell();
}

Cell decoy(const RunRow& row) {
  const KernelsRan* const ran = kernels_ran(row);
  return ran != nullptr ? Cell(ran->is_decoy) : Cell();
}

Cell kernels(const RunRow& row) {
  const KernelsRan* const ran = kernels_ran(row);
  if (ran == nullptr || ran->kernels.empty()) return {};
  producer::JsonArray list;
  for (const RanKernel& kernel : ran->kernels) {
    list.push_back(
        producer::Json{producer::JsonObject{{"name", producer::Json{kernel.name}},
                                            {"owner", producer::Json{std::string(to_string(kernel.owner))}},
                                            {"count", producer::Json{static_cast<std::int64_t>(kernel.count)}},
                                            {"ns", producer::Json{kernel.ns}}}});
  }
  return producer::to_text(producer::Json{std::move(list)});
}

Cell findings(const RunRow& row) {
  if (!row.result || row.result->findings.empty()) return {};
  std::string text;
  for (const ReviewFinding& finding : row.result->findings)
    text += (text.empty() ? "" : "; ") + finding.rule + " at " + finding.place;
  return text;
}

Cell profile_s(const RunRow& row) {
  return row.result && row.result->profile && row.result->profile->ms > 0 ? s(row.result->profile->ms) : Cell();
}

Cell time_limit_s(const RunRow& row) {
  return row.entry.submission.time_limit_ms > 0 ? s(row.entry.submission.time_limit_ms) : Cell();
}

Cell device_memory(const RunRow& row) {
  return row.result && row.result->device.memory_bytes > 0 ? to_cell(row.result->device.memory_bytes) : Cell();
}

Cell tags(const RunRow& row) {
  std::string joined;
  for (const auto& [name, value] : row.entry.submission.tags)
    joined += (joined.empty() ? "" : ";") + name + "=" + value;
  return to_cell(joined);
}

Cell noise_of_speedup(const RunRow& row) {
  const Measurement* found = measurement_in(row);
  return found == nullptr || !std::isfinite(speedup_noise(*found)) ? Cell() : to_cell(speedup_noise(*found));
}

Cell busy_tasks(const RunRow& row) {
  const Measurement* found = measurement_in(row);
  return found == nullptr || found->busy_tasks <= 0 ? Cell() : to_cell(found->busy_tasks);
}

Cell is_noisy(const RunRow& row) {
  const Measurement* found = measurement_in(row);
  return found == nullptr ? Cell() : Cell(found->is_noisy);
}

Cell require(const RunRow& row) {
  std::string joined;
  for (const std::string& label : row.entry.submission.labels) joined += (joined.empty() ? "" : ";") + label;
  return to_cell(joined);
}

Cell queue_s(const RunRow& row) {
  return row.job.leased_at_ms > 0 ? s(row.job.leased_at_ms - row.job.submitted_at_ms) : Cell();
}

Cell noise_pct(const RunRow& row) {
  const Measurement* found = measurement_in(row);
  if (found == nullptr || found->submission.sample_count < 2 || found->submission.mean_ns <= 0) return {};
  return to_cell(100 * found->submission.std_ns / found->submission.mean_ns);
}

Cell speedup_mean(const RunRow& row) {
  const Measurement* found = measurement_in(row);
  if (found == nullptr || found->submission.mean_ns <= 0 || found->reference.mean_ns <= 0) return {};
  return to_cell(found->reference.mean_ns / found->submission.mean_ns);
}

Cell speedup_of(const RunRow& row) {
  const Measurement* found = measurement_in(row);
  return found != nullptr && speedup(*found) > 0 ? to_cell(speedup(*found)) : Cell();
}

}  // namespace kq::tools::values
