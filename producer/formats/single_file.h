// One kernel in one .py, .cu, .ptx or .cubin file, its problem named by --problem.
//
// A sample of a KernelBench run (level_1_problem_2_sample_0_kernel.py) is here what it is in its run's folder: it has
// that label and those tags, and its problem is found in the same way where nobody names one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "producer/formats/candidate.h"

namespace kq::producer {

bool is_named_as_kernel(const std::filesystem::path& input);
std::string why_single_file(const std::filesystem::path& input);
void read_single_file(const std::filesystem::path& input, const InputOptions& options, const Finds& finds);

// The files of a submission by its entry: X.cu takes X.json, its IOContract, with it, and X.py does where it is one.
std::vector<FileRef> source_files(const std::filesystem::path& entry);

}  // namespace kq::producer
