// One job as KernelBench would have reported it: which sample of which problem it is, and the fields of its
// eval_results.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/records.h"
#include "producer/client/json.h"

namespace kq::tools {

// A job without a sample number of its own gets one from whoever gathers.
struct KernelBenchId {
  std::uint32_t level = 0;
  std::uint32_t problem = 0;
  std::optional<std::uint32_t> sample;
};

// By the tags level, problem_id and sample_id, else by a label as KernelBench names its files, else by a problem named
// "level1/19_ReLU".
std::optional<KernelBenchId> kernelbench_id(const Submission& submission);

// Whether it says something about the kernel: it is finished, was judged, and not ended by us, the problem, the queue
// or who submitted it. compiled_only is none: a kernel that no device has run is neither right nor wrong.
bool is_kernelbench_result(const RunRow& row);

struct KernelBenchOutcome {
  bool compiled = false;
  bool correct = false;
  producer::Json metadata{producer::JsonObject{}};
  double runtime_ms = -1;  // the mean; -1: not measured
  producer::Json runtime_stats{producer::JsonObject{}};
};

// `strict`: a GPU fault or a timeout counts as not compiled, as KernelBench has it. Otherwise `compiled` is true once
// it was built. A suspect row is not correct: its time is not believed, and KernelBench's scripts have no word for
// that.
KernelBenchOutcome kernelbench_outcome(const RunRow& row, bool strict);

// KernelBench's stats of one side's times: mean, std (of the population), min and max in ms, num_trials, hardware,
// device.
producer::Json kernelbench_stats(const Statistics& statistics, const DeviceInfo& device);

}  // namespace kq::tools
