// KernelBench's own problems as submissions: each reference against itself, which gives a baseline for every problem.
//
// A checkout (KernelBench/level1, ...), the folder with its levels, or the folder of one level. The label is
// level_{L}_problem_{P}_sample_0, so that results are found where KernelBench has them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "producer/formats/candidate.h"

namespace kq::producer {

std::string why_kernelbench_problems(const std::filesystem::path& input);
void read_kernelbench_problems(const std::filesystem::path& input, const InputOptions& options, const Finds& finds);

// A problem's Model as ModelNew.
Candidate reference_candidate(std::uint32_t level, std::uint32_t id, const FileRef& problem, const std::string& code);

}  // namespace kq::producer
