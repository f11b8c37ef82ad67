#include "producer/formats/flashinfer/trace_set.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <vector>

#include "core/limits.h"
#include "producer/client/json.h"
#include "producer/formats/flashinfer/problem.h"
#include "sys/error_text.h"

namespace kq::producer::flashinfer {
namespace {

namespace fs = std::filesystem;

// Returns the files of a folder and of the folders inside whose names have this ending, sorted: at most one more than
// kTraceFilesMax.
std::vector<fs::path> files_in(const fs::path& folder, std::string_view extension) {
  std::vector<fs::path> found;
  std::error_code wrong;
  for (fs::recursive_directory_iterator entry(folder, wrong), end; !wrong && entry != end; entry.increment(wrong)) {
    if (entry->path().extension() == extension && found.size() <= kTraceFilesMax) found.push_back(entry->path());
  }
  std::ranges::sort(found);
  return found;
}

Expected<Json> read_json(const fs::path& path) {
  KQ_TRY_VALUE(const auto text, contents(file_ref(path)));
  auto json = parse_json(text);
  if (!json) return bad_input(path.string() + ": " + json.error().message);
  return json;
}

// Returns the workloads of a file of JSON Lines.
Expected<JsonArray> read_workloads(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return bad_input(sys::error_text(path.string()));
  JsonArray workloads;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto json = parse_json(line);
    if (!json) return bad_input(path.string() + ":" + std::to_string(number) + ": " + json.error().message);
    const Json* const inside = json->find("workload");
    const bool is_inside = inside != nullptr && inside->object() != nullptr;
    workloads.push_back(is_inside ? *inside : *json);
  }
  return workloads;
}

// The places of definitions and solutions.
struct TraceSet {
  std::vector<fs::path> definitions, solutions;
  std::map<std::string, fs::path> workloads;  // by the name of the definition; of a problem's folder by ""
};

bool is_problem_folder(const fs::path& input) {
  return is_file(input / "definition.json") && is_file(input / "workload.jsonl");
}

TraceSet find_files(const fs::path& input) {
  TraceSet set;
  if (is_problem_folder(input)) {
    set.definitions = {input / "definition.json"};
    set.workloads[""] = input / "workload.jsonl";
    std::error_code wrong;
    for (fs::directory_iterator entry(input, wrong), end; !wrong && entry != end; entry.increment(wrong)) {
      const fs::path& path = entry->path();
      if (path.extension() == ".json" && path.filename().string().starts_with("solution"))
        set.solutions.push_back(path);
    }
    std::ranges::sort(set.solutions);
    return set;
  }
  set.definitions = files_in(input / "definitions", ".json");
  set.solutions = files_in(input / "solutions", ".json");
  for (const fs::path& path : files_in(input / "workloads", ".jsonl")) set.workloads[path.stem().string()] = path;
  return set;
}

struct Problem {
  std::string text;
  fs::path path;
};

}  // namespace

std::string recognise_trace_set(const fs::path& input) {
  std::error_code ignored;
  if (is_problem_folder(input)) return "it holds definition.json and workload.jsonl";
  const bool is_set =
      fs::is_directory(input / "definitions", ignored) && fs::is_directory(input / "solutions", ignored);
  return is_set ? "it holds the folders definitions and solutions" : "";
}

void read_trace_set(const fs::path& input, const InputOptions&, const CandidateSink& sink) {
  const TraceSet set = find_files(input);
  if (std::max({set.definitions.size(), set.solutions.size(), set.workloads.size()}) > kTraceFilesMax) {
    return sink.mistake(input.string() + " has more than " + std::to_string(kTraceFilesMax) +
                        " files of one kind; submit its folders of solutions one by one");
  }
  std::map<std::string, Problem> problems;
  for (const fs::path& path : set.definitions) {
    const auto read = [&]() -> Expected<void> {
      KQ_TRY_VALUE(const Json definition, read_json(path));
      const Json* const name = definition.find("name");
      const bool is_named = name != nullptr && name->text() != nullptr;
      if (!is_named && !set.workloads.contains("")) return bad_input(path.string() + ": the definition has no name");
      const auto workloads = set.workloads.find(set.workloads.contains("") ? "" : *name->text());
      if (workloads == set.workloads.end())
        return bad_input(path.string() + ": there are no workloads " + *name->text() + ".jsonl");
      KQ_TRY_VALUE(const JsonArray all, read_workloads(workloads->second));
      const auto text = problem_text(definition, all, input);
      if (!text) return bad_input(path.string() + ": " + text.error().message);
      problems[set.workloads.contains("") ? "" : *name->text()] = {*text, path};
      return {};
    };
    if (const auto done = read(); !done) sink.mistake(done.error().message);
  }
  for (const fs::path& path : set.solutions) {
    if (sink.stopped()) return;
    Candidate candidate;
    const auto read = [&]() -> Expected<void> {
      KQ_TRY_VALUE(const Json solution, read_json(path));
      if (const auto done = read_solution(solution, path, candidate); !done)
        return bad_input(path.string() + ": " + done.error().message);
      const auto problem = problems.contains("") ? problems.find("") : problems.find(candidate.problem_name);
      if (problem == problems.end())
        return bad_input(path.string() + ": there is no definition '" + candidate.problem_name + "' that can run");
      candidate.where = path.string();
      candidate.problem = {.name = "definition.py", .path = problem->second.path, .text = problem->second.text};
      return {};
    };
    if (const auto done = read(); !done) {
      sink.left_out();
      sink.mistake(done.error().message);
    } else {
      sink.candidate(std::move(candidate));
    }
  }
}

}  // namespace kq::producer::flashinfer
