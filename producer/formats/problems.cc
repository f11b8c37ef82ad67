#include "producer/formats/problems.h"

#include <charconv>

#include "producer/file_ref.h"

namespace kq {
namespace {

namespace fs = std::filesystem;

// The number before the first underscore, as KernelBench reads it; files without one are no problems.
std::optional<std::uint32_t> leading_number(std::string_view name) {
  std::uint32_t number = 0;
  const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (wrong != std::errc{} || end == name.data() + name.size() || *end != '_') return std::nullopt;
  return number;
}

// Whether a directory says by its name which level it holds.
bool is_level(const fs::path& directory) {
  return directory.filename().string().starts_with("level");
}

}  // namespace

Expected<FoundProblem> find_problem(const fs::path& written, const fs::path& base,
                                    const std::optional<fs::path>& problems) {
  const fs::path beside = base / written;
  if (is_file(beside)) return FoundProblem{beside, beside.stem().string()};
  if (problems) {
    for (const fs::path& root : {*problems, *problems / "KernelBench"}) {
      for (const char* ending : {"", ".py"}) {
        const fs::path path = root / (written.string() + ending);
        if (is_file(path)) return FoundProblem{path, path.lexically_relative(root).replace_extension().string()};
      }
    }
    return bad_input("'" + written.string() + "' is neither a file nor a problem in " + problems->string());
  }
  return bad_input("'" + written.string() +
                   "' is no file; give its path, or the folder that has it with --problems DIR");
}

const KernelBenchProblems::Listing& KernelBenchProblems::listing(const fs::path& directory) {
  const auto [place, is_new] = listings_.try_emplace(directory);
  if (!is_new) return place->second;
  std::error_code wrong;
  for (fs::directory_iterator entry(directory, wrong), end; !wrong && entry != end; entry.increment(wrong)) {
    const fs::path& path = entry->path();
    const auto id = leading_number(path.filename().string());
    if (id && path.extension() == ".py") place->second[*id].push_back(path);
  }
  return place->second;
}

Expected<FoundProblem> KernelBenchProblems::find(std::uint32_t level, std::uint32_t id) {
  const std::string level_name = "level" + std::to_string(level);
  for (const fs::path& root : roots_) {
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
      return FoundProblem{paths[0], level_name + "/" + paths[0].stem().string()};
    }
  }
  return bad_input("no file " + level_name + "/" + std::to_string(id) +
                   "_*.py in the problems; say where they are with --problems DIR");
}

}  // namespace kq
