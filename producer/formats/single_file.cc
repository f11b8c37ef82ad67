#include "producer/formats/single_file.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "core/bytes/hash.h"
#include "producer/formats/io_contract.h"
#include "producer/formats/kernelbench_run.h"
#include "producer/formats/popcorn/submissions.h"
#include "producer/formats/problems.h"
#include "producer/formats/recognise.h"
#include "producer/formats/sample_name.h"
#include "producer/formats/settings.h"
#include "sys/error_text.h"

namespace kq::producer {
namespace {

// The entry of a submission whose source is an extension of torch. python/kq/records/submission.py has the same.
constexpr std::string_view kExtensionEntry = R"(import inspect
import os
import re

from torch.utils.cpp_extension import load

extension = load(name="extension", sources=[os.path.splitext(__file__)[0] + ".cu"])

from kq_problem import Model  # of the problem's file

# A model of robust-kbench calls `fn` with the inputs and whatever else its kernel takes.
fn = inspect.signature(Model.forward).parameters.get("fn")
# The docstring that pybind makes begins with "forward(x: torch.Tensor, eps: float = 1e-05) -> ".
signature = (extension.forward.__doc__ or "").partition("\n")[0].partition(") -> ")[0]
arguments = re.split(r"[(,] ?\w+: ", signature)[1:]
least = sum(" = " not in argument for argument in arguments)


class ModelNew(Model):
    def forward(self, *inputs):
        if fn is not None and callable(fn.default):
            return super().forward(*inputs, fn=extension.forward)
        if not hasattr(self, "kq_weights"):
            weights = list(self.parameters())
            is_taken = least <= len(inputs) + len(weights) <= len(arguments)
            self.kq_weights = weights if is_taken else []
        return extension.forward(*inputs, *self.kq_weights)
)";

Expected<std::vector<HeaderSetting>> header_of(const std::filesystem::path& path) {
  std::string text(kHeaderBytesMax, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return bad_input(sys::error_text(path.string()));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return read_header(text);
}

// Returns the label of a kernel from standard input, which has no name. The label depends on the content, so that two
// kernels of one run have different labels.
std::string label_of_stdin(const std::filesystem::path& path) {
  constexpr std::size_t kDigits = 8;
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return "stdin-" + to_hex(sha256(text)).substr(0, kDigits);
}

// Returns the path of a kernel below the root of labels, without its ending, or its name where it lies elsewhere.
std::string label_of(const std::filesystem::path& input, const InputOptions& options) {
  const std::string name = input.stem().string();
  if (options.label_root.empty()) return name;
  const std::filesystem::path below =
      std::filesystem::absolute(input).lexically_normal().lexically_relative(options.label_root);
  if (below.empty() || *below.begin() == "..") return name;
  return (below.parent_path() / name).string();
}

// Returns the sample name of the file. A kernel from standard input has none.
std::optional<SampleName> sample_name_of(const std::filesystem::path& input, const InputOptions& options) {
  return options.input_name.empty() ? parse_sample_name(input.filename().string()) : std::nullopt;
}

// Returns the problem of --problems that has the name of the kernel or of a folder above it: relu.py and relu/anna.py
// solve relu, level1/19_ReLU/anna.py solves level1/19_ReLU. The nearest name counts.
std::optional<FoundProblem> problem_by_place(const std::filesystem::path& input, const InputOptions& options) {
  constexpr std::size_t kNamesMax = 4;  // the kernel, and the folders above it, that are looked at
  if (!options.problems || !options.input_name.empty()) return std::nullopt;
  std::filesystem::path place = std::filesystem::absolute(input).lexically_normal().replace_extension();
  for (std::size_t i = 0; i < kNamesMax && place.has_relative_path(); ++i, place = place.parent_path()) {
    const std::filesystem::path name = place.filename();
    for (const std::filesystem::path& written : {place.parent_path().filename() / name, name}) {
      if (auto found = find_problem(written, *options.problems, options.problems)) return std::move(*found);
    }
  }
  return std::nullopt;
}

// Returns whether the problem's name is that of another problem of KernelBench than the sample's: for a sample of
// problem 3 of level 1 the name is "level1/3_add". A name of another form does not contradict the sample.
bool contradicts(std::string_view problem_name, const SampleName& sample) {
  const std::size_t slash = problem_name.find('/');
  if (!problem_name.starts_with("level") || slash == std::string_view::npos) return false;
  return !problem_name.starts_with("level" + std::to_string(sample.level) + "/" + std::to_string(sample.problem) + "_");
}

}  // namespace

bool is_named_as_kernel(const std::filesystem::path& input) {
  return input.extension() == ".py" || is_device_code(input.filename().string());
}

std::string recognise_single_file(const std::filesystem::path& input) {
  return is_file(input) && is_named_as_kernel(input) ? "its name ends in " + input.extension().string() : "";
}

bool is_the_problem(const std::filesystem::path& input, const InputOptions& options) {
  std::error_code ignored;
  return options.problem && std::filesystem::equivalent(input, *options.problem, ignored);
}

bool is_problem_among_kernels(const std::filesystem::path& input, const InputOptions& options) {
  if (input.extension() != ".py") return false;
  if (is_the_problem(input, options)) return true;
  if (sample_name_of(input, options) || source_files(input).size() > 1) return false;
  const auto header = header_of(input);
  if (!header || std::ranges::any_of(*header, [](const HeaderSetting& one) { return one.key == "problem"; }))
    return false;
  const auto text = contents(file_ref(input));
  return text && missing_from_problem(*text).empty() && text->find("class ModelNew") == std::string::npos;
}

bool is_package_marker(const std::filesystem::path& input) {
  if (input.filename() != "__init__.py" || !is_file(input)) return false;
  std::ifstream file(input, std::ios::binary);
  if (!file.is_open()) return false;  // reading it as a kernel reports the error
  constexpr std::string_view kDefinitions[] = {"class ", "def ", "async def ", "@"};
  for (std::string line; std::getline(file, line);) {
    if (std::ranges::any_of(kDefinitions, [&](std::string_view word) { return line.starts_with(word); })) return false;
  }
  return true;
}

std::vector<FileRef> extension_files(FileRef source) {
  FileRef entry{.name = std::filesystem::path(source.name).replace_extension(".py").string(),
                .path = source.path,
                .text = std::string(kExtensionEntry)};
  return {std::move(entry), std::move(source)};
}

std::vector<FileRef> source_files(const std::filesystem::path& entry, const std::string& name) {
  std::vector<FileRef> files{file_ref(entry)};
  if (!name.empty()) files.front().name = name;
  const FileRef contract = file_ref(std::filesystem::path(entry).replace_extension(".json"));
  if (entry.extension() == ".cu" && !is_file(contract.path)) {
    const auto text = contents(files.front());
    if (text && is_torch_extension(*text)) return extension_files(std::move(files.front()));
  }
  if (is_device_code(entry.filename().string())) files.push_back(contract);
  if (entry.extension() == ".py" && is_file(contract.path)) {
    const auto text = contents(contract);
    if (text && is_io_contract(*text)) files.push_back(contract);
  }
  return files;
}

void read_single_file(const std::filesystem::path& input, const InputOptions& options, const CandidateSink& sink) {
  const std::string name = options.input_name.empty() ? input.string() : options.input_name;
  bool any_wrong = false;
  const auto wrong = [&](const std::string& sentence) {
    if (!any_wrong) sink.left_out();
    any_wrong = true;
    sink.mistake(sentence);
  };
  const auto header = header_of(input);
  if (!header) return wrong(header.error().message);
  const auto sample = sample_name_of(input, options);
  Candidate candidate;
  if (sample) candidate = sample_candidate(input, *sample);
  candidate.where = name;
  if (!sample) candidate.label = options.input_name.empty() ? label_of(input, options) : label_of_stdin(input);
  candidate.files =
      source_files(input, options.input_name.empty() ? std::string() : "submission" + input.extension().string());
  const std::filesystem::path base = options.input_name.empty() ? input.parent_path() : "";
  std::string problem_written;
  for (const HeaderSetting& setting : *header) {
    const std::string where = name + ":" + std::to_string(setting.line);
    if (const auto error = set_by_name(candidate, setting.key, setting.value, options.now_ms)) {
      wrong(where + ": kq: " + *error);
    } else {
      candidate.header_settings.push_back(setting.key + "=" + setting.value + " (" + where + ")");
    }
    if (setting.key == "problem") problem_written = setting.value;
  }
  const bool is_told = options.problem || !problem_written.empty() || sample;
  auto by_place = is_told ? std::nullopt : problem_by_place(input, options);
  const auto leaderboard = is_told || by_place || options.problems ? std::nullopt : popcorn::leaderboard_in_head(input);
  if (leaderboard) {
    return wrong(name + ": which problem does it solve? its line '#!POPCORN leaderboard " + *leaderboard +
                 "' names one of GPU MODE's form, which is found in the folder of --problems DIR");
  }
  if (!is_told && !by_place) {
    return wrong(name +
                 ": which problem does it solve? say --problem FILE, or kq: problem=FILE in a comment at its head; or "
                 "with --problems DIR name the kernel or its folder after a problem there");
  }
  const auto problem =
      options.problem            ? find_problem(*options.problem, "", options.problems)
      : !problem_written.empty() ? find_problem(problem_written, base, options.problems)
      : sample ? problems_of_run(base.empty() ? "." : base, options, true).find(sample->level, sample->problem)
               : Expected<FoundProblem>(std::move(*by_place));
  if (!problem) {
    // Some sentences begin with the path in quotes, others are whole.
    const std::string& why = problem.error().message;
    const std::string option = why.starts_with("'") ? "--problem " : "";
    return wrong((options.problem ? option : name + (problem_written.empty() ? ": " : ": kq: problem ")) + why);
  }
  if (sample && contradicts(problem->name, *sample)) {
    return wrong(name + ": by its name it solves level" + std::to_string(sample->level) + "/" +
                 std::to_string(sample->problem) + ", not " + problem->name + "; give it another name");
  }
  candidate.problem = problem->file;
  candidate.problem_name = problem->name;
  if (!any_wrong) sink.candidate(std::move(candidate));
}

}  // namespace kq::producer
