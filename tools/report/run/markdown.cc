#include "tools/report/run/markdown.h"

#include <algorithm>
#include <cctype>

#include "producer/client/sentences.h"
#include "tools/cli/text.h"
#include "tools/report/run/summary_html.h"
#include "tools/views/board_formats.h"

namespace kq::tools {
namespace {

constexpr std::size_t kMessageBytesMax = 200;

std::string line(std::initializer_list<std::string> cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += " " + cell + " |";
  return text + '\n';
}

std::string board(const RunSummary& summary) {
  const std::vector<Standing>& rows = summary.board.rows;
  if (rows.empty()) return "";
  std::string text = "\n| problem | device | kernel | median | reference | speedup |\n|---|---|---|--:|--:|--:|\n";
  bool is_any_busy = false;
  for (std::size_t i = 0; i < std::min(rows.size(), kMarkdownRowsMax); ++i) {
    const RankedRow& row = rows[i].row;
    text +=
        line({markdown_text(row.problem), markdown_text(row.device_model), markdown_text(row.label) + ties_text(row),
              markdown_text(noisy_time_text(row)), reference_text(row), noisy_speedup_text(row)});
    is_any_busy = is_any_busy || row.is_noisy;
  }
  if (is_any_busy) text += "\n" + markdown_text("~") + ": " + std::string(kBusyMeans) + ".\n";
  if (rows.size() > kMarkdownRowsMax)
    text +=
        "\nShown are the first " + std::to_string(kMarkdownRowsMax) + " of " + std::to_string(rows.size()) + " rows.\n";
  return text;
}

}  // namespace

std::string markdown_text(std::string_view text) {
  const std::string plain = printable(text);
  const auto is_at = [&](std::size_t i, auto is) {
    return i < plain.size() && is(static_cast<unsigned char>(plain[i]));
  };
  const auto is_word = [](unsigned char c) { return std::isalnum(c) != 0; };
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const auto follows = [&](std::size_t i, std::string_view word) {
    return i >= word.size() && std::ranges::equal(plain.substr(i - word.size(), word.size()), word, {},
                                                  [](unsigned char c) { return std::tolower(c); });
  };
  std::string escaped;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const char c = plain[i];
    // An underscore within a word is no emphasis. A number is a reference to an issue behind # and behind GH-.
    const bool is_inside = c == '_' && i > 0 && is_at(i - 1, is_word) && is_at(i + 1, is_word);
    const bool is_reference = (c == '#' || (c == '-' && follows(i, "gh"))) && is_at(i + 1, is_digit);
    const bool is_link =
        (c == ':' && is_at(i + 1, [](unsigned char next) { return next == '/'; })) || (c == '.' && follows(i, "www"));
    const bool is_block = i == 0 && std::string_view("#+-=").find(c) != std::string_view::npos;
    if (c == '<' || c == '>' || c == '&' || c == '@' || is_reference || is_link || is_block) {
      // A backslash would not keep @ from notifying a user, or : from making a link.
      escaped += "&#" + std::to_string(static_cast<int>(c)) + ";";
    } else {
      if (std::string_view("\\`*[]|~").find(c) != std::string_view::npos || (c == '_' && !is_inside)) escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

std::optional<MarkdownFailure> markdown_failure(const RunRow& row) {
  if (!row.result || name_of(row.result->verdict) == VerdictName::passed) return std::nullopt;
  const Evidence* evidence = evidence_of(row.result->verdict);
  std::string message;
  if (evidence != nullptr) {
    if (evidence->message.find(evidence->place) == std::string::npos) message = evidence->place + ": ";
    const std::string line = evidence->message.substr(0, evidence->message.find('\n'));
    message += valid_utf8(std::string_view(line).substr(0, kMessageBytesMax));
    if (line.size() > kMessageBytesMax) message += " ...";
  }
  return MarkdownFailure{row.entry.submission.label, outcome_text(row), std::move(message)};
}

std::string markdown_report(const RunSummary& summary, std::span<const MarkdownFailure> failures,
                            std::size_t failure_count) {
  const Funnel& funnel = summary.funnel;
  std::string text = "### Run " + markdown_text(summary.run) + "\n\n**" + std::to_string(funnel.correct) + " of " +
                     producer::counted(funnel.submitted, "job") + " right, " + std::to_string(funnel.faster) +
                     " faster than the reference.**";
  for (const auto& [outcome, count] : summary.count_by_outcome)
    text += (outcome == summary.count_by_outcome.begin()->first ? " " : ", ") + std::to_string(count) + " `" + outcome +
            "`";
  text += ".\n\n";
  for (const DeviceSummary& device : summary.board.summaries())
    text += "- " + markdown_text(device.device_model) + ": " + std::to_string(device.solved_count) + " of " +
            producer::counted(device.problem_count, "problem") + " solved, geometric mean speedup " +
            speedup_text(device.geometric_mean_speedup) + "\n";
  for (const std::string& warning : summary.warnings) text += "- ⚠ " + markdown_text(warning) + "\n";
  text += board(summary);
  if (failures.empty()) return text;
  text += "\n<details><summary>" + producer::counted(failure_count, "job") +
          " did not pass</summary>\n\n| kernel | verdict | message |\n|---|---|---|\n";
  for (const MarkdownFailure& failure : failures)
    text += line({markdown_text(failure.label), markdown_text(failure.outcome), markdown_text(failure.message)});
  if (failure_count > failures.size())
    text += "\nAnd " + std::to_string(failure_count - failures.size()) + " more: `kq results --failed`.\n";
  return text + "\n</details>\n";
}

}  // namespace kq::tools
