#include "tools/kernelbench/summary.h"

#include <cstdio>

#include "tools/cli/text.h"
#include "tools/table/csv.h"

namespace kq::tools {
namespace {

std::string decimal(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// Returns a number as Python writes a float: "0.0", "0.5", "2.0".
std::string threshold(double p) {
  return producer::to_text(producer::Json{p});
}

double rate(std::uint32_t n, std::uint32_t of) {
  return of > 0 ? static_cast<double>(n) / of : 0;
}

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Returns the averages of pass@k. A k that is larger than every problem's number of samples gets "-".
std::string pass_text(const producer::Json& results) {
  std::string text;
  for (const auto& [name, value] : *results.find("averages")->object()) {
    const std::string pass = name.substr(4);  // "pass@5"
    const bool has = *results.find("metadata")->find(pass + "_count")->integer() > 0;
    text += " " + pass + " " + (has ? decimal("%.4f", *value.floating()) : "-");
  }
  return text;
}

struct ProblemColumn {
  std::string_view name;
  Cell (*get)(const KernelBenchProblem& problem, const KernelBenchBaseline* baseline);
};
constexpr ProblemColumn kProblemColumns[] = {
    {"level", [](const KernelBenchProblem& p, const KernelBenchBaseline*) -> Cell { return std::uint64_t{p.level}; }},
    {"problem_id", [](const KernelBenchProblem& p, const KernelBenchBaseline*) -> Cell { return std::uint64_t{p.id}; }},
    {"name", [](const KernelBenchProblem& p, const KernelBenchBaseline*) -> Cell { return p.file; }},
    {"samples_n",
     [](const KernelBenchProblem& p, const KernelBenchBaseline*) -> Cell { return std::uint64_t{p.sample_count}; }},
    {"compiled_n",
     [](const KernelBenchProblem& p, const KernelBenchBaseline*) -> Cell { return std::uint64_t{p.compiled_count}; }},
    {"correct_n",
     [](const KernelBenchProblem& p, const KernelBenchBaseline*) -> Cell { return std::uint64_t{p.correct_count}; }},
    {"runtime_ms", [](const KernelBenchProblem& p,
                      const KernelBenchBaseline*) { return p.mean_ms_0 > 0 ? Cell(p.mean_ms_0) : Cell(); }},
    {"speedup",
     [](const KernelBenchProblem& p, const KernelBenchBaseline* baseline) {
       const auto speedup = KernelBenchFigures::speedup_0(p, baseline);
       return speedup ? Cell(*speedup) : Cell();
     }},
};

producer::JsonArray problems_json(const KernelBenchSummary& summary, std::uint32_t level) {
  producer::JsonArray problems;
  for (const KernelBenchProblem* problem : summary.figures.problems()) {
    if (problem->level != level) continue;
    producer::JsonObject object;
    for (const ProblemColumn& column : kProblemColumns)
      object.emplace_back(column.name, to_json(column.get(*problem, summary.baseline)));
    for (const std::uint32_t k : summary.ks) {
      const bool has = problem->sample_count >= k;
      object.emplace_back(
          "pass@" + std::to_string(k),
          has ? producer::Json{pass_at_k(problem->sample_count, problem->correct_count, k)} : producer::Json{nullptr});
    }
    problems.push_back(producer::Json{std::move(object)});
  }
  return problems;
}

std::string level_text(const KernelBenchLevel& level, const std::string& passes) {
  std::string text = "level " + std::to_string(level.level) + ": " + std::to_string(level.evaluated_count) + " of " +
                     std::to_string(level.problem_count) + (level.problem_count == 1 ? " problem" : " problems") +
                     " evaluated, compiled " +
                     decimal("%.1f%%", 100 * rate(level.compiled_count, level.problem_count)) + ", correct " +
                     decimal("%.1f%%", 100 * rate(level.correct_count, level.problem_count)) +
                     ", geometric mean speedup " + decimal("%.4f", level.geometric_mean_speedup) + ", fast_p";
  for (const auto& [p, fraction] : level.fast_p) text += " " + threshold(p) + ":" + decimal("%.4g", fraction);
  return text + "," + passes + "\n";
}

}  // namespace

std::string kernelbench_table(const KernelBenchSummary& summary) {
  std::vector<std::vector<std::string>> rows;
  for (const KernelBenchProblem* problem : summary.figures.problems()) {
    const auto speedup = KernelBenchFigures::speedup_0(*problem, summary.baseline);
    const std::string n = std::to_string(problem->sample_count);
    rows.push_back({std::to_string(problem->level), std::to_string(problem->id), problem->file,
                    std::to_string(problem->compiled_count) + "/" + n, std::to_string(problem->correct_count) + "/" + n,
                    problem->mean_ms_0 > 0 ? time_text(problem->mean_ms_0 * 1e6) : "-",
                    speedup ? speedup_text(*speedup) : "-"});
  }
  std::string text = table({{"level", true},
                            {"problem", true},
                            {"name"},
                            {"compiled", true},
                            {"correct", true},
                            {"runtime", true},
                            {"speedup", true}},
                           rows);
  for (const std::uint32_t level : summary.figures.levels()) {
    const producer::Json passes = summary.figures.pass_at_k_results(level, summary.ks);
    text += level_text(summary.figures.level(level, summary.baseline, summary.whole), pass_text(passes));
  }
  return text;
}

std::string kernelbench_csv(const KernelBenchSummary& summary) {
  std::vector<Cell> cells;
  for (const ProblemColumn& column : kProblemColumns) cells.emplace_back(std::string(column.name));
  std::string text = csv_line(cells);
  for (const KernelBenchProblem* problem : summary.figures.problems()) {
    cells.clear();
    for (const ProblemColumn& column : kProblemColumns) cells.push_back(column.get(*problem, summary.baseline));
    text += csv_line(cells);
  }
  return text;
}

producer::Json kernelbench_json(const KernelBenchSummary& summary) {
  producer::JsonArray levels;
  for (const std::uint32_t number : summary.figures.levels()) {
    const KernelBenchLevel level = summary.figures.level(number, summary.baseline, summary.whole);
    producer::JsonObject fast_p;
    for (const auto& [p, fraction] : level.fast_p) fast_p.emplace_back(threshold(p), producer::Json{fraction});
    producer::Json passes = summary.figures.pass_at_k_results(number, summary.ks);
    producer::JsonObject pass_at_k{{"metadata", *passes.find("metadata")}, {"averages", *passes.find("averages")}};
    levels.push_back(producer::Json{
        producer::JsonObject{{"run_name", producer::Json{summary.run}},
                             {"level", producer::Json{std::int64_t{number}}},
                             {"hardware", producer::Json{joined(level.devices)}},
                             {"total_count", producer::Json{std::int64_t{level.problem_count}}},
                             {"total_eval", producer::Json{std::int64_t{level.evaluated_count}}},
                             {"compiled_count", producer::Json{std::int64_t{level.compiled_count}}},
                             {"correct_count", producer::Json{std::int64_t{level.correct_count}}},
                             {"compilation_rate", producer::Json{rate(level.compiled_count, level.problem_count)}},
                             {"correctness_rate", producer::Json{rate(level.correct_count, level.problem_count)}},
                             {"geo_mean_speedup", producer::Json{level.geometric_mean_speedup}},
                             {"fast_p", producer::Json{std::move(fast_p)}},
                             {"pass_at_k", producer::Json{std::move(pass_at_k)}},
                             {"problems", producer::Json{problems_json(summary, number)}}}});
  }
  return producer::Json{producer::JsonObject{{"schema", producer::Json{std::string("kq.kernelbench/1")}},
                                             {"run", producer::Json{summary.run}},
                                             {"levels", producer::Json{std::move(levels)}}}};
}

}  // namespace kq::tools
