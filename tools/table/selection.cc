#include "tools/table/selection.h"

#include <algorithm>
#include <cmath>

#include "producer/client/when.h"
#include "sys/nearest.h"
#include "tools/cli/text.h"
#include "tools/table/csv.h"

namespace kq::tools {
namespace {

constexpr double kExactMax = 1ull << 53;  // a double holds all integers up to this one exactly

std::string text_in(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  return text != nullptr ? *text : csv_field(cell);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// Returns the name of the level that has this column of its own, or an empty text.
std::string_view level_with(std::string_view column) {
  for (const Level& level : levels()) {
    if (std::ranges::find(level.columns, column, &ItemColumn::name) != level.columns.end()) return level.name;
  }
  return "";
}

// Returns an error text when a word is not a value of the enumeration E. An empty word is valid: it means "no value".
template <NamedEnum E>
std::optional<std::string> validate_enum_value(std::string_view column, const std::string& word) {
  if (word.empty() || parse_enum<E>(word)) return std::nullopt;
  return "there is no " + std::string(column) + " '" + printable(word) + "'; known are " + known_names<E>();
}
// Returns an error text when a column has a fixed set of values and `word` is not one of them.
std::optional<std::string> validate_enum_value(std::string_view column, const std::string& word) {
  if (column == "verdict") return validate_enum_value<VerdictName>(column, word);
  if (column == "fault") return validate_enum_value<Fault>(column, word);
  if (column == "state") return validate_enum_value<JobState>(column, word);
  return std::nullopt;
}

// Parses an age such as "2h", which counts back from `now_ms`, or a point in time. Returns Unix time in milliseconds.
Expected<std::int64_t> parse_since(const std::string& text, std::int64_t now_ms) {
  const bool is_age = !text.empty() && text.find_first_not_of("0123456789.") == text.size() - 1;
  const auto when = producer::parse_when(is_age ? "+" + text : text, now_ms);
  if (!when)
    return bad_input("--since must be like 2h (the last two hours; s, m, h, d) or 2026-11-21T18:00Z, got '" +
                     printable(text) + "'");
  return is_age ? 2 * now_ms - *when : *when;
}

}  // namespace

Expected<Selection> Selection::make(const SelectionOptions& words, std::int64_t now_ms) {
  const Level* level = find_level(words.level);
  if (level == nullptr) {
    std::string known;
    for (const Level& one : levels()) known += (known.empty() ? "" : ", ") + std::string(one.name);
    return bad_input("--level must be one of " + known + ", got '" + printable(words.level) + "'");
  }
  Selection selection(*level);
  KQ_TRY(selection.choose_columns(words.columns));
  for (const std::string& condition : words.where) {
    KQ_TRY(selection.add_condition(condition));
  }
  if (!words.since.empty()) {
    KQ_TRY_VALUE(const auto since_ms, parse_since(words.since, now_ms));
    selection.since_ms_ = since_ms;
  }
  return selection;
}

Cell tag_cell(const RunRow& row, std::string_view tag) {
  const auto& tags = row.entry.submission.tags;
  const auto found = tags.find(std::string(tag.substr(kTagPrefix.size())));
  return found == tags.end() || found->second.empty() ? Cell() : Cell(found->second);
}

Cell SelectedColumn::get(const RunRow& row, std::size_t item) const {
  if (!tag.empty()) return tag_cell(row, tag);
  return of_job != nullptr ? of_job->get(row) : of_item->get(row, item);
}

Expected<SelectedColumn> Selection::find(std::string_view name) const {
  if (name.starts_with(kTagPrefix) && name.size() > kTagPrefix.size()) return SelectedColumn{.tag = std::string(name)};
  std::vector<std::string> known;
  for (const Column& column : kq::tools::columns()) {
    if (column.name == name) return SelectedColumn{.of_job = &column};
    known.emplace_back(column.name);
  }
  for (const ItemColumn& column : level_->columns) {
    if (column.name == name) return SelectedColumn{.of_item = &column};
    known.emplace_back(column.name);
  }
  if (const std::string_view level = level_with(name); !level.empty()) {
    return bad_input("'" + std::string(name) + "' is a column of --level " + std::string(level) + ", not of --level " +
                     std::string(level_->name));
  }
  const auto meant = sys::nearest(name, known);
  return bad_input("there is no column '" + printable(name) + "'" + (meant ? ", did you mean " + *meant + "?" : "") +
                   "; kq-dump --schema --level " + std::string(level_->name) +
                   " lists them, and tag.NAME is the value of a tag");
}

Expected<void> Selection::choose_columns(const std::string& names) {
  if (names.empty()) {
    for (const Column& column : kq::tools::columns()) {
      const auto& shown = level_->of_job;
      if (shown.empty() || std::find(shown.begin(), shown.end(), column.name) != shown.end())
        columns_.push_back({.of_job = &column});
    }
    for (const ItemColumn& column : level_->columns) columns_.push_back({.of_item = &column});
    return {};
  }
  for (std::size_t start = 0; start <= names.size();) {
    const std::size_t end = std::min(names.find(',', start), names.size());
    const auto column = find(trimmed(std::string_view(names).substr(start, end - start)));
    if (!column) return bad_input("--columns: " + column.error().message);
    for (const SelectedColumn& chosen : columns_) {
      if (chosen.name() == column->name()) return bad_input("--columns names " + std::string(chosen.name()) + " twice");
    }
    columns_.push_back(*column);
    start = end + 1;
  }
  return {};
}

Expected<void> Selection::add_condition(const std::string& text) {
  // Longer operators come first, because "<" is a prefix of "<=".
  constexpr std::pair<std::string_view, Test> signs[] = {
      {"!=", Test::unequal}, {"<=", Test::at_most}, {">=", Test::at_least}, {"<", Test::below},
      {">", Test::above},    {"~", Test::contains}, {"=", Test::equal}};
  const std::size_t name_bytes = std::min(text.find_first_of("!<>=~"), text.size());
  const std::string name(trimmed(std::string_view(text).substr(0, name_bytes)));
  for (const auto& [sign, test] : signs) {
    if (!std::string_view(text).substr(name_bytes).starts_with(sign)) continue;
    const auto column = find(name);
    if (!column) return bad_input("--where: " + column.error().message);
    const std::string_view value = trimmed(std::string_view(text).substr(name_bytes + sign.size()));
    Condition condition{.column = *column, .test = test, .text = std::string(value), .number = {}};
    condition.number = number_in(condition.text);
    const ColumnType type = column->type();
    const bool needs_number = (type == ColumnType::integer || type == ColumnType::number) && test != Test::contains &&
                              !condition.text.empty();
    if (needs_number && !condition.number)
      return bad_input("--where: " + name + " is a number, got '" + printable(condition.text) + "'");
    if (type == ColumnType::boolean && condition.text != "true" && condition.text != "false" &&
        !condition.text.empty()) {
      return bad_input("--where: " + name + " is true or false, got '" + printable(condition.text) + "'");
    }
    if (test == Test::equal || test == Test::unequal) {
      if (const auto wrong = validate_enum_value(column->name(), condition.text))
        return bad_input("--where: " + *wrong);
    }
    conditions_.push_back(std::move(condition));
    return {};
  }
  return bad_input("--where must be like verdict=passed or speedup>=2 (=, !=, <, <=, >, >=, ~ for contains), got '" +
                   printable(text) + "'");
}

// Compares numbers as numbers, and other values as texts. The value of a tag is a number where its text is one.
std::partial_ordering Selection::Condition::order_of(const Cell& cell) const {
  const auto* integer = std::get_if<std::uint64_t>(&cell);
  const auto* real = std::get_if<double>(&cell);
  if (number && integer != nullptr) return static_cast<double>(*integer) <=> *number;
  if (number && real != nullptr) return *real <=> *number;
  const std::string value = text_in(cell);
  const auto tagged = number && !column.tag.empty() ? number_in(value) : std::nullopt;
  if (!tagged) return value <=> text;
  const auto order = *tagged <=> *number;
  // Long integers, such as seeds, may differ by less than a double holds.
  return order == 0 && std::abs(*number) > kExactMax ? std::partial_ordering(value <=> text) : order;
}

bool Selection::Condition::holds(const Cell& cell) const {
  if (cell.index() == 0)
    return test == Test::unequal ? !text.empty() : test == Test::equal && text.empty();  // no value
  if (test == Test::contains) return text_in(cell).find(text) != std::string::npos;
  const std::partial_ordering order = order_of(cell);
  switch (test) {
    case Test::equal:
      return order == 0;
    case Test::unequal:
      return order != 0;
    case Test::below:
      return order < 0;
    case Test::at_most:
      return order <= 0;
    case Test::above:
      return order > 0;
    case Test::at_least:
      return order >= 0;
    case Test::contains:
      break;
  }
  return false;
}

// Compares --since with the latest event of the job.
bool Selection::is_recent(const RunRow& row) const {
  return std::max({row.job.submitted_at_ms, row.job.leased_at_ms, row.job.finished_at_ms}) >= since_ms_;
}

bool Selection::matches(const RunRow& row) const {
  if (!is_recent(row)) return false;
  for (const Condition& condition : conditions_) {
    if (condition.column.of_item == nullptr && !condition.holds(condition.column.get(row, 0))) return false;
  }
  return true;
}

// Visits the items of a level whose columns of the job differ from row to row, as those of a case do.
Expected<void> Selection::each_job_of(const RunRow& row, const Visit& visit) const {
  if (!is_recent(row)) return {};
  std::vector<Cell> cells(columns_.size());
  const std::size_t items = level_->items(row);
  for (std::size_t item = 0; item < items; ++item) {
    const RunRow shown = level_->job_of(row, item);
    const auto get = [&](const SelectedColumn& column) {
      return column.get(column.of_item == nullptr ? shown : row, item);
    };
    if (!std::ranges::all_of(conditions_, [&](const Condition& one) { return one.holds(get(one.column)); })) continue;
    std::ranges::transform(columns_, cells.begin(), get);
    KQ_TRY(visit(cells));
  }
  return {};
}

Expected<void> Selection::each(const RunRow& row, const Visit& visit) const {
  if (level_->job_of != nullptr) return each_job_of(row, visit);
  if (!matches(row)) return {};
  std::vector<Cell> cells(columns_.size());
  const std::size_t items = level_->items(row);
  bool is_first = true;
  for (std::size_t item = 0; item < items; ++item) {
    const bool wanted = std::all_of(conditions_.begin(), conditions_.end(), [&](const Condition& condition) {
      return condition.column.of_item == nullptr || condition.holds(condition.column.get(row, item));
    });
    if (!wanted) continue;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (is_first || columns_[i].of_item != nullptr) cells[i] = columns_[i].get(row, item);
    }
    is_first = false;
    if (const auto visited = visit(cells); !visited) return visited;
  }
  return {};
}

}  // namespace kq::tools
