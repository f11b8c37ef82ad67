#include "producer/formats/flashinfer/problem.h"

#include <algorithm>
#include <set>

#include "core/limits.h"
#include "producer/formats/flashinfer/safetensors.h"
#include "producer/formats/recognise.h"

namespace kq::producer::flashinfer {
namespace {

constexpr std::string_view kEntry = "kq_entry.py";  // the file that calls the solution's entry point
constexpr std::string_view kInputKinds[] = {"random", "scalar", "custom", "safetensors"};

std::string text_of(const Json& json, std::string_view key) {
  const Json* const found = json.find(key);
  return found != nullptr && found->text() != nullptr ? *found->text() : std::string();
}

Expected<void> check_workload(const Json& definition, const Json& workload) {
  const std::string uuid = text_of(workload, "uuid");
  if (uuid.empty()) return bad_input("a workload has no text uuid");
  const Json* const axes = workload.find("axes");
  const Json* const inputs = workload.find("inputs");
  if (axes == nullptr || axes->object() == nullptr || inputs == nullptr || inputs->object() == nullptr)
    return bad_input("workload " + uuid + " has no objects axes and inputs");
  for (const JsonMember& axis : *definition.find("axes")->object()) {
    if (text_of(axis.value, "type") == "var" && axes->find(axis.name) == nullptr)
      return bad_input("workload " + uuid + " gives axis " + axis.name + " no size");
  }
  for (const JsonMember& input : *definition.find("inputs")->object()) {
    const Json* const given = inputs->find(input.name);
    const std::string kind = given == nullptr ? std::string() : text_of(*given, "type");
    if (std::ranges::find(kInputKinds, kind) == std::end(kInputKinds)) {
      return bad_input("workload " + uuid + " gives input " + input.name + " the type '" + kind +
                       "'; random, scalar, custom and safetensors can run");
    }
    if (kind == "custom" && text_of(definition, "custom_inputs_entrypoint").empty())
      return bad_input("workload " + uuid + " has a custom input, but the definition no custom_inputs_entrypoint");
  }
  return {};
}

// Returns a list of flags as Python writes it.
std::string flags_of(const Json* options, std::string_view key) {
  const Json* const flags = options == nullptr ? nullptr : options->find(key);
  return flags == nullptr || flags->array() == nullptr ? "[]" : to_text(*flags);
}

std::string entry_of_python(const std::string& module, const std::string& function) {
  return "from " + module + " import " + function + " as function\n";
}

// Returns the paths of all sources.
std::vector<std::string> sources_of(const Json& sources) {
  std::vector<std::string> paths;
  for (const Json& source : *sources.array()) paths.push_back(text_of(source, "path"));
  return paths;
}

// Returns the name under which a source travels, because files of a submission lie beside one another: "a__b.py" for
// "a/b.py". Returns an empty text for a path that leads out of the solution.
std::string flat_name(const std::string& path) {
  const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  std::string flat;
  for (const std::filesystem::path& part : normal) {
    if (part == ".." || part == "/" || part.empty()) return "";
    flat += (flat.empty() ? "" : "__") + part.string();
  }
  return flat;
}

// Returns "a.b" of "a/b.py", or an empty text where a part is no name of Python.
std::string module_name(const std::string& path) {
  std::string name;
  const std::filesystem::path without_extension = std::filesystem::path(path).lexically_normal().replace_extension();
  for (const std::filesystem::path& part : without_extension) {
    if (!is_identifier(part.string())) return "";
    name += (name.empty() ? "" : ".") + part.string();
  }
  return name;
}

// Returns the lines that put sources into their folders, before anything imports or compiles them.
std::string entry_of_folders(const Json& folders) {
  return "import os\nimport shutil\n\nFOLDERS = " + to_text(folders) +
         "\nROOT = os.path.dirname(os.path.abspath(__file__))\nfor flat, path in FOLDERS.items():\n"
         "    os.makedirs(os.path.join(ROOT, os.path.dirname(path)), exist_ok=True)\n"
         "    shutil.copyfile(os.path.join(ROOT, flat), os.path.join(ROOT, path))\n\n";
}

std::string entry_of_extension(const Json& spec, const std::vector<std::string>& sources, const std::string& function) {
  std::string compiled;
  for (const std::string& source : sources) {
    const std::string extension = std::filesystem::path(source).extension().string();
    if (extension == ".cu" || extension == ".cpp" || extension == ".cc" || extension == ".c")
      compiled += (compiled.empty() ? "" : ", ") + ("os.path.join(HERE, " + json_quoted(source) + ")");
  }
  const Json* const options = spec.find("compile_options");
  const bool has_cuda_flags = options != nullptr && options->find("cuda_cflags") != nullptr;
  return "import os\n\nfrom torch.utils.cpp_extension import load\n\nHERE = "
         "os.path.dirname(os.path.abspath(__file__))\n"
         "extension = load(\n    name=\"solution\",\n    sources=[" +
         compiled + "],\n    extra_cflags=" + flags_of(options, "cflags") + ",\n    extra_cuda_cflags=" +
         (has_cuda_flags ? flags_of(options, "cuda_cflags") : R"(["-O3", "--use_fast_math"])") +
         ",\n    extra_ldflags=" + flags_of(options, "ld_flags") + ",\n)\nfunction = extension." + function + "\n";
}

constexpr std::string_view kModel = R"(
import kq_problem
import torch


class ModelNew(torch.nn.Module):
    def forward(self, *inputs):
        return kq_problem.)";

}  // namespace

