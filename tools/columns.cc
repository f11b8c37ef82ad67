#include "tools/columns.h"

#include <concepts>
#include <cstdio>
#include <ctime>
#include <optional>
#include <utility>

namespace kq {
namespace {

// An empty string means unknown everywhere in the records.
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

// The getters: each reaches for a part that only some rows have, and gives one member of it, or no value.

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
Cell stage_time(const RunRow& row) {
  return row.result ? s(row.result->times.*Member) : Cell();
}
template <auto Member>
Cell verdict(const RunRow& row) {
  return row.result ? to_cell(row_of(name_of(row.result->verdict)).*Member) : Cell();
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
template <auto Member>
Cell correctness(const RunRow& row) {
  const Correctness* found = row.result ? correctness_of(row.result->verdict) : nullptr;
  return found != nullptr ? to_cell(found->*Member) : Cell();
}
// Of a right answer, else of the first wrong output.
template <auto OfRight, auto OfWrong>
Cell worst_error(const RunRow& row) {
  const Cell right = correctness<OfRight>(row);
  return right.index() != 0 ? right : mismatch<OfWrong>(row);
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
Cell samples_n(const RunRow& row) {
  const Measurement* found = measurement_in(row);
  return found != nullptr ? to_cell((found->*Side).samples_n) : Cell();
}
// A time of one side, no value where that side was never sampled: 0 us would be a lie.
template <auto Side, auto Member>
Cell time_us(const RunRow& row) {
  const Measurement* found = measurement_in(row);
  return found != nullptr && (found->*Side).samples_n > 0 ? us((found->*Side).*Member) : Cell();
}
// No value when the job ended before any device saw it.
template <auto Member>
Cell device(const RunRow& row) {
  return row.result && !row.result->device.model.empty() ? to_cell(row.result->device.*Member) : Cell();
}

Cell schema(const RunRow&) {
  return to_cell(kRowSchema);
}
Cell files_n(const RunRow& row) {
  return to_cell(row.entry.submission.files.size());
}
// Of what ran; the layers tell that something did.
Cell tier_of(const RunRow& row) {
  if (!row.result || row.result->sandbox.empty()) return {};
  const bool is_device_code = row.entry.submission.backend == Backend::cuda && row.result->device.kind == DeviceKind::cuda;
  return to_cell(is_device_code ? 0u : 2u);
}
Cell build_cached(const RunRow& row) {
  return row.result ? to_cell(row.result->times.build_cached) : Cell();
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
template <double Measurement::*Member>
Cell clock_us(const RunRow& row) {
  const Measurement* found = measurement_in(row);
  return found != nullptr && found->submission.samples_n > 0 && found->*Member != 0 ? us(found->*Member) : Cell();
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

constexpr auto kOurs = &Measurement::submission;
constexpr auto kTheirs = &Measurement::reference;

// clang-format off
constexpr Column kColumns[] = {
    // identity
    {"schema", "", "version of these columns", schema},
    {"job_id", "", "the broker's number of the job", job<&JobRecord::seq>},
    {"run", "", "run it was submitted in", [](const RunRow& row) { return to_cell(row.run); }},
    {"label", "", "name of the job, unique in its run", submission<&Submission::label>},
    {"problem", "", "name of the problem", problem<&Problem::name>},
    {"problem_hash", "", "SHA-256 of the reference source", problem<&Problem::hash>},
    {"kernel_file", "", "name of the submission's entry file", entry_file<&SourceFile::name>},
    {"kernel_hash", "", "SHA-256 of the entry file", entry_file<&SourceFile::hash>},
    {"files_n", "", "files of the submission", files_n},
    {"author", "", "who wrote it", submission<&Submission::author>},
    {"tags", "", "name=value, joined by semicolons", tags},
    {"idempotency_key", "", "hash of all that decides the result; equal keys are one job", job<&JobRecord::key>},
    // job
    {"backend", "", "how it is built and called: torch, triton, cuda, torch_cuda", submission<&Submission::backend>},
    {"precision", "", "what floating-point inputs are cast to", problem<&Problem::precision>},
    {"device_wish", "", "kind of device asked for: any, cpu, cuda", submission<&Submission::device>},
    {"gpu_model_wish", "", "GPU model asked for", submission<&Submission::gpu_model>},
    {"submitted_at", "", "RFC 3339 in UTC", job_time<&JobRecord::submitted_at_ms>},
    {"leased_at", "", "start of the newest attempt, RFC 3339 in UTC", job_time<&JobRecord::leased_at_ms>},
    {"finished_at", "", "RFC 3339 in UTC", job_time<&JobRecord::finished_at_ms>},
    {"attempt", "", "leases so far", job<&JobRecord::attempt>},
    {"retries", "", "attempts that ended in a failure of kq itself", job<&JobRecord::failures>},
    {"last_error", "", "what the last of those failures said", job<&JobRecord::last_error>},
    // verdict
    {"state", "", "queued, leased or finished", job<&JobRecord::state>},
    {"verdict", "", "how it ended", verdict<&VerdictRow::name>},
    {"fault", "", "whose doing it was: none, user, policy, problem, nobody, ours", verdict<&VerdictRow::fault>},
    {"stage", "", "where it ended", evidence<&Evidence::stage>},
    {"reason", "", "the verdict in one more word: shape, stream, host", evidence<&Evidence::reason>},
    {"rule", "", "rule that rejected it", evidence<&Evidence::rule>},
    {"place", "", "file:line of a rejection or build error", evidence<&Evidence::place>},
    {"message", "", "evidence for people; may quote the submission", evidence<&Evidence::message>},
    {"hint", "", "what would help", evidence<&Evidence::hint>},
    // correctness
    {"rtol", "", "relative tolerance asked for; empty: by dtype", problem<&Problem::rtol>},
    {"atol", "", "absolute tolerance asked for; empty: by dtype", problem<&Problem::atol>},
    {"correctness_n", "", "correctness trials asked for", trials<&Trials::correctness>},
    {"warmup_n", "", "warm-up trials asked for", trials<&Trials::warmup>},
    {"timed_n", "", "timed trials asked for", trials<&Trials::timed>},
    {"trials_passed", "", "trials whose outputs were all right", correctness<&Correctness::trials_passed>},
    {"max_abs_err", "", "worst absolute error seen", worst_error<&Correctness::max_abs_err, &Mismatch::max_abs_err>},
    {"max_rel_err", "", "worst relative error seen", worst_error<&Correctness::max_rel_err, &Mismatch::max_rel_err>},
    {"mismatch_n", "", "elements that differ in the first wrong output", mismatch<&Mismatch::mismatched>},
    {"mismatch_total_n", "", "elements of that output", mismatch<&Mismatch::total>},
    {"mismatch_trial", "", "trial of the first wrong output", mismatch<&Mismatch::trial>},
    {"mismatch_output", "", "which output of that trial", mismatch<&Mismatch::output>},
    {"mismatch_element", "", "row-major index of the first element that differs", mismatch<&Mismatch::element>},
    {"mismatch_expected", "", "what it should be", mismatch<&Mismatch::expected>},
    {"mismatch_got", "", "what it is", mismatch<&Mismatch::got>},
    // timing
    {"method", "", "how time was taken", measurement<&Measurement::method>},
    {"samples_n", "", "timed samples of the submission", samples_n<kOurs>},
    {"median_us", "us", "median time of one call", time_us<kOurs, &Statistics::median_ns>},
    {"mean_us", "us", "mean time of one call", time_us<kOurs, &Statistics::mean_ns>},
    {"std_us", "us", "sample standard deviation", time_us<kOurs, &Statistics::std_ns>},
    {"min_us", "us", "fastest sample", time_us<kOurs, &Statistics::min_ns>},
    {"max_us", "us", "slowest sample", time_us<kOurs, &Statistics::max_ns>},
    {"p95_us", "us", "95th percentile; empty below 20 samples", percentile_us<&Statistics::p95_ns>},
    {"p99_us", "us", "99th percentile; empty below 100 samples", percentile_us<&Statistics::p99_ns>},
    {"attested_us", "us", "median by the judge's clock alone", clock_us<&Measurement::attested_ns>},
    {"event_us", "us", "median by the submission's own clock, a hint", clock_us<&Measurement::event_ns>},
    {"overhead_us", "us", "time of an empty call, already taken off every sample", clock_us<&Measurement::overhead_ns>},
    {"drift_us", "us", "how far the empty call of a trusted process moved meanwhile", clock_us<&Measurement::drift_ns>},
    // reference
    {"reference_samples_n", "", "timed samples of the reference", samples_n<kTheirs>},
    {"reference_us", "us", "median time of the reference, same inputs and clock", time_us<kTheirs, &Statistics::median_ns>},
    {"reference_std_us", "us", "its sample standard deviation", time_us<kTheirs, &Statistics::std_ns>},
    {"speedup", "", "reference_us / median_us", speedup_of},
    // build and run
    {"build_s", "s", "time to build it", stage_time<&StageTimes::build_ms>},
    {"build_cached", "", "whether the build came from the cache", build_cached},
    {"build_compiler", "", "what compiled it", toolchain<&Toolchain::compiler>},
    {"build_flags", "", "flags that shaped the code, the submission's own among them", toolchain<&Toolchain::flags>},
    {"run_s", "s", "from its first process to the end of the last", stage_time<&StageTimes::run_ms>},
    // device, host, software, sandbox
    {"device", "", "kind of device it was judged on: cpu, cuda", device<&DeviceInfo::kind>},
    {"device_model", "", "its model", device<&DeviceInfo::model>},
    {"device_uuid", "", "UUID of a GPU", device<&DeviceInfo::uuid>},
    {"device_arch", "", "what device code was compiled for", device<&DeviceInfo::arch>},
    {"device_memory_bytes", "bytes", "its memory", device_memory},
    {"worker", "", "worker that judged it", result<&Result::worker>},
    {"kq_version", "", "kq of that worker", software<&Software::kq>},
    {"python", "", "Python it ran under", software<&Software::python>},
    {"torch", "", "its torch", software<&Software::torch>},
    {"triton", "", "its triton", software<&Software::triton>},
    {"cuda", "", "its CUDA", software<&Software::cuda>},
    {"sandbox", "", "layers of isolation in force", result<&Result::sandbox>},
    {"tier", "", "what of the submission could run on the host: 0 nothing, 2 all of it", tier_of},
};
// clang-format on

}  // namespace

std::span<const Column> columns() {
  return kColumns;
}

Json to_json(const RunRow& row) {
  JsonObject object;
  object.reserve(std::size(kColumns));
  for (const Column& column : kColumns) object.emplace_back(column.name, to_json(column.get(row)));
  return {std::move(object)};
}

Cell utc_time(std::int64_t unix_ms) {
  if (unix_ms <= 0) return {};
  const std::time_t seconds = unix_ms / 1000;
  std::tm parts{};
  if (::gmtime_r(&seconds, &parts) == nullptr) return {};
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, ".%03d000Z", static_cast<int>(unix_ms % 1000));
  return std::string(date) + fraction;
}

}  // namespace kq
