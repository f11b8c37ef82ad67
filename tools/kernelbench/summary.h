// The output of kq-leaderboard --kernelbench: KernelBench's figures of a run, per level and per problem.
#pragma once

#include <string>
#include <vector>

#include "tools/kernelbench/figures.h"

namespace kq::tools {

struct KernelBenchSummary {
  std::string run;
  const KernelBenchFigures& figures;
  const KernelBenchBaseline* baseline = nullptr;  // null for the reference times measured in the run
  bool whole = false;                             // as in KernelBenchFigures::level()
  std::vector<std::uint32_t> ks = {1};
};

std::string kernelbench_table(const KernelBenchSummary& summary);
std::string kernelbench_csv(const KernelBenchSummary& summary);  // a line per problem

// Returns {schema, run, levels: [...]}. A level has the keys that KernelBench's benchmark_eval_analysis.py writes, and
// the problems of the level.
producer::Json kernelbench_json(const KernelBenchSummary& summary);

}  // namespace kq::tools
