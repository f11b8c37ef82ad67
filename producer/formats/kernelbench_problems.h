// KernelBench's own problems as submissions: each reference is submitted against itself, which gives a baseline for
// every problem.
//
// The input is a checkout (KernelBench/level1, ...), the folder with its levels, or the folder of one level. The label
// is level_{L}_problem_{P}_sample_0, the name that KernelBench gives to such a result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "producer/formats/candidate.h"

namespace kq::producer {

std::string recognise_kernelbench_problems(const std::filesystem::path& input);
void read_kernelbench_problems(const std::filesystem::path& input, const InputOptions& options,
                               const CandidateSink& sink);

// Returns a candidate whose source is the problem with its Model as ModelNew.
Candidate reference_candidate(std::uint32_t level, std::uint32_t id, const FileRef& problem, const std::string& code);

}  // namespace kq::producer
