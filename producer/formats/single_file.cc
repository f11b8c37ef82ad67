#include "producer/formats/single_file.h"

#include "producer/formats/problems.h"

namespace kq {

bool is_single_file(const std::filesystem::path& input) {
  return is_file(input) && (input.extension() == ".py" || input.extension() == ".cu");
}

std::vector<FileRef> source_files(const std::filesystem::path& entry) {
  std::vector<FileRef> files{file_ref(entry)};
  if (entry.extension() == ".cu") files.push_back(file_ref(std::filesystem::path(entry).replace_extension(".json")));
  return files;
}

Found read_single_file(const std::filesystem::path& input, const InputOptions& options) {
  if (!options.problem) return {{}, {input.string() + ": which problem does it solve? say --problem FILE"}};
  const auto problem = find_problem(*options.problem, "", options.problems);
  if (!problem) return {{}, {"--problem " + problem.error().message}};
  Candidate candidate;
  candidate.where = input.string();
  candidate.label = input.stem().string();
  candidate.files = source_files(input);
  candidate.problem = file_ref(problem->path);
  candidate.problem_name = problem->name;
  return {{std::move(candidate)}, {}};
}

}  // namespace kq
