#include "tools/report/jobs/job_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/own_share.h"
#include "core/verdict.h"
#include "producer/client/json.h"
#include "tools/cli/text.h"

namespace kq::tools {
namespace {

constexpr const char* kTexts[] = {"label",  "problem",   "verdict",  "reason", "device", "backend",
                                  "author", "submitter", "baseline", "tags",   "message"};
constexpr const char* kNumbers[] = {"job",          "page",       "speedup", "median_us", "median_noise_pct",
                                    "reference_us", "finished_ms"};
constexpr std::size_t kMessageBytesMax = 160;  // the table shows the beginning; the details have all

std::string first_line(std::string_view message) {
  return valid_utf8(message.substr(0, std::min(message.find('\n'), kMessageBytesMax)));
}

std::string tags_text(const Submission& submission) {
  std::string text;
  for (const auto& [name, value] : submission.tags) text += (text.empty() ? "" : ";") + name + "=" + value;
  return text;
}

// Six digits tell any two kernels apart that a measurement can.
std::string short_number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", value);
  return buffer;
}

}  // namespace

JobTable::JobTable() {
  for (const char* name : kTexts) texts_.push_back({.name = name, .index_of = {}, .values = {}, .indices = {}});
  for (const char* name : kNumbers) numbers_.push_back({.name = name, .numbers = {}});
}

void JobTable::put(std::size_t column, std::string value) {
  TextColumn& to = texts_[column];
  const auto [place, is_new] = to.index_of.try_emplace(std::move(value), to.values.size());
  if (is_new) to.values.push_back(&place->first);
  to.indices += (to.indices.empty() ? "" : ",") + std::to_string(place->second);
}

void JobTable::put(std::size_t column, double value, bool is_known) {
  std::string& numbers = numbers_[column].numbers;
  if (size_ > 0) numbers += ',';
  numbers += is_known && std::isfinite(value) ? short_number(value) : "null";
}

void JobTable::add(const RunRow& row, std::size_t page) {
  const Submission& submission = row.entry.submission;
  const Evidence* evidence = row.result ? evidence_of(row.result->verdict) : nullptr;
  const Measurement* measurement = row.result ? measurement_of(row.result->verdict) : nullptr;
  const Statistics times = measurement != nullptr ? measurement->submission : Statistics{};
  put(0, submission.label);
  put(1, submission.problem.name);
  put(2, row.result ? std::string(to_string(name_of(row.result->verdict))) : producer::state_text(row.job.state));
  put(3, evidence != nullptr ? evidence->reason : "");
  put(4, row.result ? row.result->device.model : "");
  put(5, std::string(to_string(submission.backend)));
  put(6, submission.author);
  put(7, submitter_behind(row.entry.submitter.empty() ? row.job.submitter : row.entry.submitter, row.run));
  put(8, std::string(to_string(submission.trials.baseline)));
  put(9, tags_text(submission));
  put(10, evidence != nullptr ? first_line(evidence->message) : "");
  numbers_[0].numbers += (size_ > 0 ? "," : "") + std::to_string(row.job.seq);
  put(1, static_cast<double>(page), true);
  const double faster = measurement != nullptr ? speedup(*measurement) : 0;
  put(2, faster, faster > 0);
  put(3, times.median_ns / 1e3, times.median_ns > 0);
  const double noise_ns = measurement != nullptr ? submission_noise_ns(*measurement) : 0;
  put(4, times.median_ns > 0 ? 100 * noise_ns / times.median_ns : 0, times.median_ns > 0 && noise_ns > 0);
  put(5, measurement != nullptr ? measurement->reference.median_ns / 1e3 : 0,
      measurement != nullptr && measurement->reference.median_ns > 0);
  std::string& finished = numbers_[6].numbers;
  if (size_ > 0) finished += ',';
  finished += row.job.finished_at_ms > 0 ? std::to_string(row.job.finished_at_ms) : "null";
  ++size_;
}

std::string JobTable::json() const {
  std::string text = "{\"size\": " + std::to_string(size_) + ", \"text\": {";
  for (const TextColumn& column : texts_) {
    text += (&column == &texts_.front() ? "\"" : ",\n\"") + column.name + "\": {\"values\": [";
    for (const std::string* value : column.values) {
      if (value != column.values.front()) text += ',';
      producer::append_json(*value, text);
    }
    text += "], \"of\": [" + column.indices + "]}";
  }
  text += "}, \"numbers\": {";
  for (const NumberColumn& column : numbers_)
    text += (&column == &numbers_.front() ? "\"" : ",\n\"") + column.name + "\": [" + column.numbers + "]";
  return text + "}}";
}

}  // namespace kq::tools
