// One kernel in one .py or .cu file, its problem named by --problem.
#pragma once

#include <filesystem>
#include <vector>

#include "producer/formats/candidate.h"

namespace kq {

bool is_single_file(const std::filesystem::path& input);
Found read_single_file(const std::filesystem::path& input, const InputOptions& options);

// The files of a submission by its entry: X.cu takes X.json, its IOContract, with it.
std::vector<FileRef> source_files(const std::filesystem::path& entry);

}  // namespace kq
