#include "producer/client/row_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/check.h"
#include "core/base/safe_text.h"
#include "producer/client/json.h"

namespace kq::producer {
namespace {

// Makes each line printable and indents all lines but the first.
std::string indented(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out += (out.empty() ? "" : "\n    ") + printable(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

}  // namespace

// The JSON library replaces bytes that are not UTF-8.
std::string valid_utf8(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
    return std::string(text);
  const Expected<Json> copy = parse_json(json_quoted(text));
  KQ_CHECK(copy && copy->text() != nullptr);
  return *copy->text();
}

std::string printable(std::string_view text) {
  const std::string valid = visible(valid_utf8(text));
  std::string out;
  for (std::size_t i = 0; i < valid.size(); ++i) {
    const auto c = static_cast<unsigned char>(valid[i]);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += ' ';
    } else if (c < 0x20 || c == 0x7F) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", c);
      out += escape;
    } else {
      out += valid[i];
    }
  }
  return out;
}

std::string time_text(double ns) {
  const auto three_digits = [](double value, const char* unit) {
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, unit);
    return std::string(buffer);
  };
  if (!(ns > 0)) return "-";
  if (ns < 999.5e3) return three_digits(ns / 1e3, "us");
  if (ns < 999.5e6) return three_digits(ns / 1e6, "ms");
  return three_digits(ns / 1e9, "s");
}

std::string speedup_text(double speedup) {
  if (!(speedup > 0)) return "-";
  char buffer[40];
  // Two digits behind the point would show a kernel that is 1,000 times slower as 0.00x.
  std::snprintf(buffer, sizeof buffer, speedup < 0.01 ? "%.2gx" : speedup < 100 ? "%.2fx" : "%.0fx", speedup);
  return buffer;
}

std::string noise_text(double figure, double noise) {
  if (!(figure > 0) || !(noise > 0) || !std::isfinite(noise)) return "";
  char buffer[40];
  const double percent = 100 * noise / figure;
  std::snprintf(buffer, sizeof buffer, percent < 1 ? " ±%.1f%%" : " ±%.0f%%", percent);
  return buffer;
}

TimeTexts time_texts(const Measurement& measurement) {
  const double own_ns = measurement.submission.median_ns, reference_ns = measurement.reference.median_ns;
  const double ratio = speedup(measurement);
  return {.own = (measurement.is_noisy ? "~" : "") + time_text(own_ns) +
                 noise_text(own_ns, submission_noise_ns(measurement)),
          .reference = time_text(reference_ns) + noise_text(reference_ns, reference_noise_ns(measurement)),
          .speedup = speedup_text(ratio) + noise_text(ratio, speedup_noise(measurement))};
}

std::string state_text(JobState state) {
  return std::string(state == JobState::leased ? "running" : to_string(state));
}

std::string outcome_text(const RunRow& row) {
  if (!row.result) return state_text(row.job.state);
  const Evidence* evidence = evidence_of(row.result->verdict);
  const std::string name(to_string(name_of(row.result->verdict)));
  return evidence == nullptr || evidence->reason.empty() ? name : name + " (" + evidence->reason + ")";
}

std::string evidence_text(const RunRow& row) {
  std::string text = printable(row.entry.submission.label) + ": " + printable(outcome_text(row));
  const Evidence* evidence = row.result ? evidence_of(row.result->verdict) : nullptr;
  if (evidence == nullptr) return text + '\n';
  // Many messages of compilers and interpreters name the place.
  if (evidence->message.find(evidence->place) == std::string::npos) text += ": " + printable(evidence->place);
  if (!evidence->rule.empty()) text += ": rule " + printable(evidence->rule);
  if (!evidence->message.empty()) text += ": " + indented(evidence->message);
  text += '\n';
  if (!evidence->hint.empty()) text += "    " + indented(evidence->hint) + '\n';
  return text;
}

std::string finished_text(const RunRow& row) {
  const Measurement* measurement = row.result ? measurement_of(row.result->verdict) : nullptr;
  if (measurement == nullptr || name_of(row.result->verdict) != VerdictName::passed) return evidence_text(row);
  if (!(measurement->submission.median_ns > 0))
    return printable(row.entry.submission.label) + ": passed, without timed trials\n";
  const TimeTexts times = time_texts(*measurement);
  return printable(row.entry.submission.label) + ": passed: " + times.own + ", the reference " + times.reference +
         ", speedup " + times.speedup + '\n';
}

}  // namespace kq::producer
