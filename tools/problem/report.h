// What the probes of kq problem check say about a problem.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/records.h"
#include "producer/client/json.h"
#include "tools/problem/probes.h"

namespace kq::tools {

// The levels in the order of their weight. `unknown`: the reference could not be looked at here.
enum class FindingLevel { ok, warning, unknown, wrong };
constexpr std::array<std::string_view, 4> enum_names(FindingLevel) {
  return {"ok", "warning", "unknown", "wrong"};
}

struct ProblemFinding {
  FindingLevel level = FindingLevel::ok;
  std::string name;     // what was looked at: "reference", "inputs", "outputs", "zeros", "truth", "sizes", "time", ...
  std::string message;  // one sentence
};

// The reference against itself in one workload.
struct WorkloadTime {
  std::string name;
  double speedup = 0;  // 1 where nothing disturbs the measurement
  Statistics samples;
};

// A speedup of the reference against itself outside of these is a warning on a GPU.
inline constexpr double kOwnSpeedupMin = 0.8;
inline constexpr double kOwnSpeedupMax = 1.25;

struct ProblemReport {
  std::string file;
  std::string device{};  // model of the device; empty where nothing ran
  std::vector<ProblemFinding> findings{};
  std::vector<WorkloadTime> times{};

  FindingLevel level() const;  // the highest of the findings
};

// Returns the report on a file that is no problem.
ProblemReport report_of_mistake(const ProbedProblem& problem);
// Returns the report on a problem from the rows of its probes.
ProblemReport report_of_rows(const std::string& file, const std::map<Probe, RunRow>& rows);

// Returns a line for the file and an indented line for each finding.
std::string problem_text(const ProblemReport& report);
producer::Json problem_json(const ProblemReport& report, const std::string& run);

// Returns the exit code for all reports: a wrong problem is job_failed, an unknown one our_fault.
ExitCode exit_code_of(const std::vector<ProblemReport>& reports);

}  // namespace kq::tools
