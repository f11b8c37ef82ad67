// The values of a row, of which the table of columns consists. Each function of a row returns one value as a cell. It
// returns no value where the row does not have the part to which the value belongs, or where the value is unknown.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/records.h"
#include "tools/table/cell.h"

namespace kq::tools::values {

// An empty string in a record means an unknown value.
inline Cell to_cell(std::string_view value) {
  return value.empty() ? Cell() : Cell(std::string(value));
}

inline Cell to_cell(const Hash& hash) {
  return to_hex(hash);
}

inline Cell to_cell(bool value) {
  return value;
}

inline Cell to_cell(double value) {
  return value;
}

Cell to_cell(std::unsigned_integral auto value) {
  return std::uint64_t{value};
}

Cell to_cell(NamedEnum auto value) {
  return to_cell(to_string(value));
}

template <class T>
Cell to_cell(const std::optional<T>& value) {
  return value ? to_cell(*value) : Cell();
}

inline Cell us(double ns) {
  return ns / 1e3;
}

inline Cell s(std::int64_t ms) {
  return static_cast<double>(ms) / 1e3;
}

template <auto Member>
Cell job(const RunRow& row) {
  return to_cell(row.job.*Member);
}

template <auto Member>
Cell job_time(const RunRow& row) {
  return utc_time(row.job.*Member);
}

template <auto Member>
Cell submission(const RunRow& row) {
  return to_cell(row.entry.submission.*Member);
}

template <auto Member>
Cell problem(const RunRow& row) {
  return to_cell(row.entry.submission.problem.*Member);
}

template <auto Member>
Cell trials(const RunRow& row) {
  return to_cell(row.entry.submission.trials.*Member);
}

template <auto Member>
Cell entry_file(const RunRow& row) {
  const std::vector<SourceFile>& files = row.entry.submission.files;
  return files.empty() ? Cell() : to_cell(files.front().*Member);
}

template <auto Member>
Cell result(const RunRow& row) {
  return row.result ? to_cell((*row.result).*Member) : Cell();
}

template <auto Member>
Cell software(const RunRow& row) {
  return row.result ? to_cell(row.result->software.*Member) : Cell();
}

template <auto Member>
Cell toolchain(const RunRow& row) {
  return row.result ? to_cell(row.result->toolchain.*Member) : Cell();
}

template <auto Member>
Cell host(const RunRow& row) {
  return row.result ? to_cell(row.result->host.*Member) : Cell();
}

template <auto Member>
Cell stage_time(const RunRow& row) {
  return row.result ? s(row.result->times.*Member) : Cell();
}

template <auto Member>
Cell verdict(const RunRow& row) {
  return row.result ? to_cell(row_of(name_of(row.result->verdict)).*Member) : Cell();
}

Cell fault(const RunRow& row);
Cell problem_warnings(const RunRow& row);

template <auto Member>
Cell evidence(const RunRow& row) {
  const Evidence* found = row.result ? evidence_of(row.result->verdict) : nullptr;
  return found != nullptr ? to_cell(found->*Member) : Cell();
}

template <auto Member>
Cell mismatch(const RunRow& row) {
  const Evidence* found = row.result ? evidence_of(row.result->verdict) : nullptr;
  return found != nullptr && found->mismatch ? to_cell((*found->mismatch).*Member) : Cell();
}

// The same for a figure about elements, which an output of another form does not have.
template <auto Member>
Cell mismatched_element(const RunRow& row) {
  const Evidence* found = row.result ? evidence_of(row.result->verdict) : nullptr;
  return found != nullptr && found->mismatch && found->mismatch->total > 0 ? to_cell((*found->mismatch).*Member)
                                                                           : Cell();
}

template <auto Member>
Cell correctness(const RunRow& row) {
  const Correctness* found = row.result ? correctness_of(row.result->verdict) : nullptr;
  return found != nullptr ? to_cell(found->*Member) : Cell();
}

// Returns the largest error of a job whose outputs are all correct, otherwise the error of the first wrong output.
template <auto OfCorrect, auto OfMismatch>
Cell worst_error(const RunRow& row) {
  const Cell right = correctness<OfCorrect>(row);
  return right.index() != 0 ? right : mismatched_element<OfMismatch>(row);
}

// Returns the tolerance in effect where outputs were compared, otherwise the problem's. A result of an earlier version
// has no place of the worst element, and no tolerance either.
template <auto OfCorrect, auto OfMismatch, auto OfProblem>
Cell tolerance(const RunRow& row) {
  const Cell right = correctness<OfCorrect>(row);
  const Evidence* found = row.result ? evidence_of(row.result->verdict) : nullptr;
  const bool is_known = found != nullptr && found->mismatch && !found->mismatch->worst_place.empty();
  if (right.index() == 0 && is_known) return to_cell((*found->mismatch).*OfMismatch);
  return right.index() != 0 ? right : problem<OfProblem>(row);
}

// Returns the errors against the truth, or null where the truth was not computed.
const TruthErrors* truth_in(const RunRow& row);
Cell truth_kind(const RunRow& row);

// Returns no value where the truth could not be computed.
template <auto Member>
Cell truth(const RunRow& row) {
  const TruthErrors* found = truth_in(row);
  return found != nullptr && !found->kind.starts_with("none") ? to_cell(found->*Member) : Cell();
}

template <auto Member>
Cell rounding(const RunRow& row) {
  const TruthErrors* found = truth_in(row);
  return found != nullptr && found->*Member > 0 ? to_cell(found->*Member) : Cell();
}

Cell passed_by(const RunRow& row);

template <auto Member>
Cell truth_rule(const RunRow& row) {
  return to_cell(row.entry.submission.truth.*Member);
}

const Measurement* measurement_in(const RunRow& row);

template <auto Member>
Cell measurement(const RunRow& row) {
  const Measurement* found = measurement_in(row);
  return found != nullptr ? to_cell(found->*Member) : Cell();
}

template <auto Side>
Cell sample_count(const RunRow& row) {
  const Measurement* found = measurement_in(row);
  return found != nullptr ? to_cell((found->*Side).sample_count) : Cell();
}

// Returns a time of the submission or the reference, or no value when it has no samples; 0 us would be wrong.
template <auto Side, auto Member>
Cell time_us(const RunRow& row) {
  const Measurement* found = measurement_in(row);
  return found != nullptr && (found->*Side).sample_count > 0 ? us((found->*Side).*Member) : Cell();
}

// Returns no value when the job ended before it reached a device.
template <auto Member>
Cell device(const RunRow& row) {
  return row.result && !row.result->device.model.empty() ? to_cell(row.result->device.*Member) : Cell();
}

Cell file_count(const RunRow& row);

// A row of an earlier kq does not name its submitter, and then the job does.
Cell submitter_of(const RunRow& row);

// Returns the tier: 0 if only device code of the submission ran, under kq's launcher, and 2 if host code of the
// submission ran. No value for a job without sandbox layers, because no code of the submission ran. There is no tier 1.
Cell tier_of(const RunRow& row);
Cell build_cached(const RunRow& row);
Cell trials_s(const RunRow& row);

// Returns no value when the worker does not monitor the device, or when the driver does not report the figure.
template <auto Member>
Cell conditions(const RunRow& row) {
  if (!row.result || !row.result->conditions) return {};
  const auto& value = (*row.result->conditions).*Member;
  if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) {
    if (value == 0) return {};
  }
  return to_cell(value);
}

