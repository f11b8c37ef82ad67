// Reads the problems of a checkout in GPU MODE's form, where it lies:
//
//   SET.yaml                    the boards of a set: name, directory of the problem, deadline
//   SET/PROBLEM/task.yml        a problem: files, tests, benchmarks, limits; a folder that no set names is a board, too
//
// All paths of a problem lead to files inside the checkout. Nothing is written there.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/limits.h"
#include "producer/client/json.h"

namespace kq::producer::popcorn {

inline constexpr std::size_t kBoardsMax = 1'000;
inline constexpr std::size_t kCasesMax = kWorkloadsMax;     // tests and benchmarks of one board
inline constexpr std::size_t kProblemFoldersDepthMax = 4;   // below the checkout
inline constexpr std::int64_t kProblemSetAgeMsMax = 2'000;  // how long a read set of problems is used

// One file of the folder in which a kernel of the board runs.
struct BoardFile {
  std::string name;
  std::filesystem::path path;
};

enum class Ranking { last, mean, geom };
constexpr std::array<std::string_view, 3> enum_names(Ranking) {
  return {"last", "mean", "geom"};
}

struct Board {
  std::int64_t id = 0;  // from 1, in the order of names
  std::string name;
  std::string description{};
  std::string deadline{};              // as the set says it; kq does not close boards
  std::string lang{};                  // "py" or "cu"
  std::vector<BoardFile> files{};      // without the submission and the program that measures
  std::optional<BoardFile> program{};  // the program that measures, of a problem with lang py
  std::string submission_name{};       // under which the submission lies beside the files
  Json config{};                       // of task.yml: the main program, or sources and flags
  std::string seed{};                  // digits; empty: none
  std::vector<Json> tests{};           // objects: the arguments of generate_input()
  std::vector<Json> benchmarks{};
  Ranking ranking = Ranking::last;
  std::uint32_t test_s = 180, benchmark_s = 180, ranked_s = 180;
  bool is_multi_gpu = false;
  std::uint32_t device_count = 1;  // GPUs that a submission uses at once: the largest world_size of the cases
  std::string mistake{};           // what is wrong with the problem's task.yml; empty: nothing

  std::size_t timed_count() const { return ranking == Ranking::last && !benchmarks.empty() ? 1 : benchmarks.size(); }
};

// Returns whether a folder is one problem.
bool is_problem(const std::filesystem::path& folder);

// Reads one problem, whose board has the name of its folder. Its files may lie up to two folders above. Fails where
// task.yml is wrong.
Expected<Board> read_board(const std::filesystem::path& folder);

// Reads all boards. Fails where the folder has none. A problem whose task.yml is wrong is a board with a mistake.
Expected<std::vector<Board>> read_boards(const std::filesystem::path& checkout);

// Returns the board of a name, in whatever case, or nothing.
const Board* find_board(const std::vector<Board>& boards, std::string_view name);

// The boards of a checkout that may change while the gateway runs.
class ProblemSet {
 public:
  static Expected<std::unique_ptr<ProblemSet>> open(std::filesystem::path checkout);

  // Returns the boards as they were at most kProblemSetAgeMsMax ago. Any thread may call this.
  Expected<std::shared_ptr<const std::vector<Board>>> boards();

 private:
  explicit ProblemSet(std::filesystem::path checkout) : checkout_(std::move(checkout)) {}

  const std::filesystem::path checkout_;
  std::mutex mutex_;
  std::shared_ptr<const std::vector<Board>> boards_;
  std::int64_t read_at_ms_ = 0;
};

}  // namespace kq::producer::popcorn
