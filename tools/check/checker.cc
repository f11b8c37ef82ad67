#include "tools/check/checker.h"

#include <algorithm>
#include <chrono>

#include "core/limits.h"
#include "guard/binary.h"

namespace kq::tools {
namespace {

constexpr std::string_view kCpp[] = {".cu", ".cuh", ".cc", ".cpp", ".cxx", ".c", ".h", ".hpp", ".hh", ".inl"};
constexpr std::string_view kHeaders[] = {".cuh", ".h", ".hpp", ".hh", ".inl"};

bool ends_with_any(std::string_view path, std::span<const std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return path.ends_with(ending); });
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::optional<Language> language_of(std::string_view path, std::string_view bytes) {
  if (!bytes.empty() && guard::is_binary(bytes, path)) return Language::library;
  if (path.ends_with(".py")) return Language::python;
  if (ends_with_any(path, kCpp)) return Language::cuda;
  return std::nullopt;
}

bool is_header(std::string_view path) {
  return ends_with_any(path, kHeaders);
}

Expected<void> Checker::check(const CheckInput& input, Language language, std::span<const guard::CppSource> headers,
                              CheckReport& report) {
  ++report.files;
  const auto start = std::chrono::steady_clock::now();
  std::vector<guard::Finding> findings;
  if (language == Language::python) {
    KQ_TRY_VALUE(const auto facts, python_.facts("source.py", input.bytes));
    if (const auto* refused = std::get_if<UnreadableSource>(&facts)) {
      report.unchecked.push_back({.path = input.path, .line = refused->line, .message = refused->message});
      return {};
    }
    KQ_TRY_VALUE(auto judged, guard::judge_facts(std::get<std::string>(facts)));
    findings = std::move(judged);
    for (guard::Finding& finding : findings) finding.file.clear();
  } else if (language == Language::library) {
    findings = guard::judge_binary(input.bytes, file_name(input.path));
  } else {
    findings = guard::judge_cuda({.name = file_name(input.path), .text = input.bytes}, headers);
  }
  report.file_ms.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  std::stable_sort(findings.begin(), findings.end(),
                   [](const guard::Finding& a, const guard::Finding& b) { return a.line < b.line; });
  const std::string folder = input.path.substr(0, input.path.rfind('/') + 1);
  for (guard::Finding& finding : findings) {
    // A finding in an included header keeps the name of the header.
    finding.file = finding.file == file_name(input.path) || finding.file.empty() ? input.path : folder + finding.file;
    report.findings.push_back(std::move(finding));
  }
  return {};
}

}  // namespace kq::tools
