// Makes the problem of a job whose problem's own program checks and times the submission, in GPU MODE's form.
//
// The problem is JSON with the texts of all files and the lines of the cases, which a worker's eval child reads
// (gpu_worker/harness/eval_program/eval_child.py says what it holds). The program runs as it is. What it reports is
// self-reported, so it has a board of its own: the hash of its problem is that of no problem that kq judges.
#pragma once

#include <string>

#include "core/base/error.h"
#include "producer/formats/popcorn/judged_problem.h"

namespace kq::producer::popcorn {

// Returns one line of a case file: "size: 127; seed: 4242". Booleans and lists are written as Python writes them.
std::string case_line(const Json& test);

// Returns the files of a job whose problem measures by itself. Fails where the board cannot run so or its files cannot
// be read.
Expected<JobFiles> eval_files(const Board& board, const std::string& submission);

}  // namespace kq::producer::popcorn
