#include "producer/formats/problems.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "producer/formats/file_ref.h"
#include "sys/error_text.h"

namespace kq::producer {
namespace {

namespace fs = std::filesystem;

// Returns the number before the first underscore, as KernelBench does, or nothing where the name has no such number.
std::optional<std::uint32_t> leading_number(std::string_view name) {
  std::uint32_t number = 0;
  const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (wrong != std::errc{} || end == name.data() + name.size() || *end != '_') return std::nullopt;
  return number;
}

// Returns whether a directory is named after a level.
bool is_level(const fs::path& directory) {
  return directory.filename().string().starts_with("level");
}

constexpr std::size_t kDataSetLineMax = 8u << 20;

// Parses "level1/19", which names a problem by its level and number alone.
std::optional<std::pair<std::uint32_t, std::uint32_t>> level_and_number(std::string_view written) {
  std::uint32_t level = 0, id = 0;
  const char* const end = written.data() + written.size();
  if (!written.starts_with("level")) return std::nullopt;
  const auto first = std::from_chars(written.data() + 5, end, level);
  if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '/') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, id);
  if (second.ec != std::errc{} || second.ptr != end) return std::nullopt;
  return std::pair(level, id);
}

// Finds "level1/19_ReLU" in a data set.
Expected<FoundProblem> find_hosted(std::string_view written, const fs::path& data_set) {
  const std::size_t slash = written.find('/');
  const auto id = slash != std::string_view::npos ? leading_number(written.substr(slash + 1)) : std::nullopt;
  const auto number =
      id ? level_and_number(std::string(written.substr(0, slash + 1)) + std::to_string(*id)) : std::nullopt;
  if (!number)
    return bad_input("'" + std::string(written) + "' is no problem of " + data_set.string() +
                     "; one is written level1/19, or with its name, level1/19_ReLU");
  return KernelBenchProblems({data_set}, false).find(number->first, number->second);
}

}  // namespace

Expected<FoundProblem> find_problem(const fs::path& written, const fs::path& base,
                                    const std::optional<fs::path>& problems) {
  const fs::path beside = base / written;
  if (is_file(beside)) return FoundProblem{problem_ref(beside), beside.stem().string()};
  if (const auto number = level_and_number(written.string())) {
    return KernelBenchProblems({problems.value_or(base.empty() ? fs::path(".") : base)}, false)
        .find(number->first, number->second);
  }
  if (problems && problems->extension() == ".jsonl") return find_hosted(written.string(), *problems);
  if (problems) {
    for (const fs::path& root : {*problems, *problems / "KernelBench"}) {
      for (const char* ending : {"", ".py"}) {
        const fs::path path = root / (written.string() + ending);
        if (is_file(path))
          return FoundProblem{problem_ref(path), path.lexically_relative(root).replace_extension().string()};
      }
    }
    return bad_input("'" + written.string() + "' is neither a file nor a problem in " + problems->string());
  }
  return bad_input("'" + written.string() +
                   "' is no file; give its path, or the folder that has it with --problems DIR");
}

std::map<std::uint32_t, std::vector<fs::path>> problem_files(const fs::path& directory) {
  std::map<std::uint32_t, std::vector<fs::path>> files;
  std::error_code wrong;
  for (fs::directory_iterator entry(directory, wrong), end; !wrong && entry != end; entry.increment(wrong)) {
    const fs::path& path = entry->path();
    const auto id = leading_number(path.filename().string());
    if (id && path.extension() == ".py") files[*id].push_back(path);
  }
  return files;
}

Expected<std::optional<HostedProblem>> hosted_problem(const Json& line) {
  const Json* code = line.find("code");
  const Json* level = line.find("level");
  const Json* name = line.find("name");
  const Json* id = line.find("problem_id");
  if (code == nullptr || id == nullptr || line.find("problem") != nullptr) return std::optional<HostedProblem>();
  const auto number = [](const Json* json) {
    return json != nullptr && json->integer() != nullptr && *json->integer() > 0 && *json->integer() < 1'000'000;
  };
  if (!number(level) || !number(id) || code->text() == nullptr || name == nullptr || name->text() == nullptr) {
    return bad_input("a problem of KernelBench's data set has code and name as texts, level and problem_id as numbers");
  }
  HostedProblem problem{.level = static_cast<std::uint32_t>(*level->integer()),
                        .id = static_cast<std::uint32_t>(*id->integer()),
                        .file = *name->text(),
                        .code = *code->text()};
  if (!problem.file.ends_with(".py")) problem.file += ".py";
  return std::optional(std::move(problem));
}

const KernelBenchProblems::Listing& KernelBenchProblems::listing(const fs::path& directory) {
  const auto [place, is_new] = listings_.try_emplace(directory);
  if (is_new) place->second = problem_files(directory);
  return place->second;
}

Expected<const KernelBenchProblems::DataSet*> KernelBenchProblems::data_set(const fs::path& file) {
  const auto [place, is_new] = data_sets_.try_emplace(file);
  if (!is_new) return &place->second;
  std::ifstream lines(file, std::ios::binary);
  if (!lines.is_open()) return bad_input(sys::error_text(file.string()));
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    const std::string where = file.string() + ":" + std::to_string(number);
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (line.size() > kDataSetLineMax || place->second.size() == kHostedProblemsMax)
      return bad_input(where + ": too large for a data set of problems");
    const Expected<Json> json = parse_json(line);
    if (!json) return bad_input(where + ": not JSON, " + json.error().message);
    auto problem = hosted_problem(*json);
    if (!problem) return bad_input(where + ": " + problem.error().message);
    if (!*problem) return bad_input(where + R"(: a problem is {"code", "level", "name", "problem_id"})");
    HostedProblem& found = **problem;
    const std::string name = "level" + std::to_string(found.level) + "/" + fs::path(found.file).stem().string();
    place->second.emplace(std::pair(found.level, found.id),
                          FoundProblem{{found.file, where, std::move(found.code)}, name});
  }
  return &place->second;
}

Expected<FoundProblem> KernelBenchProblems::find(std::uint32_t level, std::uint32_t id) {
  const std::string level_name = "level" + std::to_string(level);
  for (const fs::path& root : roots_) {
    if (root.extension() == ".jsonl") {
      KQ_TRY_VALUE(const auto problems, data_set(root));
      if (const auto found = problems->find({level, id}); found != problems->end()) return found->second;
      continue;
    }
    std::vector<fs::path> directories{root / level_name, root / "KernelBench" / level_name};
    if (flat_ && (!is_level(root) || root.filename() == level_name)) directories.push_back(root);
    for (const fs::path& directory : directories) {
      const Listing& problems = listing(directory);
      const auto found = problems.find(id);
      if (found == problems.end()) continue;
      const std::vector<fs::path>& paths = found->second;
      if (paths.size() > 1) {
        return bad_input("problem " + std::to_string(id) + " is ambiguous: " + paths[0].string() + " and " +
                         paths[1].filename().string());
      }
      return FoundProblem{problem_ref(paths[0]), level_name + "/" + paths[0].stem().string()};
    }
  }
  for (const fs::path& root : roots_) {
    std::error_code error;
    if (root.extension() != ".jsonl" && !fs::is_directory(root, error))
      return bad_input("--problems: '" + root.string() + "' is no directory");
  }
  return bad_input("no file " + level_name + "/" + std::to_string(id) +
                   "_*.py in the problems; say where they are with --problems DIR");
}

}  // namespace kq::producer
