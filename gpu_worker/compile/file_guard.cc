#include "gpu_worker/compile/file_guard.h"

#include <algorithm>
#include <string>
#include <utility>

#include "gpu_worker/compile/child.h"
#include "gpu_worker/compile/extension_manifest.h"
#include "gpu_worker/compile/outcome.h"
#include "gpu_worker/machine/limited_json.h"
#include "gpu_worker/machine/scratch.h"
#include "guard/binary.h"

namespace kq::worker {
namespace {

constexpr int kContractDepthMax = 16;

bool is_cpp(std::string_view name) {
  constexpr std::string_view kEndings[] = {".cu", ".cuh", ".h", ".hpp", ".hh", ".cc", ".cpp", ".cxx", ".c", ".inl"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

// Whether any text of a contract asks for a language standard with trigraphs. Python may accept JSON that is invalid
// here, so such a contract counts as one that asks.
bool asks_for_trigraphs_in(std::string_view contract) {
  const nlohmann::json parsed = parse_limited(contract, kContractDepthMax);
  if (parsed.is_discarded()) return true;
  const nlohmann::json values = parsed.flatten();
  return std::any_of(values.begin(), values.end(), [](const nlohmann::json& value) {
    return value.is_string() && guard::asks_for_trigraphs(value.get_ref<const std::string&>());
  });
}

// Whether the build makes a file of this name for the run.
bool is_made_by_build(const Submission& submission, const SourceFile& file) {
  if (submission.backend == Backend::cuda)
    return file.name == "launch" || (file.name == "module.cubin" && file.name != submission.files.front().name);
  return file.name == kManifest || file.name == kTritonArchive ||
         (file.name.starts_with("kq_extension_") && file.name.ends_with(".so"));
}

std::optional<Verdict> judge_names(const Submission& submission) {
  if (submission.files.empty()) return std::nullopt;  // the build reports the missing entry file
  for (const SourceFile& file : submission.files) {
    if (is_made_by_build(submission, file))
      return build_ended(VerdictName::build_failed, {},
                         file.name + ": the build makes a file of this name; rename yours");
  }
  const std::string& entry = submission.files.front().name;
  const bool is_cuda = submission.backend == Backend::cuda;
  const bool fits =
      is_cuda ? entry.ends_with(".cu") || entry.ends_with(".ptx") || entry.ends_with(".cubin") : entry.ends_with(".py");
  if (fits) return std::nullopt;
  return build_ended(VerdictName::build_failed, {},
                     entry + ": a " + std::string(to_string(submission.backend)) + " submission begins with a " +
                         (is_cuda ? ".cu, .ptx or .cubin file" : ".py file"));
}

}  // namespace

guard::Policy policy_of(const Lease& lease) {
  return {.streams = lease.submission.trials.streams, .graphs = lease.submission.trials.graphs};
}

Expected<std::optional<Verdict>> judge_files(const Lease& lease, const BuildTime& time,
                                             std::vector<ReviewFinding>& for_review) {
  std::vector<std::string> bytes;
  std::vector<guard::CppSource> sources;
  bytes.reserve(lease.submission.files.size());
  for (const SourceFile& file : lease.submission.files) {
    auto content = file_of(lease, file.hash);
    if (!content) continue;  // the build reports the missing file
    sources.push_back({.name = file.name, .text = bytes.emplace_back(std::move(*content))});
  }
  const guard::Policy policy = policy_of(lease);
  const bool has_trigraphs =
      lease.submission.backend == Backend::cuda && std::ranges::any_of(sources, [](const guard::CppSource& source) {
        return source.name.ends_with(".json") && asks_for_trigraphs_in(source.text);
      });
  for (const guard::CppSource& source : sources) {
    if (auto over = time.over()) return over->map([](Verdict& verdict) { return std::optional(std::move(verdict)); });
    const auto binary = guard::judge_binary(source.text, source.name);
    if (const guard::Finding* finding = guard::first_rejected(binary, policy)) return std::optional(rejected(*finding));
    add_for_review(binary, for_review);
    if (!is_cpp(source.name)) continue;
    auto findings = has_trigraphs ? guard::judge_trigraphs(source) : std::vector<guard::Finding>();
    std::ranges::move(guard::judge_cuda(source, sources), std::back_inserter(findings));
    if (const guard::Finding* finding = guard::first_rejected(findings, policy))
      return std::optional(rejected(*finding));
    add_for_review(findings, for_review);
  }
  return judge_names(lease.submission);
}

}  // namespace kq::worker
