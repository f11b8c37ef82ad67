// A KernelBench run: a directory of level_{L}_problem_{P}_sample_{S}_kernel.py, one candidate each.
//
// The problems are looked for in --problems DIR (the dataset's root or the directory of one level), else beside the
// run: in the run itself and in each directory above it, as level{L}/{P}_*.py or KernelBench/level{L}/{P}_*.py.
// Prompts, settings and results that KernelBench keeps in the same directory are left alone.
#pragma once

#include <filesystem>
#include <string>

#include "producer/formats/candidate.h"
#include "producer/formats/problems.h"
#include "producer/formats/sample_name.h"

namespace kq::producer {

std::string why_kernelbench_run(const std::filesystem::path& input);
void read_kernelbench_run(const std::filesystem::path& input, const InputOptions& options, const Finds& finds);

// What a sample's file has because of its name, also where it comes alone: its label and its tags.
Candidate sample_candidate(const std::filesystem::path& file, const SampleName& name);
// Where the problems of a run are looked for. `one_level`: the options may name the directory of that level.
KernelBenchProblems problems_of_run(const std::filesystem::path& run, const InputOptions& options, bool one_level);

}  // namespace kq::producer
