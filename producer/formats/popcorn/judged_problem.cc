#include "producer/formats/popcorn/judged_problem.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <utility>

#include "core/limits.h"

namespace kq::producer::popcorn {
namespace {

constexpr std::string_view kEntryName = "popcorn_entry.py";
constexpr std::string_view kProblemName = "popcorn_problem.py";
constexpr std::string_view kSubmissionName = "submission.py";
constexpr std::string_view kSeed = "seed";

// The texts of a board's own files, by their names.
using Texts = std::map<std::string, std::string>;

Expected<Texts> texts_of(const Board& board) {
  Texts texts;
  for (const BoardFile& file : board.files) {
    auto text = contents(file_ref(file.path));
    if (!text) return bad_input("leaderboard " + board.name + ": its file " + file.name + " cannot be read as text");
    texts[file.name] = std::move(*text);
  }
  return texts;
}

NamedCase named(std::string_view prefix, std::size_t number, const Json& arguments) {
  const std::string spec = spec_of(arguments);
  return {std::string(prefix) + std::to_string(number) + (spec.empty() ? "" : " (" + spec + ")"), arguments};
}

// Returns WORKLOADS of the problem.
std::string workloads_text(const Board& board) {
  std::string text = "WORKLOADS = [\n";
  const auto add = [&](const std::vector<NamedCase>& cases, int weight) {
    for (const auto& [name, arguments] : cases) {
      text += "    {\"name\": " + json_quoted(name) + ", \"weight\": " + std::to_string(weight) +
              ", \"case\": " + python_text(arguments) + "},\n";
    }
  };
  add(tests_of(board), 0);
  add(benchmarks_of(board), 1);
  return text + "]\n";
}

std::string problem_text(const Board& board, const Texts& texts) {
  std::string text = "FILES = {\n";
  for (const auto& [name, content] : texts) text += "    " + json_quoted(name) + ": " + json_quoted(content) + ",\n";
  return text + "}\n" + workloads_text(board) + std::string(kReferenceSide);
}

bool imports(const std::string& text, const std::string& module) {
  const std::regex statement("(^|\n)[ \t]*(from|import)[ \t]+" + module + "\\b");
  return std::regex_search(text, statement);
}

// Returns the names of those of the board's files that the submission imports, or that such a file imports.
std::set<std::string> imported(const std::string& text, const Texts& texts) {
  static const std::regex module_name("([A-Za-z_][A-Za-z0-9_]*)\\.py");
  std::set<std::string> names;
  std::vector<const std::string*> unread{&text};
  while (!unread.empty()) {
    const std::string& source = *unread.back();
    unread.pop_back();
    for (const auto& [name, content] : texts) {
      std::smatch module;
      if (names.contains(name) || !std::regex_match(name, module, module_name) || !imports(source, module[1])) continue;
      names.insert(name);
      unread.push_back(&content);
    }
  }
  return names;
}

}  // namespace

std::vector<NamedCase> tests_of(const Board& board) {
  std::vector<NamedCase> cases;
  for (std::size_t i = 0; i < board.tests.size(); ++i) cases.push_back(named(kTestPrefix, i, board.tests[i]));
  return cases;
}

std::vector<NamedCase> benchmarks_of(const Board& board) {
  std::vector<NamedCase> cases;
  const std::size_t first = board.benchmarks.size() - board.timed_count();
  for (std::size_t i = 0; i < board.timed_count(); ++i)
    cases.push_back(named(kBenchmarkPrefix, i, board.benchmarks[first + i]));
  return cases;
}

std::string python_text(const Json& value) {
  if (value.is_null()) return "None";
  if (const bool* is_true = value.boolean()) return *is_true ? "True" : "False";
  if (const JsonArray* items = value.array()) {
    std::string text = "[";
    for (const Json& item : *items) text += (text.size() > 1 ? ", " : "") + python_text(item);
    return text + "]";
  }
  if (const JsonObject* members = value.object()) {
    std::string text = "{";
    for (const auto& [name, member] : *members)
      text += (text.size() > 1 ? ", " : "") + json_quoted(name) + ": " + python_text(member);
    return text + "}";
  }
  return to_text(value);
}

std::string spec_of(const Json& test) {
  std::string spec;
  for (const auto& [name, value] : *test.object()) {
    if (name == kSeed) continue;
    spec += (spec.empty() ? "" : "; ") + name + ": " + (value.text() != nullptr ? *value.text() : python_text(value));
  }
  return spec;
}

std::optional<std::string> unfit(const Board& board) {
  if (!board.mistake.empty()) return "leaderboard " + board.name + " cannot be read: " + board.mistake;
  const std::string here = "leaderboard " + board.name + " cannot be judged here: ";
  if (board.lang != "py")
    return here + "its lang is " + board.lang +
           ", so its data are C++ values and no tensors; kq submit --judged-by problem runs its own program";
  if (board.is_multi_gpu)
    return here +
           "its submissions run on several GPUs at once, and kq's judge measures on one; kq submit --judged-by problem "
           "runs its own program";
  const bool has_reference =
      std::ranges::any_of(board.files, [](const BoardFile& file) { return file.name == "reference.py"; });
  if (!has_reference) return here + "it has no reference.py";
  if (board.files.size() + 2 > kFilesPerSubmissionMax)
    return here + "it has " + std::to_string(board.files.size()) + " files, at most " +
           std::to_string(kFilesPerSubmissionMax - 2) + " are possible";
  return std::nullopt;
}

Expected<JobFiles> judged_files(const Board& board, const std::string& submission) {
  if (const auto why = unfit(board)) return bad_input(*why);
  KQ_TRY_VALUE(const Texts texts, texts_of(board));
  std::string problem = problem_text(board, texts);
  if (problem.size() > kFileBytesMax)
    return bad_input("leaderboard " + board.name + " cannot be judged here: its files have " +
                     std::to_string(problem.size()) + " bytes together, at most " + std::to_string(kFileBytesMax) +
                     " are possible");
  JobFiles files;
  const auto add = [&](std::string_view name, std::string text) {
    files.submission.push_back({.name = std::string(name), .path = "the submission", .text = std::move(text)});
  };
  add(kEntryName, std::string(kSubmissionSide));
  add(kSubmissionName, submission);
  for (const std::string& name : imported(submission, texts)) {
    if (name != kSubmissionName) add(name, texts.at(name));
  }
  files.problem = {.name = std::string(kProblemName), .path = "leaderboard " + board.name, .text = std::move(problem)};
  return files;
}

}  // namespace kq::producer::popcorn
