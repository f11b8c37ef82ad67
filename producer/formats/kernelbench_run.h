// A KernelBench run: a directory with files level_{L}_problem_{P}_sample_{S}_kernel.py, each of which is a candidate.
//
// The problems are searched in --problems DIR, which is the root of the data set or the directory of one level. Without
// that option they are searched in the run itself and in each directory above it, as level{L}/{P}_*.py or
// KernelBench/level{L}/{P}_*.py. Other files that KernelBench keeps in the directory (prompts, settings, results) are
// ignored.
#pragma once

#include <filesystem>
#include <string>

#include "producer/formats/candidate.h"
#include "producer/formats/problems.h"
#include "producer/formats/sample_name.h"

namespace kq::producer {

std::string recognise_kernelbench_run(const std::filesystem::path& input);
void read_kernelbench_run(const std::filesystem::path& input, const InputOptions& options, const CandidateSink& sink);

// Returns a candidate with the file, and with the label and the tags that follow from the name of the sample.
Candidate sample_candidate(const std::filesystem::path& file, const SampleName& name);
// Returns the problems of a run. With `one_level` the option --problems may be the directory of that level.
KernelBenchProblems problems_of_run(const std::filesystem::path& run, const InputOptions& options, bool one_level);

}  // namespace kq::producer
