#include "tools/report/compare/compare_text.h"

#include <cmath>
#include <cstdio>

#include "producer/client/sentences.h"
#include "tools/cli/text.h"
#include "tools/table/cell.h"
#include "tools/views/board_formats.h"

namespace kq::tools {
namespace {

using producer::Json;
using producer::JsonArray;
using producer::JsonObject;

Json text_or_null(const std::string& text) {
  return text.empty() ? Json{} : Json{text};
}
Json number_or_null(double value) {
  return value > 0 && std::isfinite(value) ? to_json(Cell(value)) : Json{};
}
Json count_of(std::size_t count) {
  return {static_cast<std::int64_t>(count)};
}

Json side_json(const KernelResult* side) {
  if (side == nullptr) return {};
  return {JsonObject{{"job_id", count_of(side->seq)},
                     {"outcome", {side->outcome}},
                     {"passed", {side->is_passed}},
                     {"median_us", number_or_null(side->median_us)},
                     {"reference_us", number_or_null(side->reference_us)},
                     {"device_model", text_or_null(side->device)},
                     {"versions", text_or_null(side->version)},
                     {"noise_us", number_or_null(side->noise_us)},
                     {"reference_noise_us", number_or_null(side->reference_noise_us)},
                     {"noisy", {side->is_noisy}}}};
}

Json kernel_json(const ComparedKernel& kernel) {
  return {JsonObject{{"label", {kernel.label}},
                     {"problem", text_or_null(kernel.either().problem)},
                     {"author", text_or_null(kernel.either().author)},
                     {"change", {std::string(to_string(kernel.change))}},
                     {"ratio", number_or_null(kernel.ratio)},
                     {"p", kernel.ratio > 0 ? to_json(Cell(kernel.p)) : Json{}},
                     {"reference_ratio", number_or_null(kernel.reference_ratio)},
                     {"same_source", {kernel.is_same_source}},
                     {"base", side_json(kernel.base)},
                     {"new", side_json(kernel.now)}}};
}

Json counts_json(const std::map<Change, std::size_t>& counts) {
  JsonObject object;
  for (const auto& [change, count] : counts) object.emplace_back(to_string(change), count_of(count));
  return {std::move(object)};
}

Json comparison_json(const Comparison& comparison) {
  std::map<Change, std::size_t> counts;
  JsonArray kernels, notes;
  for (const ComparedKernel& kernel : comparison.kernels) {
    ++counts[kernel.change];
    kernels.push_back(kernel_json(kernel));
  }
  for (const std::string& note : comparison.notes) notes.push_back({note});
  JsonObject groups;
  for (const std::string_view property : kCompareGroups) {
    JsonObject values;
    for (const auto& [value, by_change] : grouped(comparison, property))
      values.emplace_back(value, counts_json(by_change));
    groups.emplace_back(property, Json{std::move(values)});
  }
  return {JsonObject{{"base", {comparison.base_run}},
                     {"new", {comparison.run}},
                     {"regression_count", count_of(comparison.regression_count())},
                     {"counts", counts_json(counts)},
                     {"notes", {std::move(notes)}},
                     {"by", {std::move(groups)}},
                     {"kernels", {std::move(kernels)}}}};
}

std::string p_text(const ComparedKernel& kernel) {
  if (!(kernel.ratio > 0)) return "-";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, kernel.p < 0.001 ? "%.0e" : "%.3f", kernel.p);
  return buffer;
}

}  // namespace

bool is_change(Change change) {
  return change != Change::same && change != Change::failing;
}

std::string figure_or_outcome(const KernelResult& side, Metric metric) {
  if (const auto state = parse_enum<JobState>(side.outcome)) return producer::state_text(*state);
  if (!side.is_passed) return side.outcome;
  if (metric == Metric::speedup && side.median_us > 0 && side.reference_us > 0) {
    const double own = side.noise_us / side.median_us, reference = side.reference_noise_us / side.reference_us;
    return (side.is_noisy ? "~" : "") + speedup_text(side.reference_us / side.median_us) +
           noise_text(1, std::hypot(own, reference));
  }
  return (side.is_noisy ? "~" : "") + time_text(side.median_us * 1e3) + noise_text(side.median_us, side.noise_us);
}

std::string ratio_text(double ratio) {
  if (!(ratio > 0)) return "-";
  const std::string times = speedup_text(ratio >= 1 ? ratio : 1 / ratio);
  return times == speedup_text(1) ? "as before" : times + (ratio >= 1 ? " faster" : " slower");
}

std::string compare_table(const Comparison& comparison, const CompareTextOptions& options) {
  const bool is_of_speedups = comparison.metric == Metric::speedup;
  std::string text = printable(comparison.base_run) + " -> " + printable(comparison.run) +
                     (is_of_speedups ? ", by speedup over the reference of the same run\n" : "\n");
  std::vector<std::vector<std::string>> cells;
  std::map<Change, std::size_t> counts;
  bool is_any_busy = false;
  for (const ComparedKernel& kernel : comparison.kernels) {
    ++counts[kernel.change];
    if (!options.all && !is_change(kernel.change)) continue;
    const auto side = [&](const KernelResult* one) {
      if (one == nullptr) return std::string("-");
      is_any_busy = is_any_busy || (one->is_passed && one->is_noisy);
      return figure_or_outcome(*one, comparison.metric);
    };
    cells.push_back({std::string(to_string(kernel.change)), kernel.label, side(kernel.base), side(kernel.now),
                     ratio_text(kernel.ratio), p_text(kernel), ratio_text(kernel.reference_ratio)});
  }
  if (!cells.empty())
    text += table(
        {{"change"}, {"kernel"}, {"base", true}, {"new", true}, {"by", true}, {"p", true}, {"the reference", true}},
        cells);
  if (is_any_busy) text += "~: " + std::string(kBusyMeans) + '\n';
  text += producer::counted(comparison.kernels.size(), "kernel") + ":";
  for (const auto& [change, count] : counts)
    text +=
        (change == counts.begin()->first ? " " : ", ") + std::to_string(count) + " " + std::string(to_string(change));
  text += '\n';
  if (!options.by.empty()) {
    std::vector<std::vector<std::string>> groups;
    for (const auto& [value, by_change] : grouped(comparison, options.by)) {
      std::string line;
      for (const auto& [change, count] : by_change)
        line += (line.empty() ? "" : ", ") + std::to_string(count) + " " + std::string(to_string(change));
      groups.push_back({value, line});
    }
    text += table({{options.by}, {"kernels"}}, groups);
  }
  for (const std::string& note : comparison.notes) text += "note: " + printable(note) + '\n';
  return text;
}

producer::Json compare_json(std::span<const Comparison> comparisons, const CompareOptions& options) {
  JsonArray all;
  for (const Comparison& comparison : comparisons) all.push_back(comparison_json(comparison));
  return {JsonObject{{"schema", {std::string("kq.comparison/1")}},
                     {"test", {std::string("Mann-Whitney, adjusted by Benjamini-Hochberg")}},
                     {"alpha", to_json(Cell(options.alpha))},
                     {"min_change_pct", to_json(Cell(100 * options.change_min))},
                     {"metric", {std::string(options.metric == Metric::time ? "time" : "speedup")}},
                     {"comparisons", {std::move(all)}}}};
}

}  // namespace kq::tools
