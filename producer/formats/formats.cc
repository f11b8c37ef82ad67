#include "producer/formats/formats.h"

#include <array>

#include "producer/formats/jsonl.h"
#include "producer/formats/kernelbench_run.h"
#include "producer/formats/single_file.h"

namespace kq {
namespace {

constexpr std::array kFormats{
    Format{"jsonl", "a .jsonl file, or a directory with a submissions.jsonl", is_jsonl, read_jsonl},
    Format{"kernelbench_run", "a directory with files named level_L_problem_P_sample_S_kernel.py", is_kernelbench_run,
           read_kernelbench_run},
    Format{"single_file", "a .py or .cu file with --problem FILE", is_single_file, read_single_file},
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
  if (options.labels) candidate.labels = *options.labels;
}

}  // namespace

std::span<const Format> formats() {
  return kFormats;
}

Found find_candidates(const std::filesystem::path& input, const InputOptions& options) {
  std::error_code wrong;
  const auto status = std::filesystem::status(input, wrong);
  if (!std::filesystem::exists(status)) return {{}, {input.string() + ": " + wrong.message()}};
  for (const Format& format : kFormats) {
    if (!format.recognises(input)) continue;
    Found found = format.read(input, options);
    for (Candidate& candidate : found.candidates) apply(options, candidate);
    return found;
  }
  std::string known;
  for (const Format& format : kFormats) known += (known.empty() ? "" : "; ") + std::string(format.looks_like);
  const bool is_directory = std::filesystem::is_directory(status);
  return {{}, {input.string() + (is_directory ? " holds no submissions" : " is no kernel") + "; known are: " + known}};
}

}  // namespace kq
