// One kernel in one .py, .cu, .ptx or .cubin file, its problem named by --problem.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "producer/formats/candidate.h"

namespace kq {

std::string why_single_file(const std::filesystem::path& input);
void read_single_file(const std::filesystem::path& input, const InputOptions& options, const Finds& finds);

// The files of a submission by its entry: X.cu takes X.json, its IOContract, with it, and X.py does where it is one.
std::vector<FileRef> source_files(const std::filesystem::path& entry);

}  // namespace kq
