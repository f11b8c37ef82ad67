#include "producer/formats/popcorn/submissions.h"

#include <algorithm>
#include <fstream>
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
constexpr std::size_t kHeadLines = 50;           // of a submission, in which a leaderboard may be named
constexpr std::size_t kHeadLineBytesMax = 1024;  // longer lines name none

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

// Returns the first match of a directive such as `#!POPCORN leaderboard NAME` at the head of a submission: the whole
// line, then the groups of the expression.
std::optional<std::vector<std::string>> directive_of(const fs::path& path, const std::regex& directive) {
  std::ifstream file(path);
  std::string line;
  std::smatch parts;
  for (std::size_t i = 0; i < kHeadLines && std::getline(file, line); ++i) {
    if (line.size() <= kHeadLineBytesMax && std::regex_match(line, parts, directive))
      return std::vector<std::string>(parts.begin(), parts.end());
  }
  return std::nullopt;
}

// Notes which submissions name GPUs in a line such as `#!POPCORN gpus H100`, unless the command line chooses the
// device: these are GPU MODE's names of GPUs, and not those of workers.
void note_gpus(const std::vector<fs::path>& submissions, const InputOptions& options, const CandidateSink& sink) {
  static const std::regex gpus(R"((?:#|//)!POPCORN[ \t]+gpus?[ \t].*)");
  if (options.gpu_model || options.device) return;
  std::size_t count = 0;
  std::string first;
  for (const fs::path& path : submissions) {
    const auto found = directive_of(path, gpus);
    if (found && count++ == 0) first = path.string() + ": the line '" + (*found)[0] + "'";
  }
  if (count == 0) return;
  const std::string others = count == 1 ? " chooses" : ", and those of " + std::to_string(count - 1) + " more, choose";
  sink.note(first + others + " no device here; --gpu MODEL or --device cpu does");
}

// Returns the folder of the problem that a path means: the path itself, or the folder of a file beside a task.yml.
fs::path problem_folder_of(const fs::path& path) {
  const fs::path folder = fs::absolute(path).parent_path();
  return is_file(path) && is_problem(folder) ? folder : path;
}

// Returns whether a folder is a set of problems. A checkout of KernelBench is none, though it may hold problems of this
// form somewhere below.
bool is_set(const fs::path& folder) {
  std::error_code wrong;
  if (fs::exists(folder / "KernelBench", wrong) || fs::exists(folder / "level1", wrong)) return false;
  return fs::is_directory(folder, wrong) && read_boards(folder).has_value();
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

// Reads submissions to the problems of a set. `named` is the problem of all of them; without it each names its own.
void read_for_set(const fs::path& input, const fs::path& checkout, const std::optional<std::string>& named,
                  const InputOptions& options, const CandidateSink& sink) {
  const auto boards = read_boards(checkout);
  if (!boards) return sink.mistake(boards.error().message);
  const auto submissions = submissions_in(input);
  if (submissions.empty())
    return sink.mistake(input.string() +
                        " has no file that ends in .py or .cu, and the folders in it are not searched; name the folder "
                        "of the submissions, or that of one problem for the problem's own submission");
  note_gpus(submissions, options, sink);
  for (const fs::path& path : submissions) {
    if (sink.stopped()) return;
    auto name = named ? named : leaderboard_in_head(path);
    if (!name) name = name_in(path).value_or(path.stem().string());
    const Board* const board = find_board(*boards, *name);
    if (board == nullptr) {
      leave_out({ErrorKind::bad_input,
                 path.string() + ": " + checkout.string() + " has no problem '" + *name +
                     "'; --problem NAME, a line '#!POPCORN leaderboard NAME' or the name of the file says which"},
                sink);
    } else if (const auto sent = send(*board, path, options.judged_by, sink); !sent) {
      leave_out(sent.error(), sink);
    }
  }
}

// Returns what is wrong with --workloads for a job in which the problem's own program measures, or nothing.
std::optional<std::string> wrong_workloads(const InputOptions& options) {
  if (options.judged_by == JudgedBy::kq || !options.workloads) return std::nullopt;
  const std::string tests = std::string(kTestPrefix) + "*", benchmarks = std::string(kBenchmarkPrefix) + "*";
  for (const Workload& one : *options.workloads) {
    if (options.workloads->size() == 1 && (one.name == tests || one.name == benchmarks)) continue;
    return "--workloads: a problem's own program runs all its tests, '" + tests + "', or all its benchmarks, '" +
           benchmarks + "', and not '" + one.name + "' alone; --judged-by kq can";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> leaderboard_in_head(const fs::path& path) {
  static const std::regex leaderboard(R"((?:#|//)!POPCORN[ \t]+leaderboard[ \t]+([^\s]+)\s*)");
  const auto found = directive_of(path, leaderboard);
  return found ? std::optional((*found)[1]) : std::nullopt;
}

bool names_problems(const fs::path& input, const InputOptions& options) {
  if (options.problem && is_problem(problem_folder_of(*options.problem))) return true;
  if (options.problems) return is_set(*options.problems) && (!options.problem || !is_file(*options.problem));
  return !options.problem && is_file(input) && is_problem(problem_folder_of(input));
}

std::string recognise_submissions(const fs::path& input) {
  return is_problem(input) ? "it holds a task.yml" : "";
}

void read_submissions(const fs::path& input, const InputOptions& options, const CandidateSink& sink) {
  const JudgedBy judged_by = options.judged_by;
  if (const auto wrong = wrong_workloads(options)) return sink.mistake(*wrong);
  const fs::path problem = problem_folder_of(options.problem.value_or(input));
  if (options.problems && !is_problem(problem)) {
    const auto named = options.problem ? std::optional(options.problem->string()) : std::nullopt;
    return read_for_set(input, *options.problems, named, options, sink);
  }
  const auto board = read_board(problem);
  if (!board) return sink.mistake(board.error().message);
  const bool is_baseline = !options.problem && is_problem(input);
  const auto found = submissions_in(is_baseline ? input / board->submission_name : input);
  if (found.empty()) sink.mistake(input.string() + " has no file that ends in .py or .cu");
  note_gpus(found, options, sink);
  for (const fs::path& path : found) {
    if (sink.stopped()) return;
    if (const auto sent = send(*board, path, judged_by, sink); !sent) leave_out(sent.error(), sink);
  }
}

}  // namespace kq::producer::popcorn
