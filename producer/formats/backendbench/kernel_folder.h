// The input format backendbench: a folder of BackendBench's kernels, with a folder add__Tensor for each operator and in
// it add__Tensor_implementation_v2.py with the function add__Tensor_kernel_impl. Each kernel is judged by the calls
// that the suite has for its operator, one job for each call.
#pragma once

#include <filesystem>
#include <string>

#include "producer/formats/candidate.h"

namespace kq::producer::backendbench {

std::string recognise_kernel_folder(const std::filesystem::path& input);
void read_kernel_folder(const std::filesystem::path& input, const InputOptions& options, const CandidateSink& sink);

}  // namespace kq::producer::backendbench
