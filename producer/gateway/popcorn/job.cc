#include "producer/gateway/popcorn/job.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include "core/base/enum_names.h"
#include "core/limits.h"
#include "producer/formats/recognise.h"

namespace kq::gateway::popcorn {
namespace {

using producer::Json;
using producer::JsonObject;

constexpr std::string_view kEntryName = "popcorn_entry.py";
constexpr std::string_view kProblemName = "popcorn_problem.py";
constexpr std::string_view kSeed = "seed";

// The texts of a board's own files, by their names.
using Texts = std::map<std::string, std::string>;

Expected<Texts> texts_of(const Board& board) {
  Texts texts;
  for (const BoardFile& file : board.files) {
    auto text = producer::contents(producer::file_ref(file.path));
    if (!text) return bad_input("leaderboard " + board.name + ": its file " + file.name + " cannot be read as text");
    texts[file.name] = std::move(*text);
  }
  return texts;
}

// Returns WORKLOADS of the problem. With the ranking by the last benchmark, only that one is timed.
std::string workloads_text(const Board& board) {
  std::string text = "WORKLOADS = [\n";
  const auto add = [&](std::string_view prefix, std::size_t number, const Json& test, int weight) {
    const std::string spec = spec_of(test);
    const std::string name = std::string(prefix) + std::to_string(number) + (spec.empty() ? "" : " (" + spec + ")");
    text += "    {\"name\": " + producer::json_quoted(name) + ", \"weight\": " + std::to_string(weight) +
            ", \"case\": " + python_text(test) + "},\n";
  };
  for (std::size_t i = 0; i < board.tests.size(); ++i) add(kTestPrefix, i, board.tests[i], 0);
  const std::size_t first = board.benchmarks.size() - board.timed_count();
  for (std::size_t i = 0; i < board.timed_count(); ++i) add(kBenchmarkPrefix, i, board.benchmarks[first + i], 1);
  return text + "]\n";
}

std::string problem_text(const Board& board, const Texts& texts) {
  std::string text = "FILES = {\n";
  for (const auto& [name, content] : texts)
    text += "    " + producer::json_quoted(name) + ": " + producer::json_quoted(content) + ",\n";
  return text + "}\n" + workloads_text(board) + std::string(kReferenceSide);
}

// Returns why no submission to the board can be judged in this mode, or nothing.
std::optional<std::string> unfit(const Board& board, Mode mode) {
  if (!board.mistake.empty()) return "leaderboard " + board.name + " cannot be read: " + board.mistake;
  const std::string here = "leaderboard " + board.name + " cannot be judged here: ";
  if (board.lang != "py") return here + "its lang is " + board.lang + ", and only py is possible";
  if (board.is_multi_gpu) return here + "its submissions run on several GPUs at once";
  const bool has_reference =
      std::ranges::any_of(board.files, [](const BoardFile& file) { return file.name == "reference.py"; });
  if (!has_reference) return here + "it has no reference.py";
  if (board.files.size() + 2 > kFilesPerSubmissionMax)
    return here + "it has " + std::to_string(board.files.size()) + " files, at most " +
           std::to_string(kFilesPerSubmissionMax - 2) + " are possible";
  if (mode == Mode::test && board.tests.empty()) return "leaderboard " + board.name + " has no tests";
  if (mode != Mode::test && board.benchmarks.empty()) return "leaderboard " + board.name + " has no benchmarks";
  return std::nullopt;
}

// Returns what is wrong with the client's file, or nothing.
std::optional<std::string> unfit(const ClientFile& file) {
  if (!file.name.ends_with(".py")) return "the file " + file.name + " must be a Python file, name.py";
  if (file.text.empty()) return "the file " + file.name + " is empty";
  if (file.text.size() > kSubmissionBytesMax)
    return "the file " + file.name + " has " + std::to_string(file.text.size()) + " bytes, at most " +
           std::to_string(kSubmissionBytesMax) + " are possible";
  if (file.text.find('\0') != std::string::npos) return "the file " + file.name + " is no text: it has NUL bytes";
  if (const auto wrong = name_error(file.name)) return "the name of the file " + *wrong;
  return std::nullopt;
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

void put_file(producer::PackedJob& job, std::string name, std::string content) {
  job.submission.files.push_back({name, sha256(content)});
  job.files.push_back({std::move(name), "the submission", std::move(content)});
}

std::uint32_t limit_s(const Board& board, Mode mode) {
  switch (mode) {
    case Mode::test:
      return board.test_s;
    case Mode::benchmark:
    case Mode::profile:
      return board.benchmark_s;
    case Mode::leaderboard:
      return board.test_s + board.benchmark_s + board.ranked_s;
  }
  return board.ranked_s;
}

void set_mode(Submission& submission, Mode mode) {
  submission.trials.correctness = kCheckedCalls;
  submission.trials.timed = mode == Mode::test ? 0 : kTimedCalls;
  if (mode == Mode::test) submission.problem.workloads = {{std::string(kTestPrefix) + "*"}};
  if (mode == Mode::benchmark || mode == Mode::profile)
    submission.problem.workloads = {{std::string(kBenchmarkPrefix) + "*"}};
  if (mode == Mode::profile) submission.trials.profile = Profiler::ncu;
}

// Returns "H100" of "NVIDIA H100 80GB HBM3" and "RTX_4090" of "NVIDIA GeForce RTX 4090".
std::string short_name(const std::string& model) {
  std::istringstream words(model);
  std::string name, word;
  while (words >> word) {
    if (word == "NVIDIA" || word == "GeForce" || word == "Tesla" || word == "Quadro") continue;
    name += (name.empty() ? "" : "_") + word;
    if (word != "RTX" && word != "GTX" && word != "TITAN") break;
  }
  return name.empty() ? "GPU" : name.substr(0, name.find('-'));
}

std::string long_name(std::string model) {
  std::ranges::replace_if(
      model, [](char c) { return c == ' ' || c == '/'; }, '_');
  return model;
}

}  // namespace

std::string python_text(const Json& value) {
  if (value.is_null()) return "None";
  if (const bool* is_true = value.boolean()) return *is_true ? "True" : "False";
  if (const producer::JsonArray* items = value.array()) {
    std::string text = "[";
    for (const Json& item : *items) text += (text.size() > 1 ? ", " : "") + python_text(item);
    return text + "]";
  }
  if (const JsonObject* members = value.object()) {
    std::string text = "{";
    for (const auto& [name, member] : *members)
      text += (text.size() > 1 ? ", " : "") + producer::json_quoted(name) + ": " + python_text(member);
    return text + "}";
  }
  return producer::to_text(value);
}

std::string spec_of(const Json& test) {
  std::string spec;
  for (const auto& [name, value] : *test.object()) {
    if (name == kSeed) continue;
    spec += (spec.empty() ? "" : "; ") + name + ": " + (value.text() != nullptr ? *value.text() : python_text(value));
  }
  return spec;
}

std::vector<Gpu> gpus_of(const BrokerReply& broker) {
  std::map<std::string, std::set<std::string>> models;  // by short name
  bool has_cpu = false;
  for (const WorkerStatus& worker : broker.workers) {
    for (const DeviceInfo& device : worker.devices) {
      if (device.kind == DeviceKind::cpu) has_cpu = true;
      if (device.kind == DeviceKind::cuda) models[short_name(device.model)].insert(device.model);
    }
  }
  std::vector<Gpu> gpus;
  for (const auto& [name, of_name] : models) {
    for (const std::string& model : of_name)
      gpus.push_back({.name = of_name.size() == 1 ? name : long_name(model), .wish = DeviceWish::cuda, .model = model});
  }
  if (has_cpu) gpus.push_back({.name = "CPU", .wish = DeviceWish::cpu, .model = ""});
  return gpus;
}

Expected<producer::PackedJob> job_of(const Board& board, Mode mode, const Gpu& gpu, const ClientFile& file) {
  if (const auto why = unfit(board, mode)) return bad_input(*why);
  if (const auto why = unfit(file)) return bad_input(*why);
  KQ_TRY_VALUE(const Texts texts, texts_of(board));
  std::string problem = problem_text(board, texts);
  if (problem.size() > kFileBytesMax)
    return bad_input("leaderboard " + board.name + " cannot be judged here: its files have " +
                     std::to_string(problem.size()) + " bytes together, at most " + std::to_string(kFileBytesMax) +
                     " are possible");
  producer::PackedJob job;
  put_file(job, std::string(kEntryName), std::string(kSubmissionSide));
  put_file(job, "submission.py", file.text);
  for (const std::string& name : imported(file.text, texts)) {
    if (name != "submission.py") put_file(job, name, texts.at(name));
  }
  Submission& submission = job.submission;
  submission.backend = producer::recognise_backend("submission.py", file.text);
  submission.problem.name = "popcorn/" + board.name;
  submission.problem.file = kProblemName;
  submission.problem.hash = sha256(problem);
  job.files.push_back({std::string(kProblemName), "leaderboard " + board.name, std::move(problem)});
  submission.device = gpu.wish;
  submission.gpu_model = gpu.model;
  set_mode(submission, mode);
  submission.time_limit_ms = limit_s(board, mode) * 1'000;
  submission.tags = {{std::string(kBoardTag), board.name},
                     {std::string(kModeTag), std::string(to_string(mode))},
                     {std::string(kGpuTag), gpu.name},
                     {std::string(kFileTag), file.name},
                     {std::string(kRankingTag), std::string(to_string(board.ranking))}};
  return job;
}

}  // namespace kq::gateway::popcorn
