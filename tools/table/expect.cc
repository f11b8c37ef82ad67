#include "tools/table/expect.h"

#include <fstream>
#include <sstream>

#include "tools/cli/text.h"
#include "tools/table/csv.h"

namespace kq::tools {
namespace {

const std::vector<std::string> kHeader{"job", "device", "verdict", "reason"};

std::string text_of(const Expectation& expectation) {
  const std::string verdict(to_string(expectation.verdict));
  return expectation.reason.empty() ? verdict : verdict + " (" + printable(expectation.reason) + ")";
}

bool is_met(const Expectation& expectation, const RunRow& row) {
  if (!row.result || name_of(row.result->verdict) != expectation.verdict) return false;
  const Evidence* evidence = evidence_of(row.result->verdict);
  return expectation.reason.empty() || (evidence != nullptr && evidence->reason == expectation.reason);
}

}  // namespace

Expected<Expectations> Expectations::parse(std::string_view text, const std::string& name) {
  const Expected<std::vector<CsvLine>> lines = parse_csv(text);
  if (!lines) return bad_input(name + ": " + lines.error().message);
  if (lines->empty() || lines->front().fields != kHeader)
    return bad_input(name + ": the first line must be job,device,verdict,reason");
  Expectations expectations;
  for (std::size_t i = 1; i < lines->size(); ++i) {
    const std::vector<std::string>& fields = (*lines)[i].fields;
    if (fields == std::vector<std::string>{""}) continue;  // an empty line
    const std::string place = name + ":" + std::to_string((*lines)[i].number) + ": ";
    if (fields.size() != kHeader.size())
      return bad_input(place + "4 fields are needed, got " + std::to_string(fields.size()));
    const auto device = parse_enum<DeviceKind>(fields[1]);
    if (!device)
      return bad_input(place + "device '" + printable(fields[1]) + "'; known are " + known_names<DeviceKind>());
    const auto verdict = parse_enum<VerdictName>(fields[2]);
    if (!verdict)
      return bad_input(place + "verdict '" + printable(fields[2]) + "'; known are " + known_names<VerdictName>());
    const bool is_new =
        expectations.rows_.emplace(std::pair(fields[0], *device), Expectation{*verdict, fields[3]}).second;
    if (!is_new) return bad_input(place + "a second line for " + printable(fields[0]) + " " + fields[1]);
    expectations.seen_[fields[0]] = false;
  }
  return expectations;
}

Expected<Expectations> Expectations::read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    return bad_input("cannot read " + path + "; a CSV file with the header job,device,verdict,reason is needed");
  return parse(text.str(), path);
}

std::optional<std::string> Expectations::disagreement(const RunRow& row) {
  const std::string& job = row.entry.submission.label;
  if (const auto seen = seen_.find(job); seen != seen_.end()) seen->second = true;
  const DeviceKind device = row.result ? row.result->device.kind : DeviceKind::cpu;
  const auto expectation = rows_.find({job, device});
  if (expectation != rows_.end() && is_met(expectation->second, row)) return std::nullopt;
  return printable(job) + " " + std::string(to_string(device)) + ": expected " +
         (expectation == rows_.end() ? "nothing, because no line names this job and device"
                                     : text_of(expectation->second)) +
         ", got " + printable(outcome_text(row));
}

std::vector<std::string> Expectations::missing() const {
  std::vector<std::string> sentences;
  for (const auto& [key, expectation] : rows_) {
    if (seen_.at(key.first)) continue;
    sentences.push_back(printable(key.first) + " " + std::string(to_string(key.second)) + ": expected " +
                        text_of(expectation) + ", got nothing, because there is no such job");
  }
  return sentences;
}

}  // namespace kq::tools
