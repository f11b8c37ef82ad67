#include "producer/formats/formats.h"

#include <array>

#include "producer/formats/jsonl.h"
#include "producer/formats/kernelbench_problems.h"
#include "producer/formats/kernelbench_run.h"
#include "producer/formats/kernels.h"
#include "producer/formats/single_file.h"

namespace kq::producer {
namespace {

constexpr std::array kFormats{
    Format{"jsonl", "a .jsonl file, or a directory with a submissions.jsonl", why_jsonl, read_jsonl},
    Format{"kernelbench_run", "a directory with files named level_L_problem_P_sample_S_kernel.py", why_kernelbench_run,
           read_kernelbench_run},
    Format{"kernelbench_problems",
           "a KernelBench checkout or one of its level folders, whose references are then submitted against themselves",
           why_kernelbench_problems, read_kernelbench_problems},
    Format{"kernels", "a directory of .py, .cu, .ptx and .cubin files with --problem FILE", why_kernels, read_kernels},
    Format{"single_file",
           "a .py, .cu, .ptx or .cubin file with --problem FILE, or a comment kq: problem=FILE at its head",
           why_single_file, read_single_file},
};

// The command line's word goes last and wins.
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
  if (options.correctness_n) candidate.trials.correctness = *options.correctness_n;
  if (options.timed_n) candidate.trials.timed = *options.timed_n;
  if (options.baseline) candidate.trials.baseline = *options.baseline;
  if (options.profile) candidate.trials.profile = *options.profile;
}

Expected<KnownAs> recognise(const std::filesystem::path& input, const std::string& name) {
  std::string known;
  for (const Format& format : kFormats) {
    if (format.name == name) return KnownAs{&format, "--input-format says so"};
    known += (known.empty() ? "" : ", ") + std::string(format.name);
  }
  if (!name.empty()) return bad_input("--input-format must be one of " + known + ", got '" + name + "'");
  for (const Format& format : kFormats) {
    if (std::string why = format.why(input); !why.empty()) return KnownAs{&format, std::move(why)};
  }
  known.clear();
  for (const Format& format : kFormats) known += (known.empty() ? "" : "; ") + std::string(format.looks_like);
  const bool is_directory = std::filesystem::is_directory(input);
  return bad_input(input.string() + (is_directory ? " holds no submissions" : " is no kernel") +
                   "; known are: " + known);
}

}  // namespace

std::span<const Format> formats() {
  return kFormats;
}

Expected<KnownAs> find_candidates(const std::filesystem::path& input, const std::string& format,
                                  const InputOptions& options, const Finds& finds) {
  std::error_code wrong;
  const auto status = std::filesystem::status(input, wrong);
  if (!std::filesystem::exists(status)) return bad_input(input.string() + ": " + wrong.message());
  const auto known = recognise(input, format);
  if (!known) return known;
  Finds applied = finds;
  applied.candidate = [&](Candidate candidate) {
    apply(options, candidate);
    finds.candidate(std::move(candidate));
  };
  known->format->read(input, options, applied);
  return known;
}

}  // namespace kq::producer
