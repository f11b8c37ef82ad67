#include "producer/formats/kernelbench_problems.h"

#include <charconv>
#include <map>

#include "producer/formats/problems.h"
#include "producer/formats/sample_name.h"

namespace kq::producer {
namespace {

namespace fs = std::filesystem;

std::uint32_t level_number(const fs::path& folder) {
  const std::string name = folder.filename().string();
  std::uint32_t level = 0;
  const char* const end = name.data() + name.size();
  return name.starts_with("level") && std::from_chars(name.data() + 5, end, level).ptr == end ? level : 0;
}

// Returns the folders of levels in `input` by their numbers, or `input` itself where it is the folder of a level.
std::map<std::uint32_t, fs::path> level_folders(const fs::path& input) {
  std::error_code wrong;
  fs::path folder = fs::absolute(input, wrong).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // "KernelBench/level1/"
  if (level_number(folder) > 0 && !problem_files(folder).empty()) return {{level_number(folder), input}};
  std::map<std::uint32_t, fs::path> found;
  for (const fs::path& root : {input, input / "KernelBench"}) {
    for (fs::directory_iterator entry(root, wrong), end; !wrong && entry != end; entry.increment(wrong)) {
      const std::uint32_t level = level_number(entry->path());
      if (level > 0 && !problem_files(entry->path()).empty()) found.emplace(level, entry->path());
    }
    if (!found.empty()) break;
  }
  return found;
}

}  // namespace

std::string recognise_kernelbench_problems(const fs::path& input) {
  const auto folders = level_folders(input);
  if (folders.empty()) return "";
  return "it holds " +
         problem_files(folders.begin()->second).begin()->second.front().lexically_relative(input).string();
}

void read_kernelbench_problems(const fs::path& input, const InputOptions& options, const CandidateSink& sink) {
  if (options.problem) sink.mistake(input.string() + ": --problem serves single files, these are problems themselves");
  for (const auto& [level, folder] : level_folders(input)) {
    for (const auto& [id, paths] : problem_files(folder)) {
      if (sink.stopped()) return;
      if (!options.subset.has(level, id, 0)) continue;
      if (paths.size() > 1) {
        sink.left_out();
        sink.mistake("problem " + std::to_string(id) + " is ambiguous: " + paths[0].string() + " and " +
                     paths[1].filename().string());
        continue;
      }
      const Expected<std::string> code = contents(problem_ref(paths[0]));
      if (!code) {
        sink.left_out();
        sink.mistake(code.error().message);
        continue;
      }
      sink.candidate(reference_candidate(level, id, problem_ref(paths[0]), *code));
    }
  }
}

Candidate reference_candidate(std::uint32_t level, std::uint32_t id, const FileRef& problem, const std::string& code) {
  Candidate candidate;
  candidate.where = problem.path.string();
  candidate.label = sample_label({level, id, 0});
  candidate.tags = {{"level", std::to_string(level)}, {"problem_id", std::to_string(id)}, {"sample_id", "0"}};
  candidate.files = {{problem.name, problem.path, code + "\n\nModelNew = Model\n"}};
  candidate.problem = problem;
  candidate.problem_name = "level" + std::to_string(level) + "/" + fs::path(problem.name).stem().string();
  return candidate;
}

}  // namespace kq::producer
