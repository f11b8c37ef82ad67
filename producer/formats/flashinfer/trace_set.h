// The input format flashinfer: solutions of flashinfer-bench and SOL-ExecBench, one job for each solution.
//
//   a problem's folder    definition.json, workload.jsonl, and solution*.json
//   a trace set           folders definitions, workloads and solutions, with any folders inside; a definition's
//                         workloads are NAME.jsonl, and a line may have the workload as a member "workload"
//
// The problem is the definition with all its workloads. A solution may have several sources. Its entry point is called
// with the inputs, in destination-passing style with the outputs behind them.
#pragma once

#include <filesystem>
#include <string>

#include "producer/formats/candidate.h"

namespace kq::producer::flashinfer {

inline constexpr std::size_t kTraceFilesMax = 100'000;  // files in the folders of a trace set

std::string recognise_trace_set(const std::filesystem::path& input);
void read_trace_set(const std::filesystem::path& input, const InputOptions& options, const CandidateSink& sink);

}  // namespace kq::producer::flashinfer
