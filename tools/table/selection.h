// Selects the rows and columns of a dump by --level, --columns, --where and --since. The options are checked once and
// then applied to one row after the other.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "tools/table/levels.h"

namespace kq::tools {

// The options as given on the command line.
struct SelectionOptions {
  std::string level = "job";
  std::string columns{};             // names joined by commas; empty for the default columns of the level
  std::vector<std::string> where{};  // each is "column=value", or has !=, <, <=, >, >= or ~ (contains) in place of =
  std::string since{};               // "2026-11-21T18:00Z", or "2h" for the last two hours; empty for all times
};

inline constexpr std::string_view kTagPrefix = "tag.";  // before the name of a tag in the name of a column

// A column of the job, of the level below it, or of one tag: one of the pointers is not null, or the tag is not empty.
struct SelectedColumn {
  const Column* of_job = nullptr;
  const ItemColumn* of_item = nullptr;
  std::string tag = "";  // with the prefix: "tag.model"

  std::string_view name() const { return !tag.empty() ? tag : of_job != nullptr ? of_job->name : of_item->name; }
  ColumnType type() const { return !tag.empty() ? ColumnType::text : of_job != nullptr ? of_job->type : of_item->type; }
  std::string_view unit() const { return !tag.empty() ? "" : of_job != nullptr ? of_job->unit : of_item->unit; }
  std::string_view doc() const {
    return !tag.empty() ? "value of this tag of the submission" : of_job != nullptr ? of_job->doc : of_item->doc;
  }
  Cell get(const RunRow& row, std::size_t item) const;
};

// Returns the value of a tag, whose name has the prefix; no value where the submission has no such tag.
Cell tag_cell(const RunRow& row, std::string_view tag);

class Selection {
 public:
  // Checks the options. `now_ms` is the Unix time from which an age in --since counts back.
  static Expected<Selection> make(const SelectionOptions& words, std::int64_t now_ms);

  std::span<const SelectedColumn> columns() const { return columns_; }
  bool needs_samples() const { return level_->needs_samples; }

  // Returns whether a job meets --since and the conditions on columns of the job. Conditions on columns below the job
  // are ignored.
  bool matches(const RunRow& row) const;
  // Calls `visit` with the cells of each selected row of a job at the chosen level.
  using Visit = std::function<Expected<void>(std::span<const Cell> cells)>;
  Expected<void> each(const RunRow& row, const Visit& visit) const;

 private:
  enum class Test { equal, unequal, below, at_most, above, at_least, contains };
  struct Condition {
    SelectedColumn column;
    Test test = Test::equal;
    std::string text;
    std::optional<double> number;  // value of `text`, if it is a number

    bool holds(const Cell& cell) const;
    std::partial_ordering order_of(const Cell& cell) const;
  };

  explicit Selection(const Level& level) : level_(&level) {}
  Expected<SelectedColumn> find(std::string_view name) const;
  Expected<void> choose_columns(const std::string& names);
  Expected<void> add_condition(const std::string& text);
  Expected<void> each_job_of(const RunRow& row, const Visit& visit) const;
  bool is_recent(const RunRow& row) const;

  const Level* level_;
  std::vector<SelectedColumn> columns_;
  std::vector<Condition> conditions_;
  std::int64_t since_ms_ = 0;  // Unix time; 0 for all times
};

}  // namespace kq::tools
