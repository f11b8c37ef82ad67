#include "tools/table/columns.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

namespace kq::tools {
namespace {

// An empty string in a record means an unknown value.
Cell to_cell(std::string_view value) {
  return value.empty() ? Cell() : Cell(std::string(value));
}
Cell to_cell(const Hash& hash) {
  return to_hex(hash);
}
Cell to_cell(bool value) {
  return value;
}
Cell to_cell(double value) {
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
Cell us(double ns) {
  return ns / 1e3;
}
Cell s(std::int64_t ms) {
  return static_cast<double>(ms) / 1e3;
}

// The getters of columns. Each returns one member of a part of the row, or no value when the row has no such part.

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
Cell fault(const RunRow& row) {
  return row.result ? to_cell(fault_of(row.result->verdict)) : Cell();
}
Cell problem_warnings(const RunRow& row) {
  std::string all;
  for (const ProblemWarning& warning : row.result ? row.result->problem_warnings : std::vector<ProblemWarning>())
    all += (all.empty() ? "" : "; ") + warning.message;
  return all.empty() ? Cell() : to_cell(std::string_view(all));
}
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
Cell passed_by(const RunRow& row) {
  const Correctness* found = row.result ? correctness_of(row.result->verdict) : nullptr;
  return found == nullptr ? Cell() : to_cell(std::string_view(found->truth ? "truth" : "reference"));
}
template <auto Member>
Cell truth_rule(const RunRow& row) {
  return to_cell(row.entry.submission.truth.*Member);
}
const Measurement* measurement_in(const RunRow& row) {
  return row.result ? measurement_of(row.result->verdict) : nullptr;
}
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

Cell schema(const RunRow&) {
  return to_cell(kRowSchema);
}
Cell file_count(const RunRow& row) {
  return to_cell(row.entry.submission.files.size());
}
// A row of an earlier kq does not name its submitter, and then the job does.
Cell submitter_of(const RunRow& row) {
  return row.entry.submitter.empty() ? row.job.submitter : row.entry.submitter;
}

// Returns the tier: 0 if only device code of the submission ran, under kq's launcher, and 2 if host code of the
// submission ran. No value for a job without sandbox layers, because no code of the submission ran. There is no tier 1.
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
template <auto Member>
Cell profile(const RunRow& row) {
  return row.result && row.result->profile ? to_cell((*row.result->profile).*Member) : Cell();
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
const KernelsRan* kernels_ran(const RunRow& row) {
  return row.result && row.result->kernels_ran ? &*row.result->kernels_ran : nullptr;
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
template <double (*Noise)(const Measurement&)>
Cell noise_us(const RunRow& row) {
  const Measurement* found = measurement_in(row);
  if (found == nullptr || found->submission.sample_count == 0 || !std::isfinite(Noise(*found))) return {};
  return to_cell(Noise(*found) / 1e3);
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
template <auto Member>
Cell submission_time(const RunRow& row) {
  return utc_time(row.entry.submission.*Member);
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
Cell speedup_of(const RunRow& row) {
  const Measurement* found = measurement_in(row);
  return found != nullptr && speedup(*found) > 0 ? to_cell(speedup(*found)) : Cell();
}

constexpr auto kSubmission = &Measurement::submission;
constexpr auto kReference = &Measurement::reference;

constexpr Column kColumns[] = {
    // identity
    {"schema", ColumnType::text, "", "version of these columns", schema},
    {"job_id", ColumnType::integer, "", "number of the job at the broker", job<&JobRecord::seq>},
    {"run", ColumnType::text, "", "run in which the job was submitted",
     [](const RunRow& row) { return to_cell(row.run); }},
    {"label", ColumnType::text, "", "name of the job, unique in its run", submission<&Submission::label>},
    {"problem", ColumnType::text, "", "name of the problem", problem<&Problem::name>},
    {"problem_hash", ColumnType::text, "", "SHA-256 of the reference source", problem<&Problem::hash>},
    {"kernel_file", ColumnType::text, "", "name of the submission's entry file", entry_file<&SourceFile::name>},
    {"kernel_hash", ColumnType::text, "", "SHA-256 of the entry file", entry_file<&SourceFile::hash>},
    {"files_n", ColumnType::integer, "", "number of files of the submission", file_count},
    {"author", ColumnType::text, "", "author of the submission", submission<&Submission::author>},
    {"tags", ColumnType::text, "", "tags as name=value, joined by semicolons", tags},
    {"idempotency_key", ColumnType::text, "",
     "hash of everything that decides the result; submissions with equal keys share one job", job<&JobRecord::key>},
    // job
    {"backend", ColumnType::text, "",
     "how the submission is built and called: torch, triton, cuda, torch_cuda, multi_kernel, eval_program",
     submission<&Submission::backend>},
    {"precision", ColumnType::text, "", "type to which floating-point inputs are cast", problem<&Problem::precision>},
    {"device_wish", ColumnType::text, "", "kind of device that the submission asks for: any, cpu, cuda",
     submission<&Submission::device>},
    {"gpu_model_wish", ColumnType::text, "", "GPU model that the submission asks for",
     submission<&Submission::gpu_model>},
    {"submitted_at", ColumnType::time, "", "time of the submission, RFC 3339 in UTC",
     job_time<&JobRecord::submitted_at_ms>},
    {"leased_at", ColumnType::time, "", "start of the newest attempt, RFC 3339 in UTC",
     job_time<&JobRecord::leased_at_ms>},
    {"finished_at", ColumnType::time, "", "time at which the job finished, RFC 3339 in UTC",
     job_time<&JobRecord::finished_at_ms>},
    {"attempt", ColumnType::integer, "", "number of leases so far", job<&JobRecord::attempt>},
    {"retries", ColumnType::integer, "", "number of attempts that ended in a failure of kq", job<&JobRecord::failures>},
    {"last_error", ColumnType::text, "", "message of the last failure of kq", job<&JobRecord::last_error>},
    // verdict
    {"state", ColumnType::text, "", "state of the job: queued, leased or finished", job<&JobRecord::state>},
    {"verdict", ColumnType::text, "", "how the job ended", verdict<&VerdictRow::name>},
    {"fault", ColumnType::text, "", "whose fault the verdict is: none, user, policy, problem, nobody, ours", fault},
    {"stage", ColumnType::text, "", "stage in which the job ended", evidence<&Evidence::stage>},
    {"reason", ColumnType::text, "", "detail of the verdict: shape, stream, host", evidence<&Evidence::reason>},
    {"rule", ColumnType::text, "", "rule that rejected the submission", evidence<&Evidence::rule>},
    {"place", ColumnType::text, "", "file:line of a rejection, a build error or a crash", evidence<&Evidence::place>},
    {"message", ColumnType::text, "", "evidence for people; may quote the submission", evidence<&Evidence::message>},
    {"hint", ColumnType::text, "", "what would help", evidence<&Evidence::hint>},
    // correctness
    {"rtol", ColumnType::number, "",
     "relative tolerance in effect; before outputs were compared that of the problem, empty means by dtype",
     tolerance<&Correctness::rtol, &Mismatch::rtol, &Problem::rtol>},
    {"atol", ColumnType::number, "",
     "absolute tolerance in effect; before outputs were compared that of the problem, empty means by dtype",
     tolerance<&Correctness::atol, &Mismatch::atol, &Problem::atol>},
    {"correctness_n", ColumnType::integer, "", "number of correctness trials asked for", trials<&Trials::correctness>},
    {"warmup_n", ColumnType::integer, "", "number of warm-up trials asked for", trials<&Trials::warmup>},
    {"timed_n", ColumnType::integer, "", "number of timed trials asked for", trials<&Trials::timed>},
    {"trials_passed", ColumnType::integer, "", "number of trials whose outputs were all correct",
     correctness<&Correctness::trials_passed>},
    {"max_abs_err", ColumnType::number, "", "largest absolute error seen",
     worst_error<&Correctness::max_abs_err, &Mismatch::max_abs_err>},
    {"max_rel_err", ColumnType::number, "", "largest relative error seen",
     worst_error<&Correctness::max_rel_err, &Mismatch::max_rel_err>},
    {"mismatch_n", ColumnType::integer, "", "number of wrong elements in the first wrong output",
     mismatched_element<&Mismatch::mismatched>},
    {"mismatch_total_n", ColumnType::integer, "", "number of elements of the first wrong output",
     mismatched_element<&Mismatch::total>},
    {"mismatch_trial", ColumnType::integer, "", "trial of the first wrong output", mismatch<&Mismatch::trial>},
    {"mismatch_output", ColumnType::integer, "", "index of the first wrong output in its trial",
     mismatch<&Mismatch::output>},
    {"mismatch_element", ColumnType::integer, "", "row-major index of the first wrong element",
     mismatched_element<&Mismatch::element>},
    {"mismatch_expected", ColumnType::number, "", "expected value of the first wrong element",
     mismatched_element<&Mismatch::expected>},
    {"mismatch_got", ColumnType::number, "", "actual value of the first wrong element",
     mismatched_element<&Mismatch::got>},
    // timing
    {"method", ColumnType::text, "",
     "how times were measured; self_reported: by the problem's own program, beside the submission",
     measurement<&Measurement::method>},
    {"samples_n", ColumnType::integer, "", "number of timed samples of the submission", sample_count<kSubmission>},
    {"median_us", ColumnType::number, "us", "median time of one call", time_us<kSubmission, &Statistics::median_ns>},
    {"mean_us", ColumnType::number, "us", "mean time of one call", time_us<kSubmission, &Statistics::mean_ns>},
    {"std_us", ColumnType::number, "us", "sample standard deviation of the times",
     time_us<kSubmission, &Statistics::std_ns>},
    {"min_us", ColumnType::number, "us", "time of the fastest sample", time_us<kSubmission, &Statistics::min_ns>},
    {"max_us", ColumnType::number, "us", "time of the slowest sample", time_us<kSubmission, &Statistics::max_ns>},
    {"p95_us", ColumnType::number, "us", "95th percentile of the times; empty below 20 samples",
     percentile_us<&Statistics::p95_ns>},
    {"p99_us", ColumnType::number, "us", "99th percentile of the times; empty below 100 samples",
     percentile_us<&Statistics::p99_ns>},
    {"attested_us", ColumnType::number, "us", "median time by the judge's clock alone",
     clock_us<&Measurement::attested_ns>},
    {"event_us", ColumnType::number, "us", "median time by the submission's own clock; a hint only",
     clock_us<&Measurement::event_ns>},
    {"burst_us", ColumnType::number, "us",
     "time of one call when several calls share one interval; measured for short calls",
     clock_us<&Measurement::burst_ns>},
    {"overhead_us", ColumnType::number, "us", "time of an empty call, which is already subtracted from every sample",
     clock_us<&Measurement::overhead_ns>},
    {"drift_us", ColumnType::number, "us",
     "how much the time of an empty call of a trusted process changed during the job",
     clock_us<&Measurement::drift_ns>},
    // reference
    {"reference_samples_n", ColumnType::integer, "", "number of timed samples of the reference",
     sample_count<kReference>},
    {"reference_us", ColumnType::number, "us", "median time of the reference on the same inputs",
     time_us<kReference, &Statistics::median_ns>},
    {"reference_std_us", ColumnType::number, "us", "sample standard deviation of the reference's times",
     time_us<kReference, &Statistics::std_ns>},
    {"speedup", ColumnType::number, "", "reference_us / median_us", speedup_of},
    // build and run
    {"build_s", ColumnType::number, "s", "duration of the build", stage_time<&StageTimes::build_ms>},
    {"build_cached", ColumnType::boolean, "", "whether the build came from the cache", build_cached},
    {"run_s", ColumnType::number, "s", "duration from the start of the first process to the end of the last",
     stage_time<&StageTimes::run_ms>},
    // device, host, software, sandbox
    {"device", ColumnType::text, "", "kind of device that ran the job: cpu, cuda", device<&DeviceInfo::kind>},
    {"device_model", ColumnType::text, "", "model of the device", device<&DeviceInfo::model>},
    {"device_uuid", ColumnType::text, "", "UUID of the GPU", device<&DeviceInfo::uuid>},
    {"device_arch", ColumnType::text, "", "architecture for which device code was compiled", device<&DeviceInfo::arch>},
    {"device_memory_bytes", ColumnType::integer, "bytes", "memory of the device", device_memory},
    {"worker", ColumnType::text, "", "worker that ran the job", result<&Result::worker>},
    {"kq_version", ColumnType::text, "", "version of kq on the worker", software<&Software::kq>},
    {"python", ColumnType::text, "", "version of Python on the worker", software<&Software::python>},
    {"torch", ColumnType::text, "", "version of torch on the worker", software<&Software::torch>},
    {"triton", ColumnType::text, "", "version of triton on the worker", software<&Software::triton>},
    {"cuda", ColumnType::text, "", "version of CUDA on the worker", software<&Software::cuda>},
    {"sandbox", ColumnType::text, "", "sandbox layers that were in force", result<&Result::sandbox>},
    {"tier", ColumnType::integer, "", "which code of the submission could run on the host: 0 none, 2 all of it",
     tier_of},
    // later additions, in order
    {"build_compiler", ColumnType::text, "", "compiler of the build", toolchain<&Toolchain::compiler>},
    {"build_flags", ColumnType::text, "", "compiler flags that affect the code, including the submission's own",
     toolchain<&Toolchain::flags>},
    {"submitter", ColumnType::text, "", "submitter of the row, as its key proves it", submitter_of},
    {"priority", ColumnType::text, "", "priority of the job: low, normal or high", submission<&Submission::priority>},
    {"not_before", ColumnType::time, "", "time before which the job must not start, RFC 3339 in UTC",
     submission_time<&Submission::not_before_ms>},
    {"deadline", ColumnType::time, "", "time at which the job expires unless it has started, RFC 3339 in UTC",
     submission_time<&Submission::deadline_ms>},
    {"require", ColumnType::text, "", "labels that the worker must have, joined by semicolons", require},
    {"queue_s", ColumnType::number, "s", "duration from the submission to the newest attempt", queue_s},
    {"noise_pct", ColumnType::number, "pct", "std_us in percent of mean_us", noise_pct},
    {"reference_mean_us", ColumnType::number, "us", "mean time of the reference",
     time_us<kReference, &Statistics::mean_ns>},
    {"reference_min_us", ColumnType::number, "us", "time of the reference's fastest sample",
     time_us<kReference, &Statistics::min_ns>},
    {"reference_max_us", ColumnType::number, "us", "time of the reference's slowest sample",
     time_us<kReference, &Statistics::max_ns>},
    {"speedup_mean", ColumnType::number, "", "reference_mean_us / mean_us, which KernelBench calls the speedup",
     speedup_mean},
    {"hostname", ColumnType::text, "", "name of the machine that ran the job", host<&Host::name>},
    {"cpu_model", ColumnType::text, "", "processor of the machine", host<&Host::cpu>},
    {"cpu_cores", ColumnType::integer, "", "number of cores that the worker may use", cpu_cores},
    {"cpu_governor", ColumnType::text, "", "frequency governor of the processor: performance, powersave",
     host<&Host::governor>},
    {"os_kernel", ColumnType::text, "", "version of the machine's Linux kernel", host<&Host::kernel>},
    {"distro", ColumnType::text, "", "Linux distribution of the machine", host<&Host::distro>},
    {"libc", ColumnType::text, "", "C library of the machine", host<&Host::libc>},
    {"driver", ColumnType::text, "", "version of the NVIDIA driver", host<&Host::driver>},
    {"container", ColumnType::text, "", "container runtime of the worker: docker, podman, kubernetes",
     host<&Host::container>},
    {"scheduler", ColumnType::text, "", "scheduler that started the worker: slurm, kubernetes", host<&Host::scheduler>},
    {"scheduler_job_id", ColumnType::text, "", "name of the worker's job at the scheduler", host<&Host::scheduled_as>},
    {"evaluator", ColumnType::text, "", "version of the evaluation; results of different versions are not comparable",
     software<&Software::evaluator>},
    {"packages_hash", ColumnType::text, "", "SHA-256 of the names and versions of the Python packages",
     software<&Software::packages>},
    {"time_limit_s", ColumnType::number, "s", "limit of the build and of the run that the submission asks for",
     time_limit_s},
    {"trials_s", ColumnType::number, "s",
     "part of run_s from the first trial to the end of the last; the rest is the overhead of a job", trials_s},
    {"sm_clock_mhz", ColumnType::integer, "mhz", "clock of the GPU's multiprocessors right after the trials",
     conditions<&Conditions::sm_clock_mhz>},
    {"mem_clock_mhz", ColumnType::integer, "mhz", "clock of the GPU's memory right after the trials",
     conditions<&Conditions::memory_clock_mhz>},
    {"temp_c", ColumnType::integer, "c", "temperature of the GPU right after the trials",
     conditions<&Conditions::temperature_c>},
    {"power_w", ColumnType::number, "w",
     "power draw of the GPU, averaged over the last second where the driver does so", conditions<&Conditions::power_w>},
    {"throttle", ColumnType::text, "",
     "reasons for reduced clocks in the words of nvidia-smi, joined by commas: none, sw_power_cap, hw_thermal_slowdown",
     conditions<&Conditions::throttle>},
    {"other_procs_on_gpu", ColumnType::text, "",
     "processes of others on the GPU as PID:MiB, joined by semicolons; none if there are none", other_processes},
    {"baseline", ColumnType::text, "",
     "what the time is compared with: the reference as it is (eager), or under torch.compile (compile)",
     trials<&Trials::baseline>},
    {"profile", ColumnType::text, "",
     "profiler that the submission asks for: none, ncu; its figures are rows of --level metric",
     trials<&Trials::profile>},
    {"profile_dir", ColumnType::text, "", "directory of the profiler's files on the worker's machine",
     profile<&Profile::directory>},
    {"profile_message", ColumnType::text, "", "why the profile is incomplete", profile<&Profile::message>},
    {"profile_s", ColumnType::number, "s", "duration of the profiling pass, which is not part of run_s", profile_s},
    {"need_extensions", ColumnType::boolean, "", "whether an extension that does not compile ends the job",
     trials<&Trials::need_extensions>},
    {"extensions", ColumnType::text, "", "calls of load_inline and load that compiled, out of all: 1 of 2", extensions},
    {"extension_errors", ColumnType::text, "", "first error of each call that does not compile, joined by semicolons",
     extension_errors},
    {"fell_back", ColumnType::boolean, "",
     "whether the submission caught such an error, so that it ran without that extension", fell_back},
    {"cases", ColumnType::text, "", "cases that passed, out of all that ran, where the problem has several: 3 of 4",
     cases},
    {"workloads", ColumnType::text, "", "workloads that the submission selects, joined by commas; empty: all",
     workloads},
    {"mismatch_place", ColumnType::text, "", "indices of the worst element of the first wrong output: [3, 17]",
     mismatch<&Mismatch::worst_place>},
    {"worst_expected", ColumnType::number, "", "expected value of that element",
     mismatched_element<&Mismatch::worst_expected>},
    {"worst_got", ColumnType::number, "", "actual value of that element", mismatched_element<&Mismatch::worst_got>},
    {"worst_err", ColumnType::number, "", "absolute error of that element", mismatched_element<&Mismatch::worst_error>},
    {"worst_allowed", ColumnType::number, "", "error that is allowed there: atol + rtol * |worst_expected|",
     mismatched_element<&Mismatch::worst_allowed>},
    {"not_finite_count", ColumnType::integer, "",
     "number of its elements that are NaN or infinite where the expected ones are finite",
     mismatched_element<&Mismatch::not_finite>},
    {"looks_like", ColumnType::text, "",
     "what the first wrong output looks like: unwritten, zeros, stale, transposed, shifted, tail, tile, fp32, tf32, "
     "bf16, cast, keepdim",
     mismatch<&Mismatch::looks_like>},
    {"expected_form", ColumnType::text, "", "dtype and shape that an output of another form should have",
     mismatch<&Mismatch::expected_form>},
    {"got_form", ColumnType::text, "", "dtype and shape that it has", mismatch<&Mismatch::got_form>},
    {"unmatched_weights", ColumnType::text, "",
     "parameters and buffers without a partner of equal name and shape, as the submission's process reports them",
     evidence<&Evidence::unmatched>},
    {"passed_by", ColumnType::text, "",
     "what correct outputs are near to: reference, or truth where some are nearer to the truth than the reference is",
     passed_by},
    {"truth_kind", ColumnType::text, "", "how the truth was computed; none and a reason if it could not be",
     truth_kind},
    {"truth_max_err", ColumnType::number, "", "largest absolute error against the truth",
     truth<&TruthErrors::submission_max>},
    {"truth_rms_err", ColumnType::number, "", "RMS of the errors against the truth, relative to that of the truth",
     truth<&TruthErrors::submission_rms>},
    {"reference_truth_max_err", ColumnType::number, "", "truth_max_err of the reference",
     truth<&TruthErrors::reference_max>},
    {"reference_truth_rms_err", ColumnType::number, "", "truth_rms_err of the reference",
     truth<&TruthErrors::reference_rms>},
    {"rounding_max_err", ColumnType::number, "",
     "truth_max_err of the truth from inputs and parameters in the allowed precision",
     rounding<&TruthErrors::rounding_max>},
    {"rounding_rms_err", ColumnType::number, "", "truth_rms_err of the same", rounding<&TruthErrors::rounding_rms>},
    {"precision_like", ColumnType::text, "",
     "precision that truth_rms_err looks like: float32, TF32 or float16, bfloat16", truth<&TruthErrors::looks_like>},
    {"truth", ColumnType::boolean, "", "whether outputs that differ from the reference are measured by the truth",
     truth_rule<&TruthRule::is_used>},
    {"truth_rms", ColumnType::number, "", "how many times the reference's RMS error is allowed",
     truth_rule<&TruthRule::rms>},
    {"truth_max", ColumnType::number, "", "how many times the reference's largest error is allowed",
     truth_rule<&TruthRule::max>},
    {"allow_precision", ColumnType::text, "",
     "precision to which inputs and parameters may be rounded: none, tf32, fp16, bf16",
     truth_rule<&TruthRule::allowed>},
    {"problem_warnings", ColumnType::text, "",
     "what the problem cannot tell from a right kernel, one sentence each, joined by '; '", problem_warnings},
    {"streams", ColumnType::text, "",
     "whether the submission may use CUDA streams of its own: reject, or joined with the current stream",
     trials<&Trials::streams>},
    {"graphs", ColumnType::text, "", "whether the submission may use CUDA graphs: reject, allow",
     trials<&Trials::graphs>},
    {"own_share", ColumnType::number, "",
     "part of the time on the GPU that the submission's own kernels took, from 0 to 1", own_share},
    {"decoy", ColumnType::boolean, "", "whether the submission's files have kernels, but the GPU ran none of them",
     decoy},
    {"kernels", ColumnType::text, "",
     "kernels that the GPU ran in untimed calls at random places, as a list in JSON: name, owner (submission, library, "
     "torch), count and ns",
     kernels},
    {"findings", ColumnType::text, "",
     "what the guard found for review, which changes no verdict: each rule with its first place, joined by '; '",
     findings},
    {"noise_us", ColumnType::number, "us",
     "three standard errors of median_us, at least 1 %; times that differ by less are equal",
     noise_us<submission_noise_ns>},
    {"reference_noise_us", ColumnType::number, "us", "the same for reference_us", noise_us<reference_noise_ns>},
    {"speedup_noise", ColumnType::number, "", "the same for speedup", noise_of_speedup},
    {"busy_tasks", ColumnType::number, "", "mean number of tasks that ran on the machine beside the judge", busy_tasks},
    {"noisy", ColumnType::boolean, "", "whether the machine was busy while the job was timed", is_noisy},
};

}  // namespace

std::span<const Column> columns() {
  return kColumns;
}

producer::Json to_json(const RunRow& row) {
  producer::JsonObject object;
  object.reserve(std::size(kColumns));
  for (const Column& column : kColumns) object.emplace_back(column.name, to_json(column.get(row)));
  return {std::move(object)};
}

Cell utc_time(std::int64_t unix_ms) {
  if (unix_ms <= 0) return {};
  using namespace std::chrono;
  const sys_time<milliseconds> time{milliseconds(unix_ms)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  if (int(date.year()) > 9999) return {};
  // Formatted by hand: a row has five times, and strftime would take a tenth of the time of a dump. The microseconds
  // end in 000, because records have milliseconds.
  std::string text = "0000-00-00T00:00:00.000000Z";
  const auto put = [&text](std::size_t at, std::size_t digits, std::uint64_t value) {
    for (; digits > 0; --digits, value /= 10) text[at + digits - 1] = static_cast<char>('0' + value % 10);
  };
  put(0, 4, static_cast<std::uint64_t>(int(date.year())));
  put(5, 2, unsigned(date.month()));
  put(8, 2, unsigned(date.day()));
  put(11, 2, static_cast<std::uint64_t>(clock.hours().count()));
  put(14, 2, static_cast<std::uint64_t>(clock.minutes().count()));
  put(17, 2, static_cast<std::uint64_t>(clock.seconds().count()));
  put(20, 3, static_cast<std::uint64_t>(clock.subseconds().count()));
  return text;
}

}  // namespace kq::tools
