#include "tools/problem/report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>

#include "tools/cli/text.h"

namespace kq::tools {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

bool is_right(const Verdict& verdict) {
  const VerdictName name = name_of(verdict);
  return name == VerdictName::passed || name == VerdictName::suspect;
}

// Returns the outcome and its message: "timed_out: the run took longer than 60 s".
std::string told(const RunRow& row) {
  const Evidence* evidence = row.result ? evidence_of(row.result->verdict) : nullptr;
  return outcome_text(row) + (evidence == nullptr || evidence->message.empty() ? "" : ": " + evidence->message);
}

// Gathers the findings of one problem.
class Reporter {
 public:
  Reporter(const std::string& file, const std::map<Probe, RunRow>& rows) : rows_(rows) { report_.file = file; }

  ProblemReport report() {
    if (!look_at_reference()) return std::move(report_);
    look_at(Probe::zeros, "returns zeros");
    look_at(Probe::constant, "returns its first outputs again and again");
    look_at(Probe::first_input, "returns its first input");
    look_at_state();
    look_at_truth();
    look_at_sizes();
    look_at_times();
    return std::move(report_);
  }

 private:
  void add(FindingLevel level, const std::string& name, const std::string& message) {
    report_.findings.push_back({level, name, message});
  }

  const RunRow* row(Probe probe) const {
    const auto found = rows_.find(probe);
    return found == rows_.end() ? nullptr : &found->second;
  }

  // Returns false where nothing else can be said about the problem.
  bool look_at_reference() {
    const RunRow* reference = row(Probe::reference);
    if (reference == nullptr || !reference->result) {
      add(FindingLevel::unknown, "reference",
          "the reference was not run: " + (reference == nullptr ? "there is no job" : told(*reference)));
      return false;
    }
    report_.device = reference->result->device.model;
    if (const RunRow* invalid = invalid_row()) {
      look_at_invalid(*invalid);
      return false;
    }
    const Verdict& verdict = reference->result->verdict;
    const Evidence* evidence = evidence_of(verdict);
    if (const auto fault = row_of(name_of(verdict)).fault; fault == Fault::nobody || fault == Fault::ours) {
      add(FindingLevel::unknown, "reference", "the reference could not be run here: " + told(*reference));
      return false;
    }
    if (!is_right(verdict)) {
      add(FindingLevel::wrong, "reference", "the reference fails against itself: " + told(*reference));
      return false;
    }
    add(FindingLevel::ok, "reference", "the reference passes against itself");
    if (name_of(verdict) == VerdictName::passed) {
      add(FindingLevel::ok, "inputs", "the inputs vary from call to call, and so do the outputs");
    } else if (evidence->reason == "inputs") {
      add(FindingLevel::wrong, "inputs", "the inputs never vary, so a kernel that returns outputs it has kept passes");
    } else {
      add(FindingLevel::warning, "reference", "the reference is " + told(*reference));
    }
    return true;
  }

  // Returns the row of a probe that showed the problem to be invalid: a reference that is not deterministic may agree
  // with itself in one job by chance. A constant output shows when an output is right only.
  const RunRow* invalid_row() const {
    for (const auto& [probe, row] : rows_) {
      if (row.result && name_of(row.result->verdict) == VerdictName::problem_invalid) return &row;
    }
    return nullptr;
  }

  void look_at_invalid(const RunRow& invalid) {
    const Evidence& evidence = *evidence_of(invalid.result->verdict);
    if (evidence.reason == "constant") {
      add(FindingLevel::wrong, "outputs", "the outputs never vary, so a kernel that returns a constant would pass");
    } else if (evidence.reason == "nondeterministic" || evidence.reason == "state") {
      add(FindingLevel::wrong, "reference",
          evidence.message + ", so it is not deterministic or keeps state between calls");
    } else {
      add(FindingLevel::wrong, "reference", "the problem is invalid: " + evidence.message);
    }
  }

