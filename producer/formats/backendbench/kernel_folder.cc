#include "producer/formats/backendbench/kernel_folder.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "core/bytes/hash.h"
#include "core/limits.h"
#include "producer/formats/backendbench/op_name.h"
#include "producer/formats/backendbench/op_problem.h"
#include "producer/formats/backendbench/suite.h"

namespace kq::producer::backendbench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHashDigits = 8;    // of the call's hash, in labels
constexpr std::size_t kArgumentTags = 8;  // tags that hold the text of a call's arguments
constexpr std::size_t kOpsNamed = 5;      // operators that one note names

struct Kernel {
  std::string op;
  fs::path file;
  std::uint64_t version = 0;  // 0: the name has none
};

// Returns the version of X_implementation_v12.py of the folder X, 0 of X_implementation.py, or nothing for other files.
std::optional<std::uint64_t> version_of(const std::string& folder, const fs::path& file) {
  const std::string stem = file.stem().string();
  const std::string begin = folder + "_implementation";
  if (file.extension() != ".py" || !stem.starts_with(begin)) return std::nullopt;
  std::string_view rest = std::string_view(stem).substr(begin.size());
  if (!rest.starts_with("_v")) return 0;
  rest.remove_prefix(2);
  std::uint64_t version = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), version);
  return version;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code wrong;
  for (fs::directory_iterator entry(folder, wrong), end; !wrong && entry != end; entry.increment(wrong))
    found.push_back(entry->path());
  std::ranges::sort(found);
  return found;
}

// Returns the kernel of an operator's folder: the highest version, or the first name.
std::optional<Kernel> kernel_in(const fs::path& folder, bool first_version) {
  const std::string name = folder.filename().string();
  const auto op = op_of_folder(name);
  if (!op) return std::nullopt;
  std::optional<Kernel> found;
  for (const fs::path& file : entries_of(folder)) {
    const auto version = version_of(name, file);
    if (!version || (found && (first_version || *version < found->version))) continue;
    found = Kernel{.op = *op, .file = file, .version = *version};
  }
  return found;
}

// Splits the text of a call's arguments among tags, none of which may be longer than a name. Control characters, which
// no tag may have, become spaces.
void add_argument_tags(const std::string& args, std::map<std::string, std::string>& tags) {
  std::string text = args;
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  for (std::size_t i = 0; i < kArgumentTags && begin < text.size(); ++i) {
    std::size_t end = std::min(begin + kNameBytesMax, text.size());
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    tags[i == 0 ? "args" : "args_" + std::to_string(i)] = text.substr(begin, end - begin);
    begin = end;
  }
}

// Says which operators have no kernel, or no call.
std::string listed(const std::set<std::string>& ops) {
  std::string text;
  std::size_t named = 0;
  for (const std::string& op : ops) {
    if (named++ == kOpsNamed) return text + " and " + std::to_string(ops.size() - kOpsNamed) + " more";
    text += (text.empty() ? "" : ", ") + op;
  }
  return text;
}

Candidate candidate_of(const Kernel& kernel, const Call& call, const SuiteOptions& suite) {
  const std::string folder = folder_name(kernel.op);
  // BackendBench names a call by this hash.
  const std::string uuid = to_hex(sha256(call.args + "aten." + call.op));
  Candidate candidate;
  candidate.where = kernel.file.string();
  candidate.label = call.op + "/" + uuid.substr(0, kHashDigits);
  candidate.files = {{.name = kernel.file.filename().string(), .path = kernel.file, .text = std::nullopt},
                     {.name = kernel.file.stem().string() + ".json",
                      .path = kernel.file,
                      .text = R"({"function_name": ")" + folder + R"(_kernel_impl", "takes_named": true})"}};
  candidate.problem = {.name = "call.py", .path = call.where, .text = op_problem(call.op, call.args, suite.strict)};
  candidate.problem_name = candidate.label;
  if (!call.is_timed) candidate.trials.timed = 0;
  if (suite.strict) candidate.truth.is_used = false;
  candidate.tags = {{"suite", std::string(to_string(suite.suite))},
                    {"op", call.op},
                    {"test", !call.is_timed    ? "correctness"
                             : call.is_checked ? "both"
                                               : "performance"}};
  if (kernel.version > 0) candidate.tags["version"] = std::to_string(kernel.version);
  add_argument_tags(call.args, candidate.tags);
  return candidate;
}

}  // namespace

std::string recognise_kernel_folder(const fs::path& input) {
  std::error_code ignored;
  if (!fs::is_directory(input, ignored)) return "";
  for (const fs::path& folder : entries_of(input)) {
    if (const auto kernel = kernel_in(folder, false))
      return "it holds " + folder.filename().string() + "/" + kernel->file.filename().string();
  }
  return "";
}

void read_kernel_folder(const fs::path& input, const InputOptions& options, const CandidateSink& sink) {
  const SuiteOptions& suite = options.suite;
  const auto calls = calls_of(suite, sink.mistake);
  if (!calls) return sink.mistake(calls.error().message);
  std::set<std::string> without_kernel, without_call;
  for (const Call& call : *calls) without_kernel.insert(call.op);
  for (const fs::path& folder : entries_of(input)) {
    const auto kernel = kernel_in(folder, suite.first_version);
    if (!kernel) continue;
    const auto [first, last] = std::ranges::equal_range(*calls, kernel->op, {}, &Call::op);
    if (first == last) without_call.insert(kernel->op);
    without_kernel.erase(kernel->op);
    for (auto call = first; call != last; ++call) {
      if (sink.stopped()) return;
      sink.candidate(candidate_of(*kernel, *call, suite));
    }
  }
  const std::string name(to_string(suite.suite));
  if (!without_call.empty())
    sink.note("suite " + name + " has no call of " + listed(without_call) + ", so these kernels are not judged");
  if (!without_kernel.empty())
    sink.note(input.string() + " has no kernel for " + listed(without_kernel) + ", which suite " + name + " calls");
}

}  // namespace kq::producer::backendbench
