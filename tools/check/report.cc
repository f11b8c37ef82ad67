#include "tools/check/report.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include <nlohmann/json.hpp>

#include "core/base/version.h"
#include "tools/cli/text.h"

namespace kq::tools {
namespace {

using Json = nlohmann::ordered_json;

// Bytes that are not UTF-8, which a file name or an identifier may contain, are replaced.
std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Returns a relative reference, or a file:// URI for an absolute path (RFC 3986).
std::string uri_of(std::string_view path) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string uri = path.starts_with('/') ? "file://" : "";
  // Without "./", a relative path like "a:b" would name a scheme.
  if (uri.empty() && path.substr(0, path.find('/')).find(':') != std::string_view::npos) uri = "./";
  for (const char c : path) {
    char code[4];
    std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(c));
    uri += kPlain.find(c) == std::string_view::npos ? std::string(code) : std::string(1, c);
  }
  return uri;
}

Json location_of(std::string_view path, std::uint32_t line) {
  Json place{{"artifactLocation", {{"uri", uri_of(path)}}}};
  if (line != 0) place["region"] = {{"startLine", line}};  // a built library has no lines
  return {{"physicalLocation", place}};
}

std::string capitalized(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

Json sarif_rule(const guard::Rule& rule) {
  return {{"id", rule.name},
          {"shortDescription", {{"text", capitalized(std::string(rule.message)) + "."}}},
          {"fullDescription", {{"text", rule.why}}},
          {"help", {{"text", capitalized(std::string(rule.hint)) + "."}}},
          {"defaultConfiguration", {{"level", rule.severity == guard::Severity::reject ? "error" : "note"}}},
          {"properties", {{"severity", to_string(rule.severity)}, {"reason", rule.reason}}}};
}

double percentile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

}  // namespace

std::string report_text(const CheckReport& report) {
  std::string text;
  for (const guard::Finding& finding : report.findings) {
    const std::string line = finding.line == 0 ? "" : ":" + std::to_string(finding.line);
    text += printable(finding.file) + line + " " + finding.rule + " " +
            (finding.severity == guard::Severity::review ? "review: " : "") + printable(finding.message) + "; " +
            finding.hint + "\n";
  }
  return text;
}

std::string report_json(const CheckReport& report) {
  Json findings = Json::array(), unchecked = Json::array();
  for (const guard::Finding& finding : report.findings) {
    findings.push_back({{"file", finding.file},
                        {"line", finding.line},
                        {"rule", finding.rule},
                        {"severity", to_string(finding.severity)},
                        {"reason", finding.reason},
                        {"message", finding.message},
                        {"hint", finding.hint}});
  }
  for (const UncheckedFile& one : report.unchecked)
    unchecked.push_back({{"file", one.path}, {"line", one.line}, {"message", one.message}});
  return json_text({{"files", report.files}, {"findings", findings}, {"unjudged", unchecked}});
}

std::string report_sarif(const CheckReport& report) {
  Json all_rules = Json::array(), results = Json::array(), notifications = Json::array();
  for (const guard::Rule& rule : guard::rules()) all_rules.push_back(sarif_rule(rule));
  for (const guard::Finding& finding : report.findings) {
    const guard::Rule* rule = guard::find_rule(finding.rule);
    results.push_back({{"ruleId", finding.rule},
                       {"ruleIndex", rule - guard::rules().data()},
                       {"level", finding.severity == guard::Severity::reject ? "error" : "note"},
                       {"message", {{"text", capitalized(finding.message) + ". " + capitalized(finding.hint) + "."}}},
                       {"locations", Json::array({location_of(finding.file, finding.line)})}});
  }
  for (const UncheckedFile& one : report.unchecked) {
    notifications.push_back({{"level", "error"},
                             {"message", {{"text", one.message}}},
                             {"locations", Json::array({location_of(one.path, one.line)})}});
  }
  const Json driver{{"name", "kq-check"}, {"version", kVersion}, {"rules", all_rules}};
  const Json invocation{{"executionSuccessful", report.unchecked.empty()},
                        {"toolExecutionNotifications", notifications}};
  const Json run{{"tool", {{"driver", driver}}}, {"invocations", Json::array({invocation})}, {"results", results}};
  return json_text({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                    {"version", "2.1.0"},
                    {"runs", Json::array({run})}});
}

std::string rules_text() {
  std::vector<std::vector<std::string>> cells;
  for (const guard::Rule& rule : guard::rules()) {
    cells.push_back({std::string(rule.name), std::string(to_string(rule.severity)), std::string(rule.reason),
                     std::string(rule.message)});
  }
  return table({{"rule"}, {"severity"}, {"reason"}, {"what it finds"}}, cells);
}

std::string rules_json() {
  Json all = Json::array();
  for (const guard::Rule& rule : guard::rules()) {
    all.push_back({{"rule", rule.name},
                   {"severity", to_string(rule.severity)},
                   {"reason", rule.reason},
                   {"message", rule.message},
                   {"hint", rule.hint},
                   {"why", rule.why}});
  }
  return json_text(all);
}

std::string explanation_text(const guard::Rule& rule) {
  const bool rejects = rule.severity == guard::Severity::reject;
  std::string text = std::string(rule.name) +
                     (rejects ? ": rejected (" + std::string(rule.reason) + ")" : ": for review, changes no verdict") +
                     "\n\n";
  text += "What it finds: a source that " + std::string(rule.message) + ".\n";
  text += "Why: " + std::string(rule.why) + "\n";
  text += std::string(rejects ? "What would be right: " : "What to do: ") + std::string(rule.hint) + ".\n";
  return text;
}

std::string times_text(const CheckReport& report) {
  char text[200];
  std::snprintf(text, sizeof text, "%zu files, ms for each: median %.2f, p95 %.2f, max %.2f; %.2f s in all",
                report.file_ms.size(), percentile(report.file_ms, 0.5), percentile(report.file_ms, 0.95),
                percentile(report.file_ms, 1),
                std::accumulate(report.file_ms.begin(), report.file_ms.end(), 0.0) / 1000);
  return text;
}

}  // namespace kq::tools
