#include "tools/report/jobs/job_details.h"

#include <span>
#include <string_view>

#include "core/measurement.h"
#include "producer/client/json.h"
#include "tools/cli/text.h"
#include "tools/report/jobs/measure_again.h"
#include "tools/report/plots.h"
#include "tools/table/columns.h"
#include "tools/table/levels.h"

namespace kq::tools {
namespace {

// Returns the text as far as pages show it, and says how much is left out.
std::string cut(const std::string& text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  return text.substr(0, bytes_max) + "\n... " + std::to_string(text.size() - bytes_max) + " more bytes are left out";
}

void append_samples(std::string& text, const char* name, std::span<const std::int64_t> all) {
  text += std::string(", \"") + name + "\": [";
  const std::vector<std::int64_t> shown = thinned(all, kShownSamplesMax);
  for (std::size_t i = 0; i < shown.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(shown[i]);
  text += "], \"" + std::string(name) + "_count\": " + std::to_string(all.size());
}

void append_cases(std::string& text, const RunRow& row) {
  text += ", \"cases\": [";
  for (std::size_t i = 0; row.result && i < case_count(row); ++i) {
    const RunRow one = case_of(row, i);
    text += i == 0 ? "{\"name\": " : ", {\"name\": ";
    producer::append_json(case_name(row, i), text);
    text += ", \"verdict\": ";
    producer::append_json(printable(outcome_text(one)), text);
    append_samples(text, "submission", one.result->samples.submission_ns);
    append_samples(text, "reference", one.result->samples.reference_ns);
    text += '}';
  }
  text += ']';
}

void append_profile(std::string& text, const RunRow& row) {
  if (!row.result || !row.result->profile) return;
  text += ", \"profile\": [";
  for (const KernelProfile& kernel : row.result->profile->kernels) {
    text += &kernel == &row.result->profile->kernels.front() ? "{\"kernel\": " : ", {\"kernel\": ";
    producer::append_json(kernel.kernel, text);
    text += ", \"metrics\": {";
    for (const ProfileMetric& metric : kernel.metrics) {
      if (&metric != &kernel.metrics.front()) text += ", ";
      producer::append_json(metric.name, text);
      text += ": ";
      append_json(Cell(metric.value), text);
    }
    text += "}}";
  }
  text += ']';
}

}  // namespace

Expected<void> JobGroup::add_file(const RunRow& row, const std::string& name, const Hash& hash, const char* role,
                                  const ReadSource& read) {
  if (!files_.contains(hash)) {
    KQ_TRY_VALUE(const auto content, read(row, hash));
    if (content) files_.emplace(hash, valid_utf8(cut(*content, kShownSourceBytesMax)));
  }
  jobs_ += jobs_.back() == '[' ? "[" : ", [";
  producer::append_json(name, jobs_);
  jobs_ += ", \"" + to_hex(hash) + "\", \"" + role + "\"]";
  return {};
}

Expected<void> JobGroup::add(const RunRow& row, const ReadSource& read) {
  const Submission& submission = row.entry.submission;
  jobs_ += size_ == 0 ? "{\"values\": [" : ",\n{\"values\": [";
  bool is_first = true;
  for (const Column& column : columns()) {
    if (!is_first) jobs_ += ',';
    is_first = false;
    append_json(column.get(row), jobs_);
  }
  jobs_ += "], \"files\": [";
  for (const SourceFile& file : submission.files) KQ_TRY(add_file(row, file.name, file.hash, "submission", read));
  KQ_TRY(add_file(row, submission.problem.file.empty() ? submission.problem.name : submission.problem.file,
                  submission.problem.hash, "problem", read));
  jobs_ += "], \"log\": ";
  producer::append_json(row.result ? cut(row.result->log, kShownLogBytesMax) : "", jobs_);
  jobs_ += ", \"again\": ";
  producer::append_json(measure_again_command(submission, row.run), jobs_);
  append_cases(jobs_, row);
  append_profile(jobs_, row);
  jobs_ += '}';
  ++size_;
  return {};
}

std::string JobGroup::json() const {
  std::string text = "{\"keys\": [";
  for (const Column& column : columns()) {
    if (&column != &columns().front()) text += ", ";
    producer::append_json(column.name, text);
  }
  text += "], \"units\": [";
  for (const Column& column : columns()) {
    if (&column != &columns().front()) text += ", ";
    producer::append_json(column.unit, text);
  }
  text += "], \"files\": {";
  for (const auto& [hash, content] : files_) {
    text += (hash == files_.begin()->first ? "\"" : ",\n\"") + to_hex(hash) + "\": ";
    producer::append_json(content, text);
  }
  return text + "},\n\"jobs\": [" + jobs_ + "]}";
}

}  // namespace kq::tools
