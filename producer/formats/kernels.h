// A directory of kernels, which is searched to the bottom: each .py, .cu, .ptx or .cubin file is read as a single file
// (single_file.h). The files of a directory come first, in the order of their names, then the directories in it.
//
// A directory below it that is of another format, such as a KernelBench run, is read by that format. Hidden files and
// directories, __pycache__, an __init__.py that defines nothing, links to directories, and the problems that lie among
// the kernels are left out.
#pragma once

#include <filesystem>
#include <string>

#include "producer/formats/candidate.h"

namespace kq::producer {

std::string recognise_kernels(const std::filesystem::path& input);
void read_kernels(const std::filesystem::path& input, const InputOptions& options, const CandidateSink& sink);

}  // namespace kq::producer
