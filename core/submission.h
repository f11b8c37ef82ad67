// A request to evaluate one submission: its sources, the problem that it solves, and the device to run on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "core/bytes/hash.h"
#include "core/problem.h"

namespace kq {

// How the submission's files are built and called. gpu_worker/harness/backends has one file for each backend that the
// judge measures. With `eval_program` the problem's own program calls, checks and times the submission, and the result
// is what that program reports (gpu_worker/lane/eval_program.h).
enum class Backend { torch, triton, cuda, torch_cuda, multi_kernel, eval_program };
constexpr std::array<std::string_view, 6> enum_names(Backend) {
  return {"torch", "triton", "cuda", "torch_cuda", "multi_kernel", "eval_program"};
}

// The kind of device that a job requires. A job with `any` runs on a GPU where one exists, and otherwise on a CPU.
enum class DeviceWish { any, cpu, cuda };
constexpr std::array<std::string_view, 3> enum_names(DeviceWish) {
  return {"any", "cpu", "cuda"};
}

// A job of a higher priority runs first, but the rank of a job also rises while it waits: see "ageing" in
// broker/tables/scheduler.h.
enum class Priority { low, normal, high };
constexpr std::array<std::string_view, 3> enum_names(Priority) {
  return {"low", "normal", "high"};
}

// A file of the submission. Its content is a blob with this hash, in messages and in the store.
struct SourceFile {
  std::string name;  // a file name without a directory: "add.py", "add.cu"
  Hash hash;

  friend bool operator==(const SourceFile&, const SourceFile&) = default;
};

// The form of the reference with whose time a submission is compared: as it is (eager), or under torch.compile. Outputs
// are always compared with those of the eager reference.
enum class Baseline { eager, compile };
constexpr std::array<std::string_view, 2> enum_names(Baseline) {
  return {"eager", "compile"};
}

// What becomes of a submission that makes CUDA streams of its own: it is rejected, or it may use streams that it joins
// with the current stream before a call returns.
enum class Streams { reject, joined };
constexpr std::array<std::string_view, 2> enum_names(Streams) {
  return {"reject", "joined"};
}

// What becomes of a submission that captures or replays CUDA graphs.
enum class Graphs { reject, allow };
constexpr std::array<std::string_view, 2> enum_names(Graphs) {
  return {"reject", "allow"};
}

// The profiler under which the kernels of a passed submission run in a separate pass after the timing
// (gpu_worker/lane/profile.h).
enum class Profiler { none, ncu };
constexpr std::array<std::string_view, 2> enum_names(Profiler) {
  return {"none", "ncu"};
}

// The numbers of trials of one job. Each correctness trial and each timed trial has new random inputs, and the outputs
// of both are checked.
struct Trials {
  std::uint32_t correctness = 5;
  std::uint32_t warmup = 2;  // trials whose outputs are checked and that are not timed
  std::uint32_t timed = 20;
  Baseline baseline = Baseline::eager;
  Profiler profile = Profiler::none;
  // Ends the job as `build_failed` where a call of load_inline or load does not compile, even if the submission catches
  // the error.
  bool need_extensions = false;
  Streams streams = Streams::reject;
  Graphs graphs = Graphs::reject;

  friend bool operator==(const Trials&, const Trials&) = default;
};

// One request to evaluate sources against a problem.
struct Submission {
  // These fields describe the submission for people. They are not part of the key.
  std::string label;   // unique inside a run, e.g. "relu/fast_triton" or "level_1_problem_3_sample_0"
  std::string author;  // empty where unknown
  std::map<std::string, std::string> tags;

  // These fields say what is computed and how. All of them are hashed into the key.
  Backend backend = Backend::torch;
  std::vector<SourceFile> files;  // the first file is the entry
  Problem problem;
  DeviceWish device = DeviceWish::any;
  std::string gpu_model;  // empty: any model; otherwise exactly the name that the worker reports, e.g. "NVIDIA H200"
  Trials trials;
  std::string salt;  // normally empty; --force-rerun and --repeat set a salt to get a new job
  // The limit of the build and the limit of the run, each. It can only lower the worker's own limits; 0: those limits.
  std::uint32_t time_limit_ms = 0;

  // These fields say when and where the job may run. They are not part of the key, so a finished job is reused although
  // they differ. An unfinished job that is reused gets the wider of both wishes (broker/jobs/lifecycle.h), so that no
  // submission holds up another.
  Priority priority = Priority::normal;
  std::int64_t not_before_ms = 0;     // Unix time; 0: at once
  std::int64_t deadline_ms = 0;       // Unix time; a job that has not started by then ends as `expired`; 0: none
  std::vector<std::string> labels{};  // labels that the worker must have, sorted and without repetition

  // How outputs are measured by the truth. A part of the key where it is not the default.
  TruthRule truth = {};

  friend bool operator==(const Submission&, const Submission&) = default;
};

// The version of the evaluation. It is hashed into every key, so that a result of one version is never reused for
// another. Every change of what is measured needs a new version.
inline constexpr std::string_view kEvaluatorVersion = "kq-evaluator/3";

// Returns the key, which identifies the work: submissions with equal keys are one job. See "Keys" in
// docs/design/architecture.md.
Hash submission_key(const Submission& submission);

// Returns the part of a submission that a worker gets: what is hashed into the key, and the label, which workers only
// write into logs and names of profiles. All else could otherwise decide how the job ends, and a job of another
// submitter with the same key would end in the same way.
Submission evaluated_part(const Submission& submission);

// Fails with bad input for a submission that every broker refuses, such as one with bad names, without files, or with
// too many files or trials. The error text starts with the label. python/kq/records/validate.py has the same texts.
Expected<void> validate(const Submission& submission);

// Returns what is wrong with a name that a person chose (run, label, author, tag), or nothing where the name is valid.
// A valid name has 1 to kNameBytesMax bytes of UTF-8 without control characters and without invisible ones
// (core/base/safe_text.h). The text continues a sentence whose subject is the name: "is empty".
std::optional<std::string> name_error(std::string_view name);

template <class V>
void fields(V& v, SourceFile& x) {
  v("name", x.name);
  v("hash", x.hash);
}
template <class V>
void fields(V& v, Trials& x) {
  v("correctness", x.correctness);
  v("warmup", x.warmup);
  v("timed", x.timed);
  v("baseline", x.baseline);
  v("profile", x.profile);
  v("need_extensions", x.need_extensions);
  v("streams", x.streams);
  v("graphs", x.graphs);
}
template <class V>
void fields(V& v, Submission& x) {
  v("label", x.label);
  v("author", x.author);
  v("tags", x.tags);
  v("backend", x.backend);
  v("files", x.files);
  v("problem", x.problem);
  v("device", x.device);
  v("gpu_model", x.gpu_model);
  v("trials", x.trials);
  v("salt", x.salt);
  v("priority", x.priority);
  v("not_before_ms", x.not_before_ms);
  v("deadline_ms", x.deadline_ms);
  v("labels", x.labels);
  v("time_limit_ms", x.time_limit_ms);
  v("truth", x.truth);
}

}  // namespace kq
