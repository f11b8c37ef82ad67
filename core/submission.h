// What a producer asks kq to evaluate: a Submission against a Problem, on a kind of device.
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

// How the submission's files are built and called. One file per backend in gpu_worker/harness/backends.
enum class Backend { torch, triton, cuda, torch_cuda, multi_kernel };
constexpr std::array<std::string_view, 5> enum_names(Backend) {
  return {"torch", "triton", "cuda", "torch_cuda", "multi_kernel"};
}

// Where a job wants to run. `any` takes a GPU where there is one, else the CPU.
enum class DeviceWish { any, cpu, cuda };
constexpr std::array<std::string_view, 3> enum_names(DeviceWish) {
  return {"any", "cpu", "cuda"};
}

// A job of a higher priority goes first, but waiting counts as well: see broker/tables/scheduler.h, "ageing".
enum class Priority { low, normal, high };
constexpr std::array<std::string_view, 3> enum_names(Priority) {
  return {"low", "normal", "high"};
}

// A file of the submission. The bytes travel and rest as a blob named by `hash`.
struct SourceFile {
  std::string name;  // "add.py", "add.cu": a plain file name, no directory
  Hash hash;

  friend bool operator==(const SourceFile&, const SourceFile&) = default;
};

// What a submission's time is compared with: the reference as it is, or under torch.compile. What is right is told by
// the former.
enum class Baseline { eager, compile };
constexpr std::array<std::string_view, 2> enum_names(Baseline) {
  return {"eager", "compile"};
}

// Whether the work of a passed submission's kernels is looked at after its timing, in a pass of its own, and by what
// (gpu_worker/lane/profile.h).
enum class Profiler { none, ncu };
constexpr std::array<std::string_view, 2> enum_names(Profiler) {
  return {"none", "ncu"};
}

// Trials of one job. Each correctness or timed trial draws fresh inputs; every output of both kinds is checked.
struct Trials {
  std::uint32_t correctness = 5;
  std::uint32_t warmup = 2;  // checked, never timed
  std::uint32_t timed = 20;
  Baseline baseline = Baseline::eager;
  Profiler profile = Profiler::none;

  friend bool operator==(const Trials&, const Trials&) = default;
};

struct Submission {
  // Who and what, for people; not part of the key.
  std::string label;   // unique inside a run, e.g. "relu/fast_triton" or "level_1_problem_3_sample_0"
  std::string author;  // empty where unknown
  std::map<std::string, std::string> tags;

  // What is computed and how: all of this is hashed into the key.
  Backend backend = Backend::torch;
  std::vector<SourceFile> files;  // the first one is the entry
  Problem problem;
  DeviceWish device = DeviceWish::any;
  std::string gpu_model;  // empty: any model; otherwise exactly the name the worker reports, e.g. "NVIDIA H200"
  Trials trials;
  std::string salt;  // empty normally; --force-rerun and --repeat make a new job by it
  std::uint32_t time_limit_ms =
      0;  // of its build and of its run, each; lowers what the worker allows, never raises it; 0: the worker's

  // When and where it may run; not part of the key: what is known already is not run again for being asked for
  // differently.
  Priority priority = Priority::normal;
  std::int64_t not_before_ms = 0;     // Unix time; 0: at once
  std::int64_t deadline_ms = 0;       // Unix time; a job that has not begun by then ends as `expired`; 0: none
  std::vector<std::string> labels{};  // a worker must have all of them; sorted, no two alike

  friend bool operator==(const Submission&, const Submission&) = default;
};

// Hashed into every key: results of evaluators that judge differently never satisfy one another. Raise it with any
// change of what is measured.
inline constexpr std::string_view kEvaluatorVersion = "kq-evaluator/1";

// The identity of the work. Equal keys are one job; see docs/design/architecture.md, "Keys".
Hash submission_key(const Submission& submission);

// Rejects what no broker accepts: bad names, no files, too many files or trials. The sentence starts with the label.
Expected<void> validate(const Submission& submission);

// The one rule for names people choose (run, label, author, tag): 1..kNameBytesMax bytes of UTF-8 without control
// characters. Returns what is wrong with it, or nothing.
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
}

}  // namespace kq
