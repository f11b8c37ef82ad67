// Builders of rows for the tests of the tools.
#pragma once

#include <string>
#include <utility>

#include "core/records.h"

namespace kq::tools {

inline RunRow queued_row(std::string label, Sequence seq = 1) {
  RunRow row;
  row.run = "r1";
  row.job.seq = row.entry.seq = seq;
  row.job.submitted_at_ms = 1'700'000'000'000;
  Submission& submission = row.entry.submission;
  submission.problem.name = label.substr(0, label.find('/'));
  submission.problem.hash = sha256(submission.problem.name);
  submission.label = std::move(label);
  submission.files = {SourceFile{"kernel.py", sha256(submission.label)}};
  return row;
}

inline RunRow finished_row(std::string label, Verdict verdict, Sequence seq = 1) {
  RunRow row = queued_row(std::move(label), seq);
  row.job.state = JobState::finished;
  row.job.attempt = 1;
  row.job.leased_at_ms = 1'700'000'001'000;
  row.job.finished_at_ms = 1'700'000'002'000;
  Result& result = row.result.emplace();
  result.verdict = std::move(verdict);
  result.device.model = "Test CPU";
  return row;
}

inline RunRow passed_row(std::string label, double median_ns, double reference_ns, Sequence seq = 1) {
  Passed passed;
  passed.measurement.method = "bracket";
  passed.measurement.submission.sample_count = passed.measurement.reference.sample_count = 20;
  passed.measurement.submission.median_ns = median_ns;
  passed.measurement.reference.median_ns = reference_ns;
  passed.measurement.submission.mean_ns = median_ns;
  passed.measurement.reference.mean_ns = reference_ns;
  passed.correctness.trials_passed = 27;
  return finished_row(std::move(label), passed, seq);
}

inline Evidence evidence(std::string reason, std::string message = "") {
  Evidence evidence;
  evidence.reason = std::move(reason);
  evidence.message = std::move(message);
  return evidence;
}

inline Evidence evidence_at(Stage stage, std::string message = "") {
  Evidence found = evidence("", std::move(message));
  found.stage = stage;
  return found;
}

inline RunRow ended_row(std::string label, VerdictName name, Evidence evidence = {}, Sequence seq = 1) {
  return finished_row(std::move(label), ended(name, std::move(evidence)), seq);
}

}  // namespace kq::tools
