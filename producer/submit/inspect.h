// Makes jobs from the inputs in two passes. The first pass reads and validates all inputs and keeps only the hash of
// each label, 16 bytes for a job. The second pass reads the inputs again and returns one job after the other. So a
// mistake in the last of a million lines is reported before anything is sent, and memory stays small.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "producer/submit/pack.h"

namespace kq::producer {

struct SubmitRequest {
  std::vector<std::filesystem::path> inputs;
  InputOptions options;
  std::string input_format;  // empty: each input is recognised
  std::string run;           // empty: named after the first input
  std::string run_owner{};   // the name of the key; stands before such a name, because a run belongs to one key
  std::string submitter;     // the name whose share and quota the jobs count against; may be empty
  std::uint32_t repeat = 1;  // how many times each job is submitted, at most kRepeatMax
  std::string salt;          // empty: the broker reuses finished jobs; otherwise a random text that makes every job new
};

inline constexpr std::uint32_t kRepeatMax = 1'000;
inline constexpr std::size_t kSubmissionsMax = 10'000'000;  // jobs of one call
inline constexpr std::size_t kMistakesKept = 1'000;  // mistakes whose sentences are kept; further ones are counted

// A sequence of jobs that can be visited any number of times. `each` fails with the first error of `visit`, or where a
// file has changed since the first pass.
using VisitJob = std::function<Expected<void>(PackedJob&& job)>;
struct JobSource {
  std::string run;
  std::string submitter{};
  std::size_t job_count = 0;
  std::function<Expected<void>(const VisitJob& visit)> each;
};

struct RecognisedInput {
  std::string input;
  std::string format;
  std::string reason;
};

struct Inspected {
  JobSource source;                   // the valid jobs
  std::vector<std::string> mistakes;  // sentences for the first kMistakesKept mistakes, joined by joined_mistakes()
  std::size_t mistake_count = 0;      // these sentences, and the mistakes that are not kept
  std::size_t left_out_count = 0;     // kernels that are no jobs because of a mistake
  std::vector<std::string> notes;     // what was left out on purpose
  std::vector<RecognisedInput> recognised;
};
// Joins the sentences "PLACE: TEXT" that differ in their places only: "a.py, b.py, c.py and 7 more: TEXT". The others
// stay as they are, in their order.
inline constexpr std::size_t kPlacesShown = 3;
std::vector<std::string> joined_mistakes(const std::vector<std::string>& mistakes);

// Reads and validates all inputs. It needs no broker.
Inspected inspect(const SubmitRequest& request);

// Returns the paths that an argument stands for: itself, or the files that match a pattern such as 'k/*.py', which the
// shell has not expanded because it was in quotes. Fails where nothing matches.
Expected<std::vector<std::string>> expanded_input(const std::string& argument);

}  // namespace kq::producer
