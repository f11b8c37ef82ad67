// Makes a problem of kq, whose judge checks and times, from a problem in GPU MODE's form.
//
// The problem is a file: FILES, the texts of the board's own files; WORKLOADS, its tests and benchmarks; and
// reference_side.py. Tests have weight 0: they are checked and not timed. The entry of a submission is
// submission_side.py, which calls custom_kernel(data) of the submitted file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "producer/client/json.h"
#include "producer/formats/file_ref.h"
#include "producer/formats/popcorn/problem_set.h"

namespace kq::producer::popcorn {

// The numbers of calls of such a job: of each test and benchmark, and of a benchmark, fewer where a board has many.
inline constexpr std::uint32_t kCheckedCalls = 3;
inline constexpr std::uint32_t kTimedCalls = 50;

// The workloads of tests and benchmarks are named "test.0 (size: 16)" and "benchmark.0 (size: 1024)".
inline constexpr std::string_view kTestPrefix = "test.";
inline constexpr std::string_view kBenchmarkPrefix = "benchmark.";

// One test or benchmark under the name of its workload.
struct NamedCase {
  std::string name;
  Json arguments;
};
std::vector<NamedCase> tests_of(const Board& board);
// Returns the benchmarks that are timed: with a ranking by the last one only that.
std::vector<NamedCase> benchmarks_of(const Board& board);

// Returns what people read of one case: "size: 1024; batch: 2". The seed is left out, because kq draws it.
std::string spec_of(const Json& test);
// Returns a value as Python writes it.
std::string python_text(const Json& value);

// Returns why no submission to the board can be judged, or nothing.
std::optional<std::string> unfit(const Board& board);

// The files of a job: those of the submission, the entry first, and the problem.
struct JobFiles {
  std::vector<FileRef> submission;
  FileRef problem;
};

// Returns the files of a job that kq judges. Fails where the board is unfit or its files cannot be read. Those files of
// the board that the submission imports travel with the submission.
Expected<JobFiles> judged_files(const Board& board, const std::string& submission);

// The programs on both sides; the build makes the texts from reference_side.py and submission_side.py.
extern const std::string_view kReferenceSide;
extern const std::string_view kSubmissionSide;

}  // namespace kq::producer::popcorn