// Returns "none", or PIDs like "4711:512;4712", with the memory in MiB where the driver reports it.
Cell other_processes(const RunRow& row);
Cell cpu_cores(const RunRow& row);

template <auto Member>
Cell profile(const RunRow& row) {
  return row.result && row.result->profile ? to_cell((*row.result->profile).*Member) : Cell();
}

Cell extensions(const RunRow& row);
Cell extension_errors(const RunRow& row);
Cell cases(const RunRow& row);
Cell workloads(const RunRow& row);
Cell fell_back(const RunRow& row);
Cell own_share(const RunRow& row);
Cell decoy(const RunRow& row);
Cell kernels(const RunRow& row);
Cell findings(const RunRow& row);
Cell profile_s(const RunRow& row);
Cell time_limit_s(const RunRow& row);
Cell device_memory(const RunRow& row);
Cell tags(const RunRow& row);

template <double (*Noise)(const Measurement&)>
Cell noise_us(const RunRow& row) {
  const Measurement* found = measurement_in(row);
  if (found == nullptr || found->submission.sample_count == 0 || !std::isfinite(Noise(*found))) return {};
  return to_cell(Noise(*found) / 1e3);
}

Cell noise_of_speedup(const RunRow& row);
Cell busy_tasks(const RunRow& row);
Cell is_noisy(const RunRow& row);

template <auto Member>
Cell submission_time(const RunRow& row) {
  return utc_time(row.entry.submission.*Member);
}

Cell require(const RunRow& row);
Cell queue_s(const RunRow& row);
Cell noise_pct(const RunRow& row);
Cell speedup_mean(const RunRow& row);

template <double Measurement::*Member>
Cell clock_us(const RunRow& row) {
  const Measurement* found = measurement_in(row);
  return found != nullptr && found->submission.sample_count > 0 && found->*Member != 0 ? us(found->*Member) : Cell();
}

template <double Statistics::*Member>
Cell percentile_us(const RunRow& row) {
  const Measurement* found = measurement_in(row);
  return found != nullptr && found->submission.*Member > 0 ? us(found->submission.*Member) : Cell();
}

Cell speedup_of(const RunRow& row);

}  // namespace kq::tools::values
