// Writes the runs of solutions of flashinfer-bench or SOL-ExecBench as traces that their own tools read:
//
//   OUT/traces/DEFINITION.jsonl    a line for each solution and workload
//
// A trace repeats the workload with its axes and inputs, which a run does not have; they are read from the trace set of
// --trace-set. A job that ended before any workload ran has a trace for each workload. Times are in milliseconds.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "producer/client/json.h"
#include "tools/cli/output_file.h"
#include "tools/cli/text.h"
#include "tools/exporters/exporter.h"
#include "tools/table/columns.h"
#include "tools/table/levels.h"

namespace kq::tools {
namespace {

namespace fs = std::filesystem;
using producer::Json;
using producer::JsonObject;

constexpr double kNsPerMs = 1e6;
constexpr std::size_t kWorkloadLinesMax = 1'000'000;

std::string tag_of(const RunRow& row, const std::string& name) {
  const auto found = row.entry.submission.tags.find(name);
  return found == row.entry.submission.tags.end() ? "" : found->second;
}

// Returns a word of EvaluationStatus; empty for a verdict that says nothing about the solution.
std::string status_of(const Verdict& verdict) {
  const Evidence* const evidence = evidence_of(verdict);
  switch (name_of(verdict)) {
    case VerdictName::passed:
      return "PASSED";
    case VerdictName::wrong_answer:
      return evidence->reason == "shape"   ? "INCORRECT_SHAPE"
             : evidence->reason == "dtype" ? "INCORRECT_DTYPE"
                                           : "INCORRECT_NUMERICAL";
    case VerdictName::build_failed:
    case VerdictName::load_failed:
      return "COMPILE_ERROR";
    case VerdictName::timed_out:
      return "TIMEOUT";
    case VerdictName::suspect:
    case VerdictName::rejected:
    case VerdictName::runtime_error:
    case VerdictName::crashed:
    case VerdictName::gpu_fault:
    case VerdictName::out_of_memory:
      return "RUNTIME_ERROR";
    default:
      return "";
  }
}

// Returns a number; their models take the other ones as texts.
Json number(double value) {
  if (std::isfinite(value)) return Json{value};
  return Json{std::string(std::isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity")};
}

Json errors_json(double relative, double absolute) {
  JsonObject errors;
  errors.emplace_back("max_relative_error", number(relative));
  errors.emplace_back("max_absolute_error", number(absolute));
  return Json{std::move(errors)};
}

// Returns the errors of a wrong output. Their evaluators call both infinite or NaN where a value of the output is, and
// they are NaN where no error is known.
Json errors_json(const Mismatch& mismatch) {
  if (mismatch.not_finite == 0 && mismatch.max_abs_err != 0)
    return errors_json(mismatch.max_rel_err, mismatch.max_abs_err);
  const double none = std::isinf(mismatch.worst_error) ? HUGE_VAL : std::nan("");
  return errors_json(none, none);
}

Json performance_json(const Measurement& measured) {
  JsonObject performance;
  performance.emplace_back("latency_ms", Json{measured.submission.median_ns / kNsPerMs});
  performance.emplace_back("reference_latency_ms", Json{measured.reference.median_ns / kNsPerMs});
  performance.emplace_back("speedup_factor", Json{speedup(measured)});
  return Json{std::move(performance)};
}

Json environment_json(const Result& result) {
  JsonObject libs, environment;
  for (const auto& [name, version] : {std::pair{"torch", result.software.torch},
                                      {"triton", result.software.triton},
                                      {"cuda", result.software.cuda},
                                      {"kq", result.software.kq}}) {
    if (!version.empty()) libs.emplace_back(name, Json{version});
  }
  environment.emplace_back("hardware", Json{result.device.model.empty() ? "unknown" : result.device.model});
  environment.emplace_back("libs", Json{std::move(libs)});
  return Json{std::move(environment)};
}

std::string timestamp_of(const RunRow& row) {
  const Cell time = utc_time(row.job.finished_at_ms);
  const auto* const text = std::get_if<std::string>(&time);
  return text == nullptr ? "unknown" : *text;
}

// Returns the evaluation of one workload.
Json evaluation_json(const RunRow& row, const Verdict& verdict, const std::string& status) {
  const Evidence* const evidence = evidence_of(verdict);
  JsonObject evaluation;
  evaluation.emplace_back("status", Json{status});
  evaluation.emplace_back("environment", environment_json(*row.result));
  evaluation.emplace_back("timestamp", Json{timestamp_of(row)});
  evaluation.emplace_back("log", Json{evidence == nullptr ? std::string() : valid_utf8(evidence->message)});
  if (status == "PASSED") {
    const Correctness& correctness = *correctness_of(verdict);
    evaluation.emplace_back("correctness", errors_json(correctness.max_rel_err, correctness.max_abs_err));
    evaluation.emplace_back("performance", performance_json(*measurement_of(verdict)));
  }
  if (status == "INCORRECT_NUMERICAL")
    evaluation.emplace_back("correctness", errors_json(evidence->mismatch.value_or(Mismatch{})));
  return Json{std::move(evaluation)};
}

// The workloads of one definition, by their uuid.
using Workloads = std::map<std::string, Json>;

Expected<Workloads> read_workloads(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return bad_input("cannot read " + path.string());
  Workloads workloads;
  std::string line;
  for (std::size_t number = 1; number <= kWorkloadLinesMax && std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const auto parsed = producer::parse_json(line);
    if (!parsed) return bad_input(path.string() + ":" + std::to_string(number) + ": " + parsed.error().message);
    const Json* const inside = parsed->find("workload");
    const Json& workload = inside != nullptr && inside->object() != nullptr ? *inside : *parsed;
    const Json* const uuid = workload.find("uuid");
    if (uuid != nullptr && uuid->text() != nullptr) workloads[*uuid->text()] = workload;
  }
  return workloads;
}

// Returns the file with the workloads of a definition.
Expected<fs::path> workloads_file(const fs::path& set, const std::string& definition) {
  std::error_code wrong;
  if (fs::is_regular_file(set / "workload.jsonl", wrong)) return set / "workload.jsonl";
  for (fs::recursive_directory_iterator entry(set / "workloads", wrong), end; !wrong && entry != end;
       entry.increment(wrong)) {
    if (entry->path().filename() == definition + ".jsonl") return entry->path();
  }
  return bad_input("--trace-set " + set.string() + " has no workloads of the definition " + printable(definition));
}

class FlashinferExport final : public Export {
 public:
  FlashinferExport(const ExportOptions& options, const Selection& selection)
      : folder_(options.out), set_(options.trace_set), selection_(selection) {}

  Expected<void> add(const RunRow& row) override {
    if (!selection_.matches(row)) return {};
    const std::string definition = tag_of(row, "definition"), solution = tag_of(row, "solution");
    if (definition.empty() || solution.empty()) {
      ++no_tags_count_;
      return {};
    }
    if (!row.result || status_of(row.result->verdict).empty()) {
      ++no_result_count_;
      return {};
    }
    ++row_count_;
    KQ_TRY_VALUE(const Workloads* const workloads, workloads_of(definition));
    std::map<std::string, const Verdict*> verdicts;
    for (const CaseResult& one : row.result->cases) verdicts[one.workload] = &one.verdict;
    for (const auto& [uuid, workload] : *workloads) {
      const auto found = verdicts.find(uuid);
      // Without cases the job's own verdict holds for all workloads. A job ends at the first workload that fails.
      if (!verdicts.empty() && found == verdicts.end()) continue;
      const Verdict& verdict = verdicts.empty() ? row.result->verdict : *found->second;
      const std::string status = status_of(verdict);
      if (!status.empty()) add_trace(definition, solution, workload, evaluation_json(row, verdict, status));
    }
    return {};
  }

  Expected<void> finish() override {
    if (row_count_ == 0) return {};
    std::error_code wrong;
    fs::create_directories(folder_ / "traces", wrong);
    if (wrong) return bad_input("cannot create the folder " + (folder_ / "traces").string() + ": " + wrong.message());
    for (const auto& [definition, text] : traces_) {
      std::string name = definition;
      std::ranges::replace(name, '/', '_');
      KQ_TRY_VALUE(auto file, OutputFile::open((folder_ / "traces" / (name + ".jsonl")).string()));
      KQ_TRY(file.write(text));
      KQ_TRY(file.commit());
    }
    return {};
  }

  std::uint64_t row_count() const override { return row_count_; }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    const auto note = [&](std::uint64_t n, const std::string& why) {
      if (n > 0) notes.push_back(std::to_string(n) + (n == 1 ? " row was" : " rows were") + " left out: " + why);
    };
    note(no_result_count_, "the job is not finished, or its verdict says nothing about the solution");
    note(no_tags_count_, "the job has not the tags definition and solution, which kq-submit gives to such solutions");
    return notes;
  }

 private:
  Expected<const Workloads*> workloads_of(const std::string& definition) {
    const auto [place, is_new] = workloads_.try_emplace(definition);
    if (is_new) {
      KQ_TRY_VALUE(const fs::path file, workloads_file(set_, definition));
      KQ_TRY_VALUE(place->second, read_workloads(file));
    }
    return &place->second;
  }

  void add_trace(const std::string& definition, const std::string& solution, const Json& workload, Json evaluation) {
    JsonObject trace;
    trace.emplace_back("definition", Json{definition});
    trace.emplace_back("workload", workload);
    trace.emplace_back("solution", Json{solution});
    trace.emplace_back("evaluation", std::move(evaluation));
    traces_[definition] += producer::to_text(Json{std::move(trace)}) + '\n';
  }

  const fs::path folder_, set_;
  const Selection& selection_;
  std::map<std::string, Workloads> workloads_;  // by definition
  std::map<std::string, std::string> traces_;   // lines, by definition
  std::uint64_t row_count_ = 0, no_tags_count_ = 0, no_result_count_ = 0;
};

}  // namespace

Expected<std::unique_ptr<Export>> open_flashinfer(const ExportOptions& options, const Selection& selection) {
  if (options.trace_set.empty())
    return bad_input("--format flashinfer-trace needs --trace-set DIR, the set that the solutions were submitted from");
  return std::make_unique<FlashinferExport>(options, selection);
}

}  // namespace kq::tools
