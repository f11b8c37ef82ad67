#include "producer/formats/popcorn/eval_problem.h"

#include <utility>

#include "core/base/enum_names.h"
#include "core/limits.h"

namespace kq::producer::popcorn {
namespace {

constexpr std::string_view kProblemName = "popcorn_eval.json";

Json texts(const std::vector<std::string>& all) {
  JsonArray items;
  for (const std::string& text : all) items.push_back(Json{text});
  return Json{std::move(items)};
}

// Returns the texts of all files by their names; the submission's is null.
Expected<Json> files_of(const Board& board) {
  JsonObject files;
  const auto add = [&](const BoardFile& file) -> Expected<void> {
    KQ_TRY_VALUE(auto text, contents(file_ref(file.path)));
    files.emplace_back(file.name, Json{std::move(text)});
    return {};
  };
  for (const BoardFile& file : board.files) KQ_TRY(add(file));
  if (board.program) KQ_TRY(add(*board.program));
  files.emplace_back(board.submission_name, Json{nullptr});
  return Json{std::move(files)};
}

std::optional<std::string> unfit_to_run(const Board& board) {
  if (!board.mistake.empty()) return "leaderboard " + board.name + " cannot be read: " + board.mistake;
  const std::string here = "leaderboard " + board.name + " cannot run its own program here: ";
  if (board.lang == "py" && !board.program) return here + "none of its files is the program that config.main names";
  if (board.tests.empty() && board.benchmarks.empty()) return here + "it has neither tests nor benchmarks";
  return std::nullopt;
}

}  // namespace

std::string case_line(const Json& test) {
  std::string line;
  for (const auto& [name, value] : *test.object())
    line += (line.empty() ? "" : "; ") + name + ": " + (value.text() != nullptr ? *value.text() : python_text(value));
  return line;
}

Expected<JobFiles> eval_files(const Board& board, const std::string& submission) {
  if (const auto why = unfit_to_run(board)) return bad_input(*why);
  KQ_TRY_VALUE(Json files, files_of(board));
  std::vector<std::string> lines, names;
  JsonObject problem;
  const auto add_cases = [&](const std::string& kind, const std::vector<NamedCase>& cases) {
    lines.clear();
    names.clear();
    for (const auto& [name, arguments] : cases) {
      lines.push_back(case_line(arguments));
      names.push_back(name);
    }
    problem.emplace_back(kind + "s", texts(lines));
    problem.emplace_back(kind + "_names", texts(names));
  };
  problem.emplace_back("lang", Json{board.lang});
  problem.emplace_back("config", board.config);
  problem.emplace_back("files", std::move(files));
  problem.emplace_back("seed", board.seed.empty() ? Json{nullptr} : Json{board.seed});
  add_cases("test", tests_of(board));
  add_cases("benchmark", benchmarks_of(board));
  JsonObject limits;
  limits.emplace_back("test", Json{std::int64_t{board.test_s}});
  limits.emplace_back("benchmark", Json{std::int64_t{board.benchmark_s}});
  limits.emplace_back("leaderboard", Json{std::int64_t{board.ranked_s}});
  problem.emplace_back("limits_s", Json{std::move(limits)});
  problem.emplace_back("ranking_by", Json{std::string(to_string(board.ranking))});
  std::string text = to_text(Json{std::move(problem)});
  if (text.size() > kFileBytesMax)
    return bad_input("leaderboard " + board.name + " cannot run its own program here: its files have " +
                     std::to_string(text.size()) + " bytes together, at most " + std::to_string(kFileBytesMax) +
                     " are possible");
  JobFiles made;
  made.submission.push_back({.name = board.submission_name, .path = "the submission", .text = submission});
  made.problem = {.name = std::string(kProblemName), .path = "leaderboard " + board.name, .text = std::move(text)};
  return made;
}

}  // namespace kq::producer::popcorn