  // Adds what a probe that computes nothing says. `what` completes "a kernel that".
  void look_at(Probe probe, const std::string& what) {
    const std::string name(to_string(probe));
    const RunRow* found = row(probe);
    if (found == nullptr || !found->result) {
      return add(FindingLevel::warning, name,
                 "a kernel that " + what + " was not tried: " + (found == nullptr ? "no job" : told(*found)));
    }
    const Result& result = *found->result;
    if (is_right(result.verdict)) return add_passing(probe, what, result);
    const Evidence* evidence = evidence_of(result.verdict);
    const VerdictName verdict = name_of(result.verdict);
    if (verdict == VerdictName::wrong_answer) {
      std::vector<std::string> passing;
      for (const CaseResult& one : result.cases) {
        if (is_right(one.verdict)) passing.push_back(one.workload);
      }
      if (passing.empty()) return add(FindingLevel::ok, name, "a kernel that " + what + " is wrong");
      return add(FindingLevel::warning, name,
                 "a kernel that " + what + " is wrong, but right in workload " + joined(passing));
    }
    if (probe == Probe::first_input && evidence->message.find(kOtherForm) != std::string::npos)
      return add(FindingLevel::ok, name, "the first input has another form than the outputs");
    add(FindingLevel::warning, name, "a kernel that " + what + " could not be tried: " + told(*found));
  }

  void add_passing(Probe probe, const std::string& what, const Result& result) {
    const std::string name(to_string(probe));
    const std::string sentence = "a kernel that " + what + " passes";
    if (probe == Probe::zeros)
      return add(FindingLevel::wrong, name, sentence + ": the tolerance is too wide for outputs this small");
    if (probe == Probe::constant)
      return add(FindingLevel::wrong, name, sentence + ": the outputs vary too little from call to call");
    if (const Correctness* correctness = correctness_of(result.verdict); correctness->max_abs_err > 0) {
      return add(FindingLevel::warning, name,
                 sentence + ", although its outputs differ by up to " + number_text(correctness->max_abs_err));
    }
    add(FindingLevel::ok, name, sentence + ", because the outputs equal the input");
  }

  void look_at_state() {
    const RunRow* found = row(Probe::stateless);
    if (found != nullptr && found->result && is_right(found->result->verdict))
      return add(FindingLevel::ok, "state", "the reference keeps no state between calls");
    if (found != nullptr && found->result && name_of(found->result->verdict) == VerdictName::wrong_answer) {
      return add(FindingLevel::wrong, "state",
                 "the reference keeps state between calls, so a kernel without that state is wrong: " +
                     evidence_of(found->result->verdict)->message);
    }
    add(FindingLevel::warning, "state",
        "a copy of the reference for every call could not be tried: " +
            (found == nullptr ? "there is no job" : told(*found)));
  }

  void look_at_truth() {
    for (const auto& [probe, row] : rows_) {
      const Evidence* evidence = row.result ? evidence_of(row.result->verdict) : nullptr;
      if (evidence == nullptr || !evidence->truth) continue;
      const TruthErrors& truth = *evidence->truth;
      if (truth.kind.starts_with("none")) {
        return add(FindingLevel::ok, "truth", "the error of the reference is unknown: there is " + truth.kind);
      }
      if (truth.reference_max == 0)
        return add(FindingLevel::ok, "truth", "the reference agrees exactly with " + truth.kind);
      return add(FindingLevel::ok, "truth",
                 "the reference has an error of at most " + number_text(truth.reference_max) + ", relative RMS " +
                     number_text(truth.reference_rms) + ", against " + truth.kind);
    }
  }

