// From what is on disk to jobs, twice: the first pass judges everything and keeps next to nothing, the second hands out
// one job after the other. So a mistake in the last of a million lines is told before anything is sent, and memory
// stays flat: 16 bytes per job, for labels.
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
  std::string input_format;  // empty: told by looking
  std::string run;           // empty: the name of the first input's directory
  std::string submitter;     // whose share and quota the jobs count against; may be empty
  std::uint32_t repeat = 1;  // each job this often, at most kRepeatMax
  std::string salt;          // empty: identical finished work is reused; otherwise random text that makes every job new
};

inline constexpr std::uint32_t kRepeatMax = 1'000;
inline constexpr std::size_t kSubmissionsMax = 10'000'000;  // of one call
inline constexpr std::size_t kMistakesKept = 1'000;         // of one call; the others are counted

// Jobs that can be gone through again and again. `each` ends with the first Error of `visit`, or of its own: a file
// that changed.
using VisitJob = std::function<Expected<void>(PackedJob&& job)>;
struct JobSource {
  std::string run;
  std::string submitter{};
  std::size_t jobs_n = 0;
  std::function<Expected<void>(const VisitJob& visit)> each;
};

struct Recognised {
  std::string input;
  std::string format;
  std::string why;
};

struct Inspected {
  JobSource source;                   // what is right of it
  std::vector<std::string> mistakes;  // one sentence each, at most kMistakesKept
  std::size_t mistakes_n = 0;
  std::size_t left_out_count = 0;  // kernels that are no jobs because of them
  std::vector<std::string> notes;  // what was left out on purpose
  std::vector<Recognised> recognised;
};
// Reads and validates everything; needs no broker.
Inspected inspect(const SubmitRequest& request);

}  // namespace kq::producer
