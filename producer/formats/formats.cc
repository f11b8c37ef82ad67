#include "producer/formats/formats.h"

#include <algorithm>
#include <array>

#include "core/base/no_name.h"
#include "producer/formats/backendbench/kernel_folder.h"
#include "producer/formats/flashinfer/trace_set.h"
#include "producer/formats/jsonl.h"
#include "producer/formats/kernelbench_problems.h"
#include "producer/formats/kernelbench_run.h"
#include "producer/formats/kernels.h"
#include "producer/formats/popcorn/submissions.h"
#include "producer/formats/single_file.h"

namespace kq::producer {
namespace {

constexpr std::array kFormats{
    Format{"jsonl", "a .jsonl file, or a directory with a submissions.jsonl", recognise_jsonl, read_jsonl},
    Format{"kernelbench_run", "a directory with files named level_L_problem_P_sample_S_kernel.py",
           recognise_kernelbench_run, read_kernelbench_run},
    Format{"kernelbench_problems",
           "a KernelBench checkout or one of its level folders, whose references are then submitted against themselves",
           recognise_kernelbench_problems, read_kernelbench_problems},
    Format{"backendbench",
           "a folder of BackendBench's kernels, such as relu__default/relu__default_implementation_v1.py",
           backendbench::recognise_kernel_folder, backendbench::read_kernel_folder},
    Format{"flashinfer",
           "a trace set of flashinfer-bench, or a folder with definition.json, workload.jsonl and solution*.json",
           flashinfer::recognise_trace_set, flashinfer::read_trace_set},
    Format{"popcorn",
           "a problem's folder in GPU MODE's form, with a task.yml; or submissions to such problems with --problem "
           "FOLDER, "
           "--problems CHECKOUT, or beside the task.yml",
           popcorn::recognise_submissions, popcorn::read_submissions},
    Format{"kernels", "a directory with .py, .cu, .ptx and .cubin files in it or below it, with --problem FILE",
           recognise_kernels, read_kernels},
    Format{"single_file",
           "a .py, .cu, .ptx or .cubin file with --problem FILE, or a comment kq: problem=FILE at its head",
           recognise_single_file, read_single_file},
};

// Overrides the settings of the candidate by those of the command line.
void apply(const InputOptions& options, Candidate& candidate) {
  if (options.backend) candidate.backend = options.backend;
  if (options.device) candidate.device = *options.device;
  if (options.gpu_model) candidate.gpu_model = *options.gpu_model;
  if (options.precision) candidate.precision = *options.precision;
  if (options.priority) candidate.priority = *options.priority;
  if (options.not_before_ms) candidate.not_before_ms = *options.not_before_ms;
  if (options.deadline_ms) candidate.deadline_ms = *options.deadline_ms;
  if (options.time_limit_ms) candidate.time_limit_ms = *options.time_limit_ms;
  if (options.labels) candidate.labels = *options.labels;
  if (options.author) candidate.author = *options.author;
  const bool empties_tags = options.tags.contains(std::string(kNoName));
  if (empties_tags) candidate.tags.clear();
  for (const auto& [name, value] : options.tags) candidate.tags.insert_or_assign(name, value);
  if (empties_tags && candidate.tags.size() > 1) candidate.tags.erase(std::string(kNoName));
  if (options.correctness_trials) candidate.trials.correctness = *options.correctness_trials;
  if (options.timed_trials) candidate.trials.timed = *options.timed_trials;
  if (options.baseline) candidate.trials.baseline = *options.baseline;
  if (options.profile) candidate.trials.profile = *options.profile;
  if (options.streams) candidate.trials.streams = *options.streams;
  if (options.graphs) candidate.trials.graphs = *options.graphs;
  if (options.workloads) candidate.workloads = *options.workloads;
  if (options.need_extensions) candidate.trials.need_extensions = true;
  if (options.rtol) candidate.rtol = options.rtol;
  if (options.atol) candidate.atol = options.atol;
  if (options.truth_rms) candidate.truth.rms = *options.truth_rms;
  if (options.truth_max) candidate.truth.max = *options.truth_max;
  if (options.no_truth) candidate.truth.is_used = false;
  if (options.allow_precision) candidate.truth.allowed = *options.allow_precision;
}

Expected<RecognisedFormat> recognise(const std::filesystem::path& input, const std::string& name,
                                     const InputOptions& options) {
  std::string known;
  for (const Format& format : kFormats) {
    if (format.name == name) return RecognisedFormat{&format, "--input-format says so"};
    known += (known.empty() ? "" : ", ") + std::string(format.name);
  }
  if (!name.empty()) return bad_input("--input-format must be one of " + known + ", got '" + name + "'");
  if (popcorn::names_problems(input, options)) {
    const auto* const format = std::ranges::find(kFormats, "popcorn", &Format::name);
    return RecognisedFormat{format, "its problem has a task.yml"};
  }
  for (const Format& format : kFormats) {
    if (std::string reason = format.recognise(input); !reason.empty())
      return RecognisedFormat{&format, std::move(reason)};
  }
  known.clear();
  if (std::filesystem::is_directory(input)) {
    return bad_input(input.string() +
                     " holds no submissions: neither in it nor below it is a .py, .cu, .ptx or .cubin file or a "
                     "submissions.jsonl (kq-submit --help lists what an input may be)");
  }
  for (const Format& format : kFormats) known += (known.empty() ? "" : "; ") + std::string(format.description);
  return bad_input(input.string() + " is no kernel; known are: " + known);
}

}  // namespace

std::span<const Format> formats() {
  return kFormats;
}

Expected<RecognisedFormat> find_candidates(const std::filesystem::path& input, const std::string& format,
                                           const InputOptions& options, const CandidateSink& sink) {
  std::error_code wrong;
  const auto status = std::filesystem::status(input, wrong);
  if (!std::filesystem::exists(status)) return bad_input(input.string() + ": " + wrong.message());
  const auto known = recognise(input, format, options);
  if (!known) return known;
  if (options.judged_by != JudgedBy::kq && known->format->name != "popcorn")
    return bad_input("--judged-by goes with problems in GPU MODE's form, and " + input.string() + " is read as " +
                     std::string(known->format->name));
  CandidateSink applied = sink;
  applied.candidate = [&](Candidate candidate) {
    apply(options, candidate);
    sink.candidate(std::move(candidate));
  };
  known->format->read(input, options, applied);
  return known;
}

}  // namespace kq::producer
