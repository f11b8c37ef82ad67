// The input format popcorn: submissions to problems in GPU MODE's form.
//
//   a problem's folder                    its own submission.py, as a baseline
//   a file beside a task.yml              a submission to the problem of that folder
//   a file or a folder of files           with --problem FOLDER, or with --problem NAME --problems CHECKOUT: each is a
//                                         submission to that problem
//   the same                              with --problems CHECKOUT: each is a submission to the problem NAME of its
//                                         line `#!POPCORN leaderboard NAME`, else of its file name N_NAME.py, as in
//                                         Autocomp's sols/gpumode, or NAME.py
//
// A folder is a problem where it holds a task.yml; a file in it stands for the folder. Each submission becomes a job
// that kq judges, a job in which the problem's own program measures (--judged-by problem), or both. The label of the
// latter ends with kSelfReportedSuffix.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "producer/formats/candidate.h"

namespace kq::producer::popcorn {

inline constexpr std::string_view kSelfReportedSuffix = "@self_reported";

// Returns whether the problem of an input is in this form, whatever the input is: the options name it, or a set of such
// problems, or they name none and the input is a file in the folder of one.
bool names_problems(const std::filesystem::path& input, const InputOptions& options);

// Returns NAME of a line `#!POPCORN leaderboard NAME` or `//!POPCORN leaderboard NAME` at the head of a submission,
// which popcorn-cli obeys.
std::optional<std::string> leaderboard_in_head(const std::filesystem::path& path);

std::string recognise_submissions(const std::filesystem::path& input);
void read_submissions(const std::filesystem::path& input, const InputOptions& options, const CandidateSink& sink);

}  // namespace kq::producer::popcorn
