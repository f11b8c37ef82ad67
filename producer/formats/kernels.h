// A directory of kernels: each .py, .cu, .ptx or .cubin file in it is read as a single file (single_file.h), in the
// order of their names.
#pragma once

#include <filesystem>
#include <string>

#include "producer/formats/candidate.h"

namespace kq::producer {

std::string recognise_kernels(const std::filesystem::path& input);
void read_kernels(const std::filesystem::path& input, const InputOptions& options, const CandidateSink& sink);

}  // namespace kq::producer
