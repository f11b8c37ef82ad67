#include "producer/formats/kernelbench_run.h"

#include <algorithm>
#include <set>

#include "producer/formats/problems.h"
#include "producer/sample_name.h"

namespace kq {
namespace {

namespace fs = std::filesystem;

constexpr int kParentsMax = 8;  // above the run, where its problems may lie

bool looks_like_sample(std::string_view name) {
  return name.starts_with("level_") && name.ends_with(kSampleEnding);
}

std::vector<fs::path> problem_roots(const fs::path& run, const InputOptions& options) {
  if (options.problems) return {*options.problems};
  std::vector<fs::path> roots;
  std::error_code wrong;
  fs::path directory = fs::absolute(run, wrong).lexically_normal();
  if (!directory.has_filename()) directory = directory.parent_path();  // "runs/a/" ends in an empty name
  for (int i = 0; i <= kParentsMax; ++i, directory = directory.parent_path()) {
    roots.push_back(directory);
    if (directory == directory.parent_path()) break;
  }
  return roots;
}

struct Sample {
  SampleName name;
  fs::path path;
};

Found list_samples(const fs::path& run, std::vector<Sample>& samples) {
  Found found;
  std::error_code wrong;
  for (fs::directory_iterator entry(run, wrong), end; !wrong && entry != end; entry.increment(wrong)) {
    const std::string name = entry->path().filename().string();
    if (!looks_like_sample(name)) continue;
    if (const auto parsed = parse_sample_name(name)) {
      samples.push_back({*parsed, entry->path()});
    } else {
      found.mistakes.push_back(entry->path().string() + ": a name like level_1_problem_2_sample_0_kernel.py is needed");
    }
  }
  if (wrong) found.mistakes.push_back(run.string() + ": " + wrong.message());
  std::sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.name < b.name; });
  return found;
}

}  // namespace

bool is_kernelbench_run(const fs::path& input) {
  std::error_code wrong;
  for (fs::directory_iterator entry(input, wrong), end; !wrong && entry != end; entry.increment(wrong)) {
    if (looks_like_sample(entry->path().filename().string())) return true;
  }
  return false;
}

Found read_kernelbench_run(const fs::path& input, const InputOptions& options) {
  std::vector<Sample> samples;
  Found found = list_samples(input, samples);
  if (options.problem)
    found.mistakes.push_back(input.string() + ": --problem serves single files; say --problems DIR for a run");

  std::set<std::uint32_t> levels;
  for (const Sample& sample : samples) levels.insert(sample.name.level);
  KernelBenchProblems problems(problem_roots(input, options), options.problems && levels.size() == 1);

  std::set<std::pair<std::uint32_t, std::uint32_t>> missing;  // said once, however many samples there are
  for (const Sample& sample : samples) {
    const auto problem = problems.find(sample.name.level, sample.name.problem);
    if (!problem) {
      if (missing.insert({sample.name.level, sample.name.problem}).second) {
        found.mistakes.push_back(sample.path.string() + ": " + problem.error().message);
      }
      continue;
    }
    const std::string file_name = sample.path.filename().string();
    Candidate candidate;
    candidate.where = sample.path.string();
    candidate.label = file_name.substr(0, file_name.size() - kSampleEnding.size());
    candidate.tags = {{"level", std::to_string(sample.name.level)},
                      {"problem_id", std::to_string(sample.name.problem)},
                      {"sample_id", std::to_string(sample.name.sample)}};
    candidate.files = {file_ref(sample.path)};
    candidate.problem = file_ref(problem->path);
    candidate.problem_name = problem->name;
    found.candidates.push_back(std::move(candidate));
  }
  return found;
}

}  // namespace kq
