// One kernel in one .py, .cu, .ptx or .cubin file, whose problem is named by --problem or by a comment at its head.
//
// A sample of a KernelBench run (level_1_problem_2_sample_0_kernel.py) has the same label and tags as in its run, and
// its problem is found in the same way where none is named.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "producer/formats/candidate.h"

namespace kq::producer {

bool is_named_as_kernel(const std::filesystem::path& input);
std::string recognise_single_file(const std::filesystem::path& input);
void read_single_file(const std::filesystem::path& input, const InputOptions& options, const CandidateSink& sink);

// Returns the files of a submission with this entry. X.cu needs X.json, its IOContract. X.py includes X.json where that
// is an IOContract.
std::vector<FileRef> source_files(const std::filesystem::path& entry);

}  // namespace kq::producer
