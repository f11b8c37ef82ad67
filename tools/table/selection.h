// Which rows of a run are dumped, and which of their columns: --level, --columns, --where and --since, judged once and
// then applied to one row after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tools/table/levels.h"

namespace kq::tools {

// As they stand on the command line.
struct SelectionOptions {
  std::string level = "job";
  std::string columns{};             // names with commas between them; empty: those of the level
  std::vector<std::string> where{};  // each "column=value", or with !=, <, <=, >, >= or ~ (contains)
  std::string since{};               // "2026-11-21T18:00Z", or "2h" for the last two hours
};

// A column of the job, or of the level below it.
struct SelectedColumn {
  const Column* of_job = nullptr;
  const ItemColumn* of_item = nullptr;

  std::string_view name() const { return of_job != nullptr ? of_job->name : of_item->name; }
  ColumnType type() const { return of_job != nullptr ? of_job->type : of_item->type; }
  std::string_view unit() const { return of_job != nullptr ? of_job->unit : of_item->unit; }
  std::string_view doc() const { return of_job != nullptr ? of_job->doc : of_item->doc; }
  Cell get(const RunRow& row, std::size_t item) const {
    return of_job != nullptr ? of_job->get(row) : of_item->get(row, item);
  }
};

class Selection {
 public:
  // `now_ms` is Unix time: what --since counts back from.
  static Expected<Selection> make(const SelectionOptions& words, std::int64_t now_ms);

  std::span<const SelectedColumn> columns() const { return columns_; }
  bool needs_samples() const { return level_->needs_samples; }

  // Whether a job is dumped at all, for formats that have no columns: conditions on what lies below a job do not count.
  bool matches(const RunRow& row) const;
  // Calls `visit` with the cells of each wanted row that the level makes of a job.
  using Visit = std::function<Expected<void>(std::span<const Cell> cells)>;
  Expected<void> each(const RunRow& row, const Visit& visit) const;

 private:
  enum class Test { equal, unequal, below, at_most, above, at_least, contains };
  struct Condition {
    SelectedColumn column;
    Test test = Test::equal;
    std::string text;
    std::optional<double> number;  // of the text, where it is one

    bool holds(const Cell& cell) const;
  };

  explicit Selection(const Level& level) : level_(&level) {}
  Expected<SelectedColumn> find(std::string_view name) const;
  Expected<void> choose_columns(const std::string& names);
  Expected<void> add_condition(const std::string& text);
  bool is_recent(const RunRow& row) const;

  const Level* level_;
  std::vector<SelectedColumn> columns_;
  std::vector<Condition> conditions_;
  std::int64_t since_ms_ = 0;  // Unix time; 0: from the start
};

}  // namespace kq::tools
