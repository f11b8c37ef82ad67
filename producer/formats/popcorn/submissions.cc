#include "producer/formats/popcorn/submissions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <vector>

#include "producer/formats/popcorn/eval_problem.h"
#include "producer/formats/popcorn/judged_problem.h"
#include "producer/formats/recognise.h"

namespace kq::producer::popcorn {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSubmissionsMax = 100'000;  // files of one folder
constexpr std::int64_t kMsPerS = 1'000;

bool is_submission(const fs::path& path) {
  const fs::path ending = path.extension();
  return is_file(path) && (ending == ".py" || ending == ".cu");
}

std::vector<fs::path> submissions_in(const fs::path& input) {
  if (is_file(input)) return {input};
  std::vector<fs::path> found;
  std::error_code wrong;
  for (fs::directory_iterator entry(input, wrong), end; !wrong && entry != end; entry.increment(wrong)) {
    if (is_submission(entry->path()) && found.size() < kSubmissionsMax) found.push_back(entry->path());
  }
  std::ranges::sort(found);
  return found;
}

// Returns NAME of "3_NAME.py".
std::optional<std::string> name_in(const fs::path& path) {
  static const std::regex numbered("[0-9]+_(.+)");
  const std::string stem = path.stem().string();
  std::smatch parts;
  return std::regex_match(stem, parts, numbered) ? std::optional(parts[1].str()) : std::nullopt;
}

std::string label_of(const Board& board, const fs::path& submission) {
  return board.name + "/" + submission.stem().string();
}

// What the two kinds of jobs have in common.
Candidate candidate_of(const Board& board, const fs::path& path, const JobFiles& files) {
  Candidate candidate;
  candidate.where = path.string();
  candidate.label = label_of(board, path);
  candidate.files = files.submission;
  candidate.problem = files.problem;
  candidate.tags = {{"popcorn_board", board.name},
                    {"popcorn_file", path.filename().string()},
                    {"popcorn_ranking", std::string(to_string(board.ranking))}};
  return candidate;
}

Expected<void> send(const Board& board, const fs::path& path, JudgedBy judged_by, const CandidateSink& sink) {
  KQ_TRY_VALUE(const std::string text, contents(file_ref(path)));
  if (judged_by != JudgedBy::problem) {
    KQ_TRY_VALUE(const JobFiles files, judged_files(board, text));
    Candidate candidate = candidate_of(board, path, files);
    candidate.backend = recognise_backend("submission.py", text);
    candidate.problem_name = "popcorn/" + board.name;
    candidate.trials.correctness = kCheckedCalls;
    candidate.trials.timed = kTimedCalls;
    candidate.time_limit_ms = static_cast<std::uint32_t>((board.test_s + board.benchmark_s + board.ranked_s) * kMsPerS);
    sink.candidate(std::move(candidate));
  }
  if (judged_by != JudgedBy::kq) {
    KQ_TRY_VALUE(const JobFiles files, eval_files(board, text));
    Candidate candidate = candidate_of(board, path, files);
    candidate.label += kSelfReportedSuffix;
    candidate.backend = Backend::eval_program;
    candidate.problem_name = "popcorn/" + board.name + std::string(kSelfReportedSuffix);
    candidate.device_count = board.device_count;
    sink.candidate(std::move(candidate));
  }
  return {};
}

void leave_out(const Error& error, const CandidateSink& sink) {
  sink.left_out();
  sink.mistake(error.message);
}

void read_numbered(const fs::path& input, const fs::path& checkout, JudgedBy judged_by, const CandidateSink& sink) {
  const auto boards = read_boards(checkout);
  if (!boards) return sink.mistake(boards.error().message);
  for (const fs::path& path : submissions_in(input)) {
    if (sink.stopped()) return;
    const auto name = name_in(path);
    const Board* const board = find_board(*boards, name ? *name : path.stem().string());
    if (board == nullptr) {
      leave_out({ErrorKind::bad_input, path.string() + ": " + checkout.string() + " has no problem of this name"},
                sink);
    } else if (const auto sent = send(*board, path, judged_by, sink); !sent) {
      leave_out(sent.error(), sink);
    }
  }
}

}  // namespace

bool names_problems(const InputOptions& options) {
  if (options.problem) return is_problem(*options.problem);
  if (!options.problems) return false;
  std::error_code wrong;
  // A folder that is a checkout of KernelBench may hold problems of this form somewhere below.
  if (fs::exists(*options.problems / "KernelBench", wrong) || fs::exists(*options.problems / "level1", wrong))
    return false;
  return fs::is_directory(*options.problems, wrong) && read_boards(*options.problems).has_value();
}

std::string recognise_submissions(const fs::path& input) {
  return is_problem(input) ? "it holds a task.yml" : "";
}

void read_submissions(const fs::path& input, const InputOptions& options, const CandidateSink& sink) {
  const JudgedBy judged_by = options.judged_by;
  if (!options.problem && options.problems && !is_problem(input))
    return read_numbered(input, *options.problems, judged_by, sink);
  const auto board = read_board(options.problem ? *options.problem : input);
  if (!board) return sink.mistake(board.error().message);
  const bool is_baseline = !options.problem && is_problem(input);
  const auto found = submissions_in(is_baseline ? input / board->submission_name : input);
  if (found.empty()) sink.mistake(input.string() + " has no file that ends in .py or .cu");
  for (const fs::path& path : found) {
    if (sink.stopped()) return;
    if (const auto sent = send(*board, path, judged_by, sink); !sent) leave_out(sent.error(), sink);
  }
}

}  // namespace kq::producer::popcorn
