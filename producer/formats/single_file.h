// One kernel in one .py, .cu, .ptx or .cubin file, whose problem is named by --problem or by a comment at its head, or
// is the one of --problems that has the name of the kernel or of a folder above it.
//
// The label of a kernel is its path below InputOptions::label_root, without the ending: "add" or "gelu/anna".
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

// Returns whether a file is the one that --problem names.
bool is_the_problem(const std::filesystem::path& input, const InputOptions& options);
// Returns whether a file in a folder of kernels is a problem: it is the one that --problem names, or it names no
// problem itself and defines Model and get_inputs, but no ModelNew, and no IOContract beside it says what to call.
bool is_problem_among_kernels(const std::filesystem::path& input, const InputOptions& options);
// Returns whether a file is an __init__.py that defines nothing: it makes its folder a package and is no kernel.
bool is_package_marker(const std::filesystem::path& input);

// Returns the files of a submission with this entry, which may be given another name. X.cu needs X.json, its
// IOContract. X.py includes X.json where that is an IOContract. X.cu without X.json that is an extension of torch is
// preceded by X.py.
std::vector<FileRef> source_files(const std::filesystem::path& entry, const std::string& name = {});
// Returns the files of a submission whose source X.cu is an extension of torch: X.py, which builds the extension and
// calls its function forward, and the source.
std::vector<FileRef> extension_files(FileRef source);

}  // namespace kq::producer
