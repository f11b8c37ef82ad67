// One job as KernelBench would have reported it: the sample and problem that it stands for, and the fields of its entry
// in eval_results.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/records.h"
#include "producer/client/json.h"

namespace kq::tools {

// The sample that a job stands for. A job without a sample number gets one from KernelBenchFigures.
struct KernelBenchId {
  std::uint32_t level = 0;
  std::uint32_t problem = 0;
  std::optional<std::uint32_t> sample;
};

// Returns the sample by the tags level, problem_id and sample_id, else by a label as KernelBench names its files, else
// by a problem named "level1/19_ReLU"; nothing for other jobs.
std::optional<KernelBenchId> kernelbench_id(const Submission& submission);

// Returns whether a row says something about the kernel: the job is finished, and its verdict is not the fault of kq or
// the problem, cancelled, expired or the like. A job with the verdict compiled_only does not count, because no device
// has run its kernel.
bool is_kernelbench_result(const RunRow& row);

struct KernelBenchOutcome {
  bool compiled = false;
  bool correct = false;
  producer::Json metadata{producer::JsonObject{}};
  double runtime_ms = -1;  // mean time; -1 when it was not measured
  producer::Json runtime_stats{producer::JsonObject{}};
};

// Returns the outcome of a row for which is_kernelbench_result() is true. With `strict`, a GPU fault or a timeout
// counts as not compiled, as in KernelBench; otherwise `compiled` is true once the kernel was built. A suspect row is
// not correct, because its time is not reliable and KernelBench's scripts have no value for that.
KernelBenchOutcome kernelbench_outcome(const RunRow& row, bool strict);

// Returns KernelBench's runtime_stats: mean, population std, min and max in ms, num_trials, hardware, device.
producer::Json kernelbench_stats(const Statistics& statistics, const DeviceInfo& device);

}  // namespace kq::tools
