#include "producer/formats/problem_folder.h"

#include <yaml-cpp/yaml.h>

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "core/limits.h"
#include "producer/formats/file_ref.h"

namespace kq::producer {
namespace {

namespace fs = std::filesystem;

// A plain file name of data between quotation marks.
const std::regex& data_file_name() {
  static const std::regex pattern(R"(["']([A-Za-z0-9_][A-Za-z0-9_.-]{0,200}\.(?:json|jsonl|csv|txt|ya?ml|toml))["'])");
  return pattern;
}

// What reference.py of kernelbench.com needs to take its workloads from shapes.py: it reads a shape from variables of
// its module.
constexpr std::string_view kShapes = R"(
from shapes import SHAPES as WORKLOADS


def _with_shape(function):
    def called(**shape):
        globals().update(shape)
        return function()

    return called


get_inputs = _with_shape(get_inputs)
get_init_inputs = _with_shape(get_init_inputs)
)";

// Names of kernelbench.com that torch has otherwise.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kDtypes{
    {{"fp8_e4m3fn", "float8_e4m3fn"}, {"fp8_e5m2", "float8_e5m2"}}};

// Returns a text as Python writes it. JSON's form is Python's, too, as long as characters beyond ASCII stay as they
// are.
std::string python_text(const std::string& text) {
  return nlohmann::json(text).dump();
}

using Files = std::map<std::string, std::string>;

Expected<void> add_file(Files& files, const fs::path& path) {
  KQ_TRY_VALUE(auto text, contents(file_ref(path)));
  try {
    python_text(text);
  } catch (const nlohmann::json::exception&) {
    return bad_input(path.string() + " is not UTF-8 text, which a file beside a problem must be");
  }
  if (files.size() == kProblemFilesMax)
    return bad_input(path.string() + " is one file too many: a problem may read " + std::to_string(kProblemFilesMax));
  files.emplace(path.filename().string(), std::move(text));
  return {};
}

Expected<Files> data_files(const std::string& text, const fs::path& problem) {
  Files files;
  for (std::sregex_iterator match(text.begin(), text.end(), data_file_name()), end; match != end; ++match) {
    const fs::path path = problem.parent_path() / (*match)[1].str();
    if (files.contains(path.filename().string()) || !is_file(path)) continue;
    KQ_TRY(add_file(files, path));
  }
  return files;
}

// Returns the module of "from sonic_moe" or "import sonic_moe", which kernelbench.com looks for in the text of a
// kernel.
std::string module_in(const std::string& name) {
  for (const std::string_view statement : {"from ", "import "}) {
    if (name.starts_with(statement)) return name.substr(statement.size());
  }
  return name;
}

std::string torch_dtype(const std::string& name) {
  for (const auto& [theirs, ours] : kDtypes) {
    if (name == theirs) return std::string(ours);
  }
  return name;
}

// Returns TOLERANCE and FORBIDDEN of a problem.yaml as Python.
Expected<std::string> rules_of(const fs::path& path) {
  KQ_TRY_VALUE(const auto text, contents(file_ref(path)));
  std::string rules;
  try {
    const YAML::Node root = YAML::Load(text);
    if (const YAML::Node tolerances = root["tolerance"]) {
      rules += "\nTOLERANCE = {";
      for (const auto& one : tolerances) {
        const auto value = nlohmann::json(one.second.as<double>()).dump();
        rules += python_text(torch_dtype(one.first.as<std::string>())) + ": {\"rtol\": " + value +
                 ", \"atol\": " + value + "}, ";
      }
      rules += "}\n";
    }
    if (const YAML::Node forbidden = root["forbidden"]) {
      rules += "FORBIDDEN = [";
      for (const auto& one : forbidden) {
        rules += python_text(module_in(one.as<std::string>())) + ", ";
      }
      rules += "]\n";
    }
  } catch (const YAML::Exception& error) {
    return bad_input(path.string() + ":" + std::to_string(error.mark.line + 1) +
                     ": tolerance must map dtypes to numbers, and forbidden must be a list of names: " + error.msg);
  }
  return rules;
}

}  // namespace

Expected<std::string> with_files_beside(std::string text, const fs::path& problem) {
  static const std::regex has_files("(^|\n)FILES\\s*=");
  if (std::regex_search(text, has_files)) return text;
  KQ_TRY_VALUE(Files files, data_files(text, problem));
  std::string rest;
  const fs::path shapes = problem.parent_path() / "shapes.py";
  if (problem.filename() == "reference.py" && is_file(shapes)) {
    KQ_TRY(add_file(files, shapes));
    rest = kShapes;
    if (const fs::path rules = problem.parent_path() / "problem.yaml"; is_file(rules)) {
      KQ_TRY_VALUE(const auto added, rules_of(rules));
      rest += added;
    }
  }
  if (files.empty()) return text;
  text += "\n\nFILES = {";
  for (const auto& [name, content] : files) text += "\n    " + python_text(name) + ": " + python_text(content) + ",";
  text += "\n}\n" + rest;
  if (text.size() > kFileBytesMax)
    return bad_input(problem.string() + " and the files that it reads have " + std::to_string(text.size()) +
                     " bytes, a problem may have " + std::to_string(kFileBytesMax));
  return text;
}

}  // namespace kq::producer