Expected<std::string> problem_text(const Json& definition, const JsonArray& workloads,
                                   const std::filesystem::path& root) {
  for (const char* key : {"axes", "inputs", "outputs"}) {
    const Json* const found = definition.find(key);
    if (found == nullptr || found->object() == nullptr)
      return bad_input("a definition has the objects axes, inputs and outputs; missing here: " + std::string(key));
  }
  if (text_of(definition, "reference").empty()) return bad_input("the definition has no text reference");
  if (workloads.empty() || workloads.size() > kWorkloadsMax)
    return bad_input("the definition has " + std::to_string(workloads.size()) + " workloads; 1 to " +
                     std::to_string(kWorkloadsMax) + " can run");
  for (const Json& workload : workloads) KQ_TRY(check_workload(definition, workload));
  JsonObject given;
  KQ_TRY_VALUE(auto tensors, tensors_of(workloads, root));
  given.emplace_back("definition", definition);
  given.emplace_back("workloads", Json{workloads});
  given.emplace_back("tensors", std::move(tensors));
  // A quoted text of JSON is a text of Python, too.
  return "GIVEN = " + json_quoted(to_text(Json{std::move(given)})) + "\n" + std::string(kTraceProblem);
}

Expected<void> read_solution(const Json& solution, const std::filesystem::path& path, Candidate& candidate) {
  const Json* const spec = solution.find("spec");
  const Json* const sources = solution.find("sources");
  if (spec == nullptr || spec->object() == nullptr || sources == nullptr || sources->array() == nullptr ||
      sources->array()->empty())
    return bad_input("a solution has an object spec and a list sources");
  const std::string entry = text_of(*spec, "entry_point");
  const std::size_t colons = entry.find("::");
  if (colons == std::string::npos) return bad_input("spec.entry_point is '" + entry + "'; FILE::FUNCTION is needed");
  const std::string file = entry.substr(0, colons), function = entry.substr(colons + 2);
  std::vector<FileRef> files;
  std::set<std::string> names, flat_names;
  JsonObject folders;  // the paths of sources in folders, by the names under which they travel
  for (const Json& source : *sources->array()) {
    const std::string name = text_of(source, "path");
    const Json* const content = source.find("content");
    if (name.empty() || content == nullptr || content->text() == nullptr)
      return bad_input("a source has the texts path and content");
    const std::string flat = flat_name(name);
    if (flat.empty()) return bad_input("source '" + name + "' is no path inside the solution's own folder");
    if (!flat_names.insert(flat).second) return bad_input("two sources are named " + flat + " without their folders");
    names.insert(name);
    if (flat != name) folders.emplace_back(flat, Json{name});
    files.push_back({.name = flat, .path = path, .text = *content->text()});
  }
  if (!names.contains(file)) return bad_input("spec.entry_point names the file " + file + ", which is no source");
  const bool needs_module = std::filesystem::path(file).extension() == ".py";
  if (!is_identifier(function) || (needs_module && module_name(file).empty()))
    return bad_input("spec.entry_point is '" + entry + "', which is no name of a module and function of Python");
  std::set<std::string> languages;
  if (const Json* const list = spec->find("languages"); list != nullptr && list->array() != nullptr) {
    for (const Json& language : *list->array()) {
      if (language.text() != nullptr) languages.insert(*language.text());
    }
  }
  const std::string language = text_of(*spec, "language");  // older solutions have one
  if (!language.empty()) languages.insert(language);
  const std::filesystem::path entry_file(file);
  const bool is_python = entry_file.extension() == ".py";
  const Json* const style = spec->find("destination_passing_style");
  const bool passes_outputs = style == nullptr || style->boolean() == nullptr || *style->boolean();
  candidate.backend = !is_python                     ? Backend::torch_cuda
                      : languages.contains("triton") ? Backend::triton
                                                     : Backend::torch;
  std::string text = folders.empty() ? "" : entry_of_folders(Json{std::move(folders)});
  text += is_python ? entry_of_python(module_name(file), function)
                    : entry_of_extension(*spec, sources_of(*sources), function);
  text += std::string(kModel) + (passes_outputs ? "call_with_outputs(function, inputs)\n" : "call(function, inputs)\n");
  files.insert(files.begin(), {.name = std::string(kEntry), .path = path, .text = std::move(text)});
  candidate.files = std::move(files);
  candidate.author = text_of(solution, "author");
  candidate.label = text_of(solution, "definition") + "/" + text_of(solution, "name");
  candidate.problem_name = text_of(solution, "definition");
  candidate.tags = {{"definition", text_of(solution, "definition")}, {"solution", text_of(solution, "name")}};
  return {};
}

}  // namespace kq::producer::flashinfer
