#include "producer/formats/kernelbench_run.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <tuple>

#include "producer/client/json.h"
#include "producer/client/sentences.h"
#include "producer/formats/problems.h"
#include "producer/formats/sample_name.h"

namespace kq::producer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kResultsFile = "eval_results.json";

constexpr int kParentsMax = 8;  // directories above the run in which problems are searched

bool has_sample_name(std::string_view name) {
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

std::vector<Sample> list_samples(const fs::path& run, const CandidateSink& sink) {
  std::vector<Sample> samples;
  std::error_code wrong;
  for (fs::directory_iterator entry(run, wrong), end; !wrong && entry != end; entry.increment(wrong)) {
    const std::string name = entry->path().filename().string();
    if (!has_sample_name(name)) continue;
    if (const auto parsed = parse_sample_name(name)) {
      samples.push_back({*parsed, entry->path()});
    } else {
      sink.left_out();
      sink.mistake(entry->path().string() + ": a name like level_1_problem_2_sample_0_kernel.py is needed");
    }
  }
  if (wrong) sink.mistake(run.string() + ": " + wrong.message());
  std::sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.name < b.name; });
  return samples;
}

// The samples that files of results have, by level, problem and sample. KernelBench writes a list of results for each
// problem, and earlier versions wrote a single result.
class Evaluated {
 public:
  // Adds the results of a file, which may be absent. `level` is that of results that do not name theirs; without it
  // they do not count.
  Expected<void> add(const fs::path& path, std::optional<std::uint32_t> level) {
    std::ifstream file(path, std::ios::binary);
    if (!file.is_open()) return {};
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const Expected<Json> json = parse_json(text);
    if (!json) return bad_input(path.string() + ": not JSON, " + json.error().message);
    if (json->object() == nullptr)
      return bad_input(path.string() + ": results by problem are needed, got " + described(*json));
    for (const auto& [problem, results] : *json->object()) {
      std::uint32_t id = 0;
      std::from_chars(problem.data(), problem.data() + problem.size(), id);
      const JsonArray one{results};
      for (const Json& result : results.array() != nullptr ? *results.array() : one) add(id, result, level);
    }
    return {};
  }

  bool has(const SampleName& name) const { return samples_.contains({name.level, name.problem, name.sample}); }
  std::size_t without_level_count() const { return without_level_count_; }

 private:
  void add(std::uint32_t problem, const Json& result, std::optional<std::uint32_t> level) {
    const Json* const sample = result.find("sample_id");
    if (sample == nullptr || sample->integer() == nullptr) return;
    if (const auto named = level_of_result(result)) level = named;
    if (level) {
      samples_.insert({*level, problem, static_cast<std::uint32_t>(*sample->integer())});
    } else {
      ++without_level_count_;
    }
  }

  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> samples_;
  std::size_t without_level_count_ = 0;
};

}  // namespace

std::string recognise_kernelbench_run(const fs::path& input) {
  std::error_code wrong;
  for (fs::directory_iterator entry(input, wrong), end; !wrong && entry != end; entry.increment(wrong)) {
    if (has_sample_name(entry->path().filename().string())) return "it holds " + entry->path().filename().string();
  }
  return "";
}

void read_kernelbench_run(const fs::path& input, const InputOptions& options, const CandidateSink& sink) {
  const std::vector<Sample> samples = list_samples(input, sink);
  if (options.problem) sink.mistake(input.string() + ": --problem serves single files; say --problems DIR for a run");

  std::size_t chosen_count = 0, skipped_count = 0;
  std::set<std::uint32_t> levels;
  for (const Sample& sample : samples) levels.insert(sample.name.level);
  Evaluated done;
  if (options.subset.resume) {
    const auto only = levels.size() == 1 ? std::optional(*levels.begin()) : std::nullopt;
    if (const auto read = done.add(input / kResultsFile, only); !read) return sink.mistake(read.error().message);
    for (const std::uint32_t level : levels) {
      const auto read = done.add(input / ("level" + std::to_string(level)) / kResultsFile, level);
      if (!read) return sink.mistake(read.error().message);
    }
    if (done.without_level_count() > 0)
      sink.note((input / kResultsFile).string() + " does not say the level of " +
                counted(done.without_level_count(), "result") +
                ", and the run has samples of several: these results are passed over (--resume)");
  }
  KernelBenchProblems problems = problems_of_run(input, options, levels.size() == 1);

  std::set<std::string> reported;  // errors about problems, each of which is reported for one sample only
  for (const Sample& sample : samples) {
    if (sink.stopped()) return;
    if (!options.subset.has(sample.name.level, sample.name.problem, sample.name.sample)) continue;
    ++chosen_count;
    if (done.has(sample.name)) {
      ++skipped_count;
      continue;
    }
    const auto problem = problems.find(sample.name.level, sample.name.problem);
    if (!problem) {
      sink.left_out();
      if (reported.insert(problem.error().message).second)
        sink.mistake(sample.path.string() + ": " + problem.error().message);
      continue;
    }
    Candidate candidate = sample_candidate(sample.path, sample.name);
    candidate.problem = problem->file;
    candidate.problem_name = problem->name;
    sink.candidate(std::move(candidate));
  }
  if (chosen_count == 0 && !samples.empty()) {
    sink.note(input.string() + ": none of its " + counted(samples.size(), "sample") +
              " is of the level, the problems and the samples that are asked for");
  }
  if (skipped_count > 0) {
    sink.note(counted(skipped_count, "sample") + (skipped_count == 1 ? " is" : " are") + " in " +
              (input / kResultsFile).string() + " already and left out (--resume)");
  }
}

Candidate sample_candidate(const fs::path& file, const SampleName& name) {
  const std::string file_name = file.filename().string();
  Candidate candidate;
  candidate.where = file.string();
  candidate.label = file_name.substr(0, file_name.size() - kSampleEnding.size());
  candidate.tags = {{"level", std::to_string(name.level)},
                    {"problem_id", std::to_string(name.problem)},
                    {"sample_id", std::to_string(name.sample)}};
  candidate.files = {file_ref(file)};
  return candidate;
}

KernelBenchProblems problems_of_run(const fs::path& run, const InputOptions& options, bool one_level) {
  return KernelBenchProblems(problem_roots(run, options), options.problems && one_level);
}

}  // namespace kq::producer
