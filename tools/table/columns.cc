#include "tools/table/columns.h"

#include <chrono>
#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

namespace kq::tools {
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
Cell sample_count(const RunRow& row) {
  const Measurement* found = measurement_in(row);
  return found != nullptr ? to_cell((found->*Side).sample_count) : Cell();
}
// A time of one side, no value where that side was never sampled: 0 us would be a lie.
template <auto Side, auto Member>
Cell time_us(const RunRow& row) {
  const Measurement* found = measurement_in(row);
  return found != nullptr && (found->*Side).sample_count > 0 ? us((found->*Side).*Member) : Cell();
}
// No value when the job ended before any device saw it.
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
// Of what ran; the layers tell that something did.
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
// No value where nobody watches the device, nor for a figure that its driver does not tell.
template <auto Member>
Cell conditions(const RunRow& row) {
  if (!row.result || !row.result->conditions) return {};
  const auto& value = (*row.result->conditions).*Member;
  if constexpr (std::is_arithmetic_v<std::decay_t<decltype(value)>>) {
    if (value == 0) return {};
  }
  return to_cell(value);
}
// "none", or "4711:512;4712": each with its MiB where the driver tells them.
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

// clang-format off
constexpr Column kColumns[] = {
    // identity
    {"schema", ColumnType::text, "", "version of these columns", schema},
    {"job_id", ColumnType::integer, "", "the broker's number of the job", job<&JobRecord::seq>},
    {"run", ColumnType::text, "", "run it was submitted in", [](const RunRow& row) { return to_cell(row.run); }},
    {"label", ColumnType::text, "", "name of the job, unique in its run", submission<&Submission::label>},
    {"problem", ColumnType::text, "", "name of the problem", problem<&Problem::name>},
    {"problem_hash", ColumnType::text, "", "SHA-256 of the reference source", problem<&Problem::hash>},
    {"kernel_file", ColumnType::text, "", "name of the submission's entry file", entry_file<&SourceFile::name>},
    {"kernel_hash", ColumnType::text, "", "SHA-256 of the entry file", entry_file<&SourceFile::hash>},
    {"files_n", ColumnType::integer, "", "files of the submission", file_count},
    {"author", ColumnType::text, "", "who wrote it", submission<&Submission::author>},
    {"tags", ColumnType::text, "", "name=value, joined by semicolons", tags},
    {"idempotency_key", ColumnType::text, "", "hash of all that decides the result; equal keys are one job", job<&JobRecord::key>},
    // job
    {"backend", ColumnType::text, "", "how it is built and called: torch, triton, cuda, torch_cuda, multi_kernel", submission<&Submission::backend>},
    {"precision", ColumnType::text, "", "what floating-point inputs are cast to", problem<&Problem::precision>},
    {"device_wish", ColumnType::text, "", "kind of device asked for: any, cpu, cuda", submission<&Submission::device>},
    {"gpu_model_wish", ColumnType::text, "", "GPU model asked for", submission<&Submission::gpu_model>},
    {"submitted_at", ColumnType::time, "", "RFC 3339 in UTC", job_time<&JobRecord::submitted_at_ms>},
    {"leased_at", ColumnType::time, "", "start of the newest attempt, RFC 3339 in UTC", job_time<&JobRecord::leased_at_ms>},
    {"finished_at", ColumnType::time, "", "RFC 3339 in UTC", job_time<&JobRecord::finished_at_ms>},
    {"attempt", ColumnType::integer, "", "leases so far", job<&JobRecord::attempt>},
    {"retries", ColumnType::integer, "", "attempts that ended in a failure of kq itself", job<&JobRecord::failures>},
    {"last_error", ColumnType::text, "", "what the last of those failures said", job<&JobRecord::last_error>},
    // verdict
    {"state", ColumnType::text, "", "queued, leased or finished", job<&JobRecord::state>},
    {"verdict", ColumnType::text, "", "how it ended", verdict<&VerdictRow::name>},
    {"fault", ColumnType::text, "", "whose doing it was: none, user, policy, problem, nobody, ours", verdict<&VerdictRow::fault>},
    {"stage", ColumnType::text, "", "where it ended", evidence<&Evidence::stage>},
    {"reason", ColumnType::text, "", "the verdict in one more word: shape, stream, host", evidence<&Evidence::reason>},
    {"rule", ColumnType::text, "", "rule that rejected it", evidence<&Evidence::rule>},
    {"place", ColumnType::text, "", "file:line of a rejection or build error", evidence<&Evidence::place>},
    {"message", ColumnType::text, "", "evidence for people; may quote the submission", evidence<&Evidence::message>},
    {"hint", ColumnType::text, "", "what would help", evidence<&Evidence::hint>},
    // correctness
    {"rtol", ColumnType::number, "", "relative tolerance asked for; empty: by dtype", problem<&Problem::rtol>},
    {"atol", ColumnType::number, "", "absolute tolerance asked for; empty: by dtype", problem<&Problem::atol>},
    {"correctness_n", ColumnType::integer, "", "correctness trials asked for", trials<&Trials::correctness>},
    {"warmup_n", ColumnType::integer, "", "warm-up trials asked for", trials<&Trials::warmup>},
    {"timed_n", ColumnType::integer, "", "timed trials asked for", trials<&Trials::timed>},
    {"trials_passed", ColumnType::integer, "", "trials whose outputs were all right", correctness<&Correctness::trials_passed>},
    {"max_abs_err", ColumnType::number, "", "worst absolute error seen", worst_error<&Correctness::max_abs_err, &Mismatch::max_abs_err>},
    {"max_rel_err", ColumnType::number, "", "worst relative error seen", worst_error<&Correctness::max_rel_err, &Mismatch::max_rel_err>},
    {"mismatch_n", ColumnType::integer, "", "elements that differ in the first wrong output", mismatch<&Mismatch::mismatched>},
    {"mismatch_total_n", ColumnType::integer, "", "elements of that output", mismatch<&Mismatch::total>},
    {"mismatch_trial", ColumnType::integer, "", "trial of the first wrong output", mismatch<&Mismatch::trial>},
    {"mismatch_output", ColumnType::integer, "", "which output of that trial", mismatch<&Mismatch::output>},
    {"mismatch_element", ColumnType::integer, "", "row-major index of the first element that differs", mismatch<&Mismatch::element>},
    {"mismatch_expected", ColumnType::number, "", "what it should be", mismatch<&Mismatch::expected>},
    {"mismatch_got", ColumnType::number, "", "what it is", mismatch<&Mismatch::got>},
    // timing
    {"method", ColumnType::text, "", "how time was taken", measurement<&Measurement::method>},
    {"samples_n", ColumnType::integer, "", "timed samples of the submission", sample_count<kSubmission>},
    {"median_us", ColumnType::number, "us", "median time of one call", time_us<kSubmission, &Statistics::median_ns>},
    {"mean_us", ColumnType::number, "us", "mean time of one call", time_us<kSubmission, &Statistics::mean_ns>},
    {"std_us", ColumnType::number, "us", "sample standard deviation", time_us<kSubmission, &Statistics::std_ns>},
    {"min_us", ColumnType::number, "us", "fastest sample", time_us<kSubmission, &Statistics::min_ns>},
    {"max_us", ColumnType::number, "us", "slowest sample", time_us<kSubmission, &Statistics::max_ns>},
    {"p95_us", ColumnType::number, "us", "95th percentile; empty below 20 samples", percentile_us<&Statistics::p95_ns>},
    {"p99_us", ColumnType::number, "us", "99th percentile; empty below 100 samples", percentile_us<&Statistics::p99_ns>},
    {"attested_us", ColumnType::number, "us", "median by the judge's clock alone", clock_us<&Measurement::attested_ns>},
    {"event_us", ColumnType::number, "us", "median by the submission's own clock, a hint", clock_us<&Measurement::event_ns>},
    {"burst_us", ColumnType::number, "us", "a call's share of several in one interval, for short ones", clock_us<&Measurement::burst_ns>},
    {"overhead_us", ColumnType::number, "us", "time of an empty call, already taken off every sample", clock_us<&Measurement::overhead_ns>},
    {"drift_us", ColumnType::number, "us", "how far the empty call of a trusted process moved meanwhile", clock_us<&Measurement::drift_ns>},
    // reference
    {"reference_samples_n", ColumnType::integer, "", "timed samples of the reference", sample_count<kReference>},
    {"reference_us", ColumnType::number, "us", "median time of the reference on the same inputs", time_us<kReference, &Statistics::median_ns>},
    {"reference_std_us", ColumnType::number, "us", "its sample standard deviation", time_us<kReference, &Statistics::std_ns>},
    {"speedup", ColumnType::number, "", "reference_us / median_us", speedup_of},
    // build and run
    {"build_s", ColumnType::number, "s", "time to build it", stage_time<&StageTimes::build_ms>},
    {"build_cached", ColumnType::boolean, "", "whether the build came from the cache", build_cached},
    {"run_s", ColumnType::number, "s", "from its first process to the end of the last", stage_time<&StageTimes::run_ms>},
    // device, host, software, sandbox
    {"device", ColumnType::text, "", "kind of device it was judged on: cpu, cuda", device<&DeviceInfo::kind>},
    {"device_model", ColumnType::text, "", "its model", device<&DeviceInfo::model>},
    {"device_uuid", ColumnType::text, "", "UUID of a GPU", device<&DeviceInfo::uuid>},
    {"device_arch", ColumnType::text, "", "what device code was compiled for", device<&DeviceInfo::arch>},
    {"device_memory_bytes", ColumnType::integer, "bytes", "its memory", device_memory},
    {"worker", ColumnType::text, "", "worker that judged it", result<&Result::worker>},
    {"kq_version", ColumnType::text, "", "kq of that worker", software<&Software::kq>},
    {"python", ColumnType::text, "", "Python it ran under", software<&Software::python>},
    {"torch", ColumnType::text, "", "its torch", software<&Software::torch>},
    {"triton", ColumnType::text, "", "its triton", software<&Software::triton>},
    {"cuda", ColumnType::text, "", "its CUDA", software<&Software::cuda>},
    {"sandbox", ColumnType::text, "", "layers of isolation in force", result<&Result::sandbox>},
    {"tier", ColumnType::integer, "", "what of the submission could run on the host: 0 nothing, 2 all of it", tier_of},
    // further ones, in the order in which they came
    {"build_compiler", ColumnType::text, "", "what compiled it", toolchain<&Toolchain::compiler>},
    {"build_flags", ColumnType::text, "", "flags that shaped the code, the submission's own among them", toolchain<&Toolchain::flags>},
    {"submitter", ColumnType::text, "", "whose share and quota it counts against", job<&JobRecord::submitter>},
    {"priority", ColumnType::text, "", "low, normal or high", submission<&Submission::priority>},
    {"not_before", ColumnType::time, "", "runs no earlier, RFC 3339 in UTC", submission_time<&Submission::not_before_ms>},
    {"deadline", ColumnType::time, "", "expires if it has not begun by then, RFC 3339 in UTC", submission_time<&Submission::deadline_ms>},
    {"require", ColumnType::text, "", "labels its worker must have, joined by semicolons", require},
    {"queue_s", ColumnType::number, "s", "from its submission to its newest attempt", queue_s},
    {"noise_pct", ColumnType::number, "pct", "std_us in percent of mean_us", noise_pct},
    {"reference_mean_us", ColumnType::number, "us", "mean time of the reference", time_us<kReference, &Statistics::mean_ns>},
    {"reference_min_us", ColumnType::number, "us", "its fastest sample", time_us<kReference, &Statistics::min_ns>},
    {"reference_max_us", ColumnType::number, "us", "its slowest sample", time_us<kReference, &Statistics::max_ns>},
    {"speedup_mean", ColumnType::number, "", "reference_mean_us / mean_us, what KernelBench calls the speedup", speedup_mean},
    {"hostname", ColumnType::text, "", "machine that judged it", host<&Host::name>},
    {"cpu_model", ColumnType::text, "", "its processor", host<&Host::cpu>},
    {"cpu_cores", ColumnType::integer, "", "cores that its worker may use", cpu_cores},
    {"cpu_governor", ColumnType::text, "", "who sets the processor's clock: performance, powersave", host<&Host::governor>},
    {"os_kernel", ColumnType::text, "", "its Linux kernel", host<&Host::kernel>},
    {"distro", ColumnType::text, "", "its Linux distribution", host<&Host::distro>},
    {"libc", ColumnType::text, "", "its C library", host<&Host::libc>},
    {"driver", ColumnType::text, "", "its NVIDIA driver", host<&Host::driver>},
    {"container", ColumnType::text, "", "what contains the worker: docker, podman, kubernetes", host<&Host::container>},
    {"scheduler", ColumnType::text, "", "what started the worker: slurm, kubernetes", host<&Host::scheduler>},
    {"scheduler_job_id", ColumnType::text, "", "what that calls it", host<&Host::scheduled_as>},
    {"evaluator", ColumnType::text, "", "version of how it was judged; others are not comparable", software<&Software::evaluator>},
    {"packages_hash", ColumnType::text, "", "SHA-256 over its Python packages and their versions", software<&Software::packages>},
    {"time_limit_s", ColumnType::number, "s", "limit of its build and of its run that it asked for", time_limit_s},
    {"trials_s", ColumnType::number, "s", "of run_s, from the first trial to the end of the last; the rest is what a job costs beside them", trials_s},
    {"sm_clock_mhz", ColumnType::integer, "mhz", "clock of the GPU's processors right after the trials", conditions<&Conditions::sm_clock_mhz>},
    {"mem_clock_mhz", ColumnType::integer, "mhz", "clock of its memory", conditions<&Conditions::memory_clock_mhz>},
    {"temp_c", ColumnType::integer, "c", "its temperature", conditions<&Conditions::temperature_c>},
    {"power_w", ColumnType::number, "w", "what it draws, over the last second where the driver says it so", conditions<&Conditions::power_w>},
    {"throttle", ColumnType::text, "", "what held its clocks down, in nvidia-smi's words joined by commas: none, sw_power_cap, hw_thermal_slowdown", conditions<&Conditions::throttle>},
    {"other_procs_on_gpu", ColumnType::text, "", "processes on it that are not this worker's, PID:MiB joined by semicolons: none", other_processes},
    {"baseline", ColumnType::text, "", "what its time is compared with: the reference as it is (eager), or under torch.compile (compile)", trials<&Trials::baseline>},
    {"profile", ColumnType::text, "", "the profiler it asked for: none, ncu; what that counted is --level metric", trials<&Trials::profile>},
    {"profile_dir", ColumnType::text, "", "directory of the profiler's files, on the worker's machine", profile<&Profile::directory>},
    {"profile_message", ColumnType::text, "", "why there is less of a profile than was asked for", profile<&Profile::message>},
    {"profile_s", ColumnType::number, "s", "how long that pass took, beside run_s", profile_s},
};
// clang-format on

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
  // By hand: five of these in a row, and strftime would take a tenth of the time of a dump.
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
