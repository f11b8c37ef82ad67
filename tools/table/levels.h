// The levels of a dump: one row of a dump is a job, one case of the job's problem, one timed sample, or one figure of a
// profile. To add a level, add a row to the table in levels.cc.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tools/table/columns.h"

namespace kq::tools {

// A column that exists only at levels below the job. `item` is the index of a row among the rows of one job.
struct ItemColumn {
  std::string_view name;
  ColumnType type;
  std::string_view unit;
  std::string_view doc;
  Cell (*get)(const RunRow& row, std::size_t item);
};

struct Level {
  std::string_view name;
  std::string_view doc;
  std::size_t (*items)(const RunRow& row);   // number of rows that a job has at this level
  std::span<const ItemColumn> columns;       // columns of this level, which follow those of the job
  std::span<const std::string_view> of_job;  // default columns of the job; empty for all
  bool needs_samples;                        // whether rows must be read with their samples
  // Returns the job as the columns of the job show it in the row of this item; null: the same job in each row.
  RunRow (*job_of)(const RunRow& row, std::size_t item) = nullptr;
};

std::span<const Level> levels();

// Returns the number of cases that a job has: the workloads that ran, or 1.
std::size_t case_count(const RunRow& row);
// Returns the job with the outcome of one of its cases in place of its own.
RunRow case_of(const RunRow& row, std::size_t item);
// Returns the name of a case: that of its workload.
std::string case_name(const RunRow& row, std::size_t item);

// Returns null for an unknown name.
const Level* find_level(std::string_view name);

}  // namespace kq::tools