  void look_at_sizes() {
    const RunRow* printing = row(Probe::stateless);
    if (printing == nullptr || !printing->result) return;
    std::array<std::uint64_t, 3> largest{};
    bool is_known = false;
    std::istringstream lines(printing->result->log);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(kBytesWord)) continue;
      std::istringstream numbers(line.substr(kBytesWord.size()));
      std::array<std::uint64_t, 3> bytes{};
      if (!(numbers >> bytes[0] >> bytes[1] >> bytes[2])) continue;
      for (std::size_t i = 0; i < bytes.size(); ++i) largest[i] = std::max(largest[i], bytes[i]);
      is_known = true;
    }
    if (!is_known) return;
    add(FindingLevel::ok, "sizes",
        "the inputs have " + bytes_text(largest[0]) + ", the outputs " + bytes_text(largest[1]) +
            ", parameters and buffers " + bytes_text(largest[2]) +
            (printing->result->cases.size() > 1 ? ", each in its largest workload" : ""));
  }

  void look_at_times() {
    const Result& result = *row(Probe::reference)->result;
    for (const CaseResult& one : result.cases) add_time(one.workload, one.verdict);
    if (result.cases.empty()) add_time(std::string(kDefaultWorkload), result.verdict);
  }

  void add_time(const std::string& workload, const Verdict& verdict) {
    const Measurement* measured = measurement_of(verdict);
    if (measured == nullptr || measured->submission.median_ns <= 0) return;
    const Statistics& samples = measured->submission;
    const double speedup = kq::speedup(*measured);
    report_.times.push_back({workload, speedup, samples});
    const bool is_steady = kOwnSpeedupMin <= speedup && speedup <= kOwnSpeedupMax;
    const bool has_p95 = samples.p95_ns > 0;
    // A CPU that has other work to do rarely measures well, which is no fault of the problem.
    const bool is_on_gpu = row(Probe::reference)->result->device.kind == DeviceKind::cuda;
    add(is_steady || !is_on_gpu ? FindingLevel::ok : FindingLevel::warning, "time",
        "workload " + workload + " takes " + time_text(samples.median_ns) + ", " +
            (has_p95 ? "95 % of the samples from " : "the samples from ") + time_text(samples.min_ns) + " to " +
            time_text(has_p95 ? samples.p95_ns : samples.max_ns) + "; the speedup of the reference against itself is " +
            speedup_text(speedup) + (is_steady ? "" : ", and other speedups are as uncertain here"));
  }

  const std::map<Probe, RunRow>& rows_;
  ProblemReport report_;
};

}  // namespace

FindingLevel ProblemReport::level() const {
  FindingLevel highest = FindingLevel::ok;
  for (const ProblemFinding& finding : findings) highest = std::max(highest, finding.level);
  return highest;
}

ProblemReport report_of_mistake(const ProbedProblem& problem) {
  return {.file = problem.file, .findings = {{FindingLevel::wrong, "file", problem.mistake}}};
}

ProblemReport report_of_rows(const std::string& file, const std::map<Probe, RunRow>& rows) {
  return Reporter(file, rows).report();
}

std::string problem_text(const ProblemReport& report) {
  constexpr std::size_t kLevelWidth = 9;
  std::string text = printable(report.file) + ": " + std::string(to_string(report.level())) +
                     (report.device.empty() ? "" : " on " + printable(report.device)) + '\n';
  for (const ProblemFinding& finding : report.findings) {
    const std::string level(to_string(finding.level));
    text += "  " + level + std::string(kLevelWidth - level.size(), ' ') + printable(finding.message) + '\n';
  }
  return text;
}

producer::Json problem_json(const ProblemReport& report, const std::string& run) {
  producer::JsonArray findings;
  for (const ProblemFinding& finding : report.findings) {
    findings.push_back({producer::JsonObject{{"level", {std::string(to_string(finding.level))}},
                                             {"name", {finding.name}},
                                             {"message", {valid_utf8(finding.message)}}}});
  }
  producer::JsonArray workloads;
  for (const WorkloadTime& time : report.times) {
    workloads.push_back({producer::JsonObject{{"workload", {valid_utf8(time.name)}},
                                              {"median_us", {time.samples.median_ns / 1e3}},
                                              {"min_us", {time.samples.min_ns / 1e3}},
                                              {"p95_us", {time.samples.p95_ns / 1e3}},
                                              {"max_us", {time.samples.max_ns / 1e3}},
                                              {"speedup", {time.speedup}}}});
  }
  return {producer::JsonObject{{"schema", {"kq.problem/1"}},
                               {"file", {valid_utf8(report.file)}},
                               {"level", {std::string(to_string(report.level()))}},
                               {"run", {run}},
                               {"device", {valid_utf8(report.device)}},
                               {"findings", {std::move(findings)}},
                               {"workloads", {std::move(workloads)}}}};
}

ExitCode exit_code_of(const std::vector<ProblemReport>& reports) {
  FindingLevel highest = FindingLevel::ok;
  for (const ProblemReport& report : reports) highest = std::max(highest, report.level());
  if (highest == FindingLevel::wrong) return ExitCode::job_failed;
  return highest == FindingLevel::unknown ? ExitCode::our_fault : ExitCode::ok;
}

}  // namespace kq::tools
