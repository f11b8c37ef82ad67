// Makes a job of kq from a submission to a board.
//
// The problem is a file that the gateway writes: FILES, the texts of the board's own files; WORKLOADS, its tests and
// benchmarks; and reference_side.py. It is the same for every mode, which selects among the workloads, so that only a
// leaderboard run, which runs all, has a place on kq's board. Tests have weight 0: they are checked and not timed.
//
//   mode          workloads             timed
//   test          test.*                no
//   benchmark     benchmark.*           yes
//   profile       benchmark.*           yes, and then once more under a profiler
//   leaderboard   all                   benchmark.*
//
// The entry of the submission is submission_side.py, which calls custom_kernel(data) of the client's file.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/messages.h"
#include "producer/gateway/popcorn/problem_set.h"
#include "producer/submit/pack.h"

namespace kq::gateway::popcorn {

enum class Mode { test, benchmark, profile, leaderboard };
constexpr std::array<std::string_view, 4> enum_names(Mode) {
  return {"test", "benchmark", "profile", "leaderboard"};
}

inline constexpr std::size_t kSubmissionBytesMax = 1'000'000;
inline constexpr std::uint32_t kCheckedCalls = 3;  // of each test and benchmark
inline constexpr std::uint32_t kTimedCalls = 50;   // of a benchmark, fewer where a board has many

// A kind of device under the name that clients use for it: "H100", "CPU".
struct Gpu {
  std::string name;
  DeviceWish wish = DeviceWish::cuda;
  std::string model;  // as the workers report it; empty for a CPU

  friend bool operator==(const Gpu&, const Gpu&) = default;
};

// Returns the devices of the connected workers, GPUs first.
std::vector<Gpu> gpus_of(const BrokerReply& broker);

// The client's part of a submission.
struct ClientFile {
  std::string name;
  std::string text;
};

// Returns the job, without a label. Fails with one sentence for the client: the board or the mode cannot be served, or
// the file is unfit.
Expected<producer::PackedJob> job_of(const Board& board, Mode mode, const Gpu& gpu, const ClientFile& file);

// Returns what the client's text reads of one case: "size: 1024; batch: 2". The seed is left out, because kq draws it.
std::string spec_of(const producer::Json& test);
// Returns a value as Python writes it.
std::string python_text(const producer::Json& value);

// Tags of the job, from which the gateway makes the answers.
inline constexpr std::string_view kBoardTag = "popcorn_board";
inline constexpr std::string_view kModeTag = "popcorn_mode";
inline constexpr std::string_view kGpuTag = "popcorn_gpu";
inline constexpr std::string_view kFileTag = "popcorn_file";
inline constexpr std::string_view kRankingTag = "popcorn_ranking";

// The workloads of tests and benchmarks are named "test.0 (size: 16)" and "benchmark.0 (size: 1024)".
inline constexpr std::string_view kTestPrefix = "test.";
inline constexpr std::string_view kBenchmarkPrefix = "benchmark.";

// The programs on both sides; the build makes the texts from reference_side.py and submission_side.py.
extern const std::string_view kReferenceSide;
extern const std::string_view kSubmissionSide;

}  // namespace kq::gateway::popcorn
