#include "gpu_worker/compile/outcome.h"

#include <algorithm>
#include <filesystem>

#include "core/limits.h"
#include "gpu_worker/compile/cache.h"
#include "gpu_worker/machine/scratch.h"
#include "guard/elf.h"
#include "guard/facts.h"
#include "sys/printable.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kStatusBytesMax = 32;
constexpr std::size_t kElfMagicBytes = 4;
constexpr std::size_t kPreprocessedBytesMax = 4u << 20;
constexpr std::size_t kToolchainBytesMax = 4096;

Verdict failed(Stage stage, std::string_view text) {
  std::string message = shortened(text);
  std::string place = place_in(message);
  return ended(VerdictName::build_failed, {.stage = stage,
                                           .reason = {},
                                           .message = std::move(message),
                                           .hint = {},
                                           .rule = {},
                                           .place = std::move(place),
                                           .mismatch = {}});
}

std::string place_of(const guard::Finding& finding) {
  return shortened(finding.line == 0 ? finding.file : finding.file + ":" + std::to_string(finding.line));
}

// Returns the verdict on the first finding that rejects, and otherwise notes those for review.
std::optional<Verdict> verdict_on(std::span<const guard::Finding> findings, const guard::Policy& policy,
                                  std::vector<ReviewFinding>* for_review) {
  if (const guard::Finding* finding = guard::first_rejected(findings, policy)) return rejected(*finding);
  if (for_review != nullptr) add_for_review(findings, *for_review);
  return std::nullopt;
}

// Judges the libraries and device code that were built by what they import.
std::optional<Verdict> judge_built(const std::string& dir, const guard::Policy& policy,
                                   std::vector<ReviewFinding>* for_review) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir, error)) {
    const std::string path = entry.path().string();
    const auto start = read_child_file(path, kElfMagicBytes);
    if (!start || !guard::is_elf(*start)) continue;
    const auto bytes = read_child_file(path, kBuildBytesMax);
    if (!bytes) return failed(Stage::guard, bytes.error().message);
    const auto findings = guard::judge_elf(*bytes, entry.path().filename().string());
    if (auto verdict = verdict_on(findings, policy, for_review)) return verdict;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Verdict> read_outcome(const std::string& dir, const guard::Policy& policy,
                                    std::vector<ReviewFinding>* for_review) {
  // Reads one byte more than allowed, because facts that were cut off at the end of a line would look complete.
  if (const auto facts = read_child_file(dir + "/facts", guard::kFactsBytesMax + 1)) {
    const auto findings = guard::judge_facts(*facts);
    if (!findings) return failed(Stage::guard, findings.error().message);
    if (auto verdict = verdict_on(*findings, policy, for_review)) return verdict;
  }
  // The preprocessed source shows what macros of headers make of it.
  if (const auto text = read_child_file(dir + "/source.ii", kPreprocessedBytesMax)) {
    const auto findings = guard::judge_preprocessed({.name = "source.ii", .text = *text});
    if (auto verdict = verdict_on(findings, policy, for_review)) return verdict;
  }
  const auto status = read_child_file(dir + "/status", kStatusBytesMax);
  const std::string word = status ? status->substr(0, status->find_first_of(" \n")) : "missing";
  if (word == "ok") return judge_built(dir, policy, for_review);
  std::string message = shortened(read_child_file(dir + "/message", kMessageTextMax).value_or(""));
  if (word == "unsupported") {
    return ended(VerdictName::unsupported_here, {.stage = Stage::build,
                                                 .reason = {},
                                                 .message = std::move(message),
                                                 .hint = {},
                                                 .rule = {},
                                                 .place = {},
                                                 .mismatch = {}});
  }
  if (word == "memory" || word == "disk") {
    return ended(VerdictName::out_of_memory, {.stage = Stage::build,
                                              .reason = word == "memory" ? "host" : "disk",
                                              .message = std::move(message),
                                              .hint = {},
                                              .rule = {},
                                              .place = {},
                                              .mismatch = {}});
  }
  return failed(Stage::build, message.empty() ? "the build left no result" : message);
}

bool is_final(const std::string& dir) {
  std::error_code error;
  return fs::exists(dir + "/final", error);
}

std::string toolchain_text(const std::string& dir) {
  return read_child_file(dir + "/toolchain", kToolchainBytesMax).value_or("");
}

Toolchain toolchain_in(const std::string& dir) {
  const std::string text = toolchain_text(dir);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::size_t second = std::min(end + 1, text.size());
  const auto line = [&](std::size_t from, std::size_t size) {
    return sys::printable(std::string_view(text).substr(from, size), kToolchainBytesMax);
  };
  return {.compiler = line(0, end), .flags = line(second, text.find('\n', second) - second)};
}

std::optional<std::string> toolchain_id_in(const std::string& dir) {
  auto toolchain = read_child_file(dir + "/toolchain_id", kToolchainBytesMax);
  return toolchain ? std::optional(std::move(*toolchain)) : std::nullopt;
}

Verdict rejected(const guard::Finding& finding) {
  return ended(VerdictName::rejected, {.stage = Stage::guard,
                                       .reason = finding.reason,
                                       .message = shortened(finding.message),
                                       .hint = finding.hint,
                                       .rule = finding.rule,
                                       .place = place_of(finding),
                                       .mismatch = {}});
}

void add_for_review(std::span<const guard::Finding> findings, std::vector<ReviewFinding>& for_review) {
  for (const guard::Finding& finding : findings) {
    const bool is_known = std::ranges::find(for_review, finding.rule, &ReviewFinding::rule) != for_review.end();
    if (finding.severity != guard::Severity::review || is_known || for_review.size() == kReviewFindingsMax) continue;
    for_review.push_back({.rule = finding.rule, .place = place_of(finding)});
  }
}

std::string place_in(const std::string& message) {
  const std::size_t colon = message.find(':');
  if (colon == std::string::npos || colon == 0 || colon > kNameBytesMax || message.find_first_of(" \n") < colon)
    return {};
  const std::size_t end = message.find_first_not_of("0123456789", colon + 1);
  return end == std::string::npos || end == colon + 1 ? std::string() : message.substr(0, std::min(end, kNameBytesMax));
}

std::string shortened(std::string_view text) {
  return sys::printable(text, kMessageTextMax);
}

}  // namespace kq::worker
