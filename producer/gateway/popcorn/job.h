// Makes a job of kq from a submission to a board.
//
// The problem is the same for every mode, which selects among its workloads, so that only a leaderboard run, which runs
// all, has a place on kq's board.
//
//   mode          workloads             timed
//   test          test.*                no
//   benchmark     benchmark.*           yes
//   profile       benchmark.*           yes, and then once more under a profiler
//   leaderboard   all                   benchmark.*
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/messages.h"
#include "producer/formats/popcorn/judged_problem.h"
#include "producer/submit/pack.h"

namespace kq::gateway::popcorn {

using producer::popcorn::Board;
using producer::popcorn::kBenchmarkPrefix;
using producer::popcorn::kTestPrefix;
using producer::popcorn::Ranking;

enum class Mode { test, benchmark, profile, leaderboard };
constexpr std::array<std::string_view, 4> enum_names(Mode) {
  return {"test", "benchmark", "profile", "leaderboard"};
}

inline constexpr std::size_t kSubmissionBytesMax = 1'000'000;

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

// Tags of the job, from which the gateway makes the answers.
inline constexpr std::string_view kBoardTag = "popcorn_board";
inline constexpr std::string_view kModeTag = "popcorn_mode";
inline constexpr std::string_view kGpuTag = "popcorn_gpu";
inline constexpr std::string_view kFileTag = "popcorn_file";
inline constexpr std::string_view kRankingTag = "popcorn_ranking";

}  // namespace kq::gateway::popcorn
