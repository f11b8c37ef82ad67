// The input format popcorn: submissions to problems in GPU MODE's form.
//
//   a problem's folder                    its own submission.py, as a baseline
//   a file or a folder of files           with --problem FOLDER: each is a submission to that problem
//   a folder of files N_NAME.py           with --problems CHECKOUT: each is a submission to the problem NAME, as in
//                                         Autocomp's sols/gpumode
//
// A folder is a problem where it holds a task.yml. Each submission becomes a job that kq judges, a job in which the
// problem's own program measures (--judged-by problem), or both. The label of the latter ends with kSelfReportedSuffix.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "producer/formats/candidate.h"

namespace kq::producer::popcorn {

inline constexpr std::string_view kSelfReportedSuffix = "@self_reported";

// Returns whether the options name a problem or a set of problems in this form, whatever the input is.
bool names_problems(const InputOptions& options);

std::string recognise_submissions(const std::filesystem::path& input);
void read_submissions(const std::filesystem::path& input, const InputOptions& options, const CandidateSink& sink);

}  // namespace kq::producer::popcorn
