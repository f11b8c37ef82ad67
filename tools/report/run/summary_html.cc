#include "tools/report/run/summary_html.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/version.h"
#include "producer/client/sentences.h"
#include "tools/cli/text.h"
#include "tools/report/packing.h"
#include "tools/table/columns.h"
#include "tools/views/board_formats.h"

namespace kq::tools {
namespace {

using producer::counted;

std::string percent(std::size_t part, std::size_t all) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.0f %%",
                all == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(all));
  return buffer;
}

}  // namespace

std::string narrow_line(std::initializer_list<std::string> words) {
  std::string line;
  for (const std::string& word : words) {
    if (!word.empty()) line += (line.empty() ? "" : " · ") + html_text(word);
  }
  return line.empty() ? "" : "<span class=\"sub\">" + line + "</span>";
}

std::string tile_html(std::string_view figure, std::string_view name, std::string_view more) {
  return "<div class=\"tile\"><dt>" + html_text(name) + "</dt><dd><strong>" + html_text(figure) + "</strong><span>" +
         html_text(more) + "</span></dd></div>\n";
}

namespace {

struct Words {
  std::string_view kind;
  std::string_view title;
  std::string_view about;
};
constexpr Words kWords[] = {
    {"fast-p", "How much of it is fast",
     "The fraction of problems with a kernel that is right and more than p times as fast as its reference (fast_p)."},
    {"speedups", "Speedups", "Right kernels by speedup; right of the line they are faster than their reference."},
    {"times", "Time against the reference",
     "One dot for each right kernel, on logarithmic axes; below the line it is faster than its reference."},
    {"ranks", "Every kernel with its noise",
     "Kernels sorted by speedup; the bar is one standard deviation of the kernel's samples to each side."},
};

std::string fast_p_sentence(const RunSummary& summary) {
  std::string text;
  for (const DeviceSummary& device : summary.board.summaries()) {
    for (const auto& [p, fraction] : device.fast_p) {
      if (p != 1) continue;
      const auto faster = std::lround(fraction * static_cast<double>(device.problem_count));
      text += " " + device.device_model + ": " + std::to_string(faster) + " of " +
              counted(device.problem_count, "problem") + " faster than 1x.";
    }
  }
  return text;
}

std::string figure(const Words& words, const std::string& more) {
  return "<figure id=\"figure-" + std::string(words.kind) + "\"><h3>" + std::string(words.title) +
         "</h3><div class=\"plot\" data-plot=\"" + std::string(words.kind) + "\" role=\"img\" aria-label=\"" +
         std::string(words.title) + "\"></div><figcaption>" + std::string(words.about) + html_text(more) +
         "</figcaption></figure>\n";
}

std::string row_html(const RankedRow& row) {
  const std::string backend = row.backend + remarks(row);
  return "<tr><td>" + name_html(row.problem) + narrow_line({row.device_model}) + "</td><td class=\"more\">" +
         html_text(row.device_model) + "</td><td><a href=\"#job=" + std::to_string(row.seq) + "\">" +
         name_html(row.label) + "</a>" + html_text(ties_text(row)) + narrow_line({row.author, backend}) +
         "</td><td class=\"more\">" + html_text(row.author) + "</td><td class=\"more\">" + html_text(backend) +
         "</td><td class=\"n more\">" + html_text(noisy_time_text(row)) + "</td><td class=\"n more\">" +
         html_text(reference_text(row)) + "</td><td class=\"n\"><b class=\"" + (row.speedup > 1 ? "up" : "down") +
         "\">" + html_text(noisy_speedup_text(row)) + "</b>" + narrow_line({noisy_time_text(row)}) + "</td></tr>\n";
}

}  // namespace

std::string_view tone_of(std::string_view outcome) {
  if (outcome == "passed") return "good";
  if (outcome == "queued" || outcome == "running" || outcome == "compiled_only") return "waiting";
  for (const VerdictRow& row : kVerdicts) {
    if (to_string(row.name) != outcome) continue;
    if (row.fault == Fault::user) return "bad";
    return row.fault == Fault::policy ? "policy" : "fault";
  }
  return "fault";
}

std::string minute_text(std::int64_t unix_ms) {
  const Cell cell = utc_time(unix_ms);
  const std::string* text = std::get_if<std::string>(&cell);
  return text == nullptr ? "-" : text->substr(0, 10) + " " + text->substr(11, 5) + " UTC";
}

std::string header_html(const RunSummary& summary) {
  std::string devices;
  for (const auto& [name, values] : summary.places) {
    if (name != "device") continue;
    for (const std::string& value : values) devices += (devices.empty() ? "" : ", ") + value;
  }
  return "<header class=\"top\"><div><p class=\"kind\">Run</p><h1>" + html_text(summary.run) +
         "</h1><p class=\"quiet\">" + html_text(devices.empty() ? "no device yet" : devices) + " · " +
         minute_text(summary.first_submitted_ms) + " to " + minute_text(summary.last_finished_ms) +
         "</p></div></header>\n";
}

std::string tiles_html(const RunSummary& summary) {
  const Funnel& funnel = summary.funnel;
  std::string html =
      "<section aria-labelledby=\"glance\"><h2 id=\"glance\" class=\"hidden\">At a glance</h2><dl class=\"tiles\">\n";
  html += tile_html(std::to_string(funnel.submitted), funnel.submitted == 1 ? "job" : "jobs",
                    counted(summary.board.problem_count, "problem"));
  html += tile_html(percent(funnel.built, funnel.submitted), "built", std::to_string(funnel.built));
  html += tile_html(percent(funnel.correct, funnel.submitted), "right", std::to_string(funnel.correct));
  html +=
      tile_html(percent(funnel.faster, funnel.submitted), "faster than the reference", std::to_string(funnel.faster));
  for (const DeviceSummary& device : summary.board.summaries())
    html += tile_html(speedup_text(device.geometric_mean_speedup), "geometric mean speedup",
                      std::to_string(device.solved_count) + " of " +
                          counted(summary.board.referenced_count, "problem") + ", " + device.device_model);
  html += "</dl>\n<div class=\"verdicts\"><div class=\"bar\" aria-hidden=\"true\">";
  std::vector<std::pair<std::string, std::size_t>> outcomes(summary.count_by_outcome.begin(),
                                                            summary.count_by_outcome.end());
  const auto place = [](const std::string& outcome) {
    constexpr std::string_view kTones[] = {"good", "policy", "bad", "fault", "waiting"};
    return std::find(std::begin(kTones), std::end(kTones), tone_of(outcome)) - std::begin(kTones);
  };
  std::stable_sort(outcomes.begin(), outcomes.end(), [&](const auto& a, const auto& b) {
    return place(a.first) != place(b.first) ? place(a.first) < place(b.first) : a.second > b.second;
  });
  for (const auto& [outcome, count] : outcomes)
    html += "<i class=\"" + std::string(tone_of(outcome)) + "\" style=\"flex-grow:" + std::to_string(count) + "\"></i>";
  html += "</div><ul class=\"chips\">";
  for (const auto& [outcome, count] : outcomes)
    html += "<li><a class=\"chip " + std::string(tone_of(outcome)) + "\" href=\"#verdict=" + outcome + "\"><b>" +
            std::to_string(count) + "</b> " + outcome + "</a></li>";
  return html + "</ul></div></section>\n";
}

std::string warnings_html(const RunSummary& summary) {
  if (summary.warnings.empty()) return "";
  std::string html = "<section class=\"warnings\" aria-label=\"Warnings\"><ul>";
  for (const std::string& sentence : summary.warnings) html += "<li>" + html_text(sentence) + "</li>";
  return html + "</ul></section>\n";
}

std::string plots_section_html(const PageFiles& files, const RunSummary& summary, std::span<const PlotValues> plots,
                               const std::vector<std::string>& problems_with_samples) {
  if (summary.funnel.correct == 0) return "";
  std::string html = "<section aria-labelledby=\"plots\"><h2 id=\"plots\">Plots</h2>\n";
  if (files.vega.empty())
    return html + "<p>kq was built without vl-convert-python, which brings the library of the plots.</p></section>\n";
  html +=
      "<noscript><p>The plots and the table of jobs need JavaScript. The page asks no host for anything.</p></noscript>"
      "<div class=\"figures\">\n";
  for (const Words& words : kWords) {
    const auto plot =
        std::find_if(plots.begin(), plots.end(), [&](const PlotValues& one) { return one.kind == words.kind; });
    std::string more = plot == plots.end() || plot->note.empty() ? "" : " " + plot->note;
    if (words.kind == "fast-p") more += fast_p_sentence(summary);
    html += figure(words, more);
  }
  html += "</div>\n";
  if (problems_with_samples.empty()) return html + "</section>\n";
  html +=
      "<figure id=\"figure-samples\" class=\"wide\"><h3>Raw samples of a problem</h3>"
      "<p class=\"controls\"><label>Problem <select id=\"strip-problem\">";
  for (const std::string& problem : problems_with_samples) html += "<option>" + html_text(problem) + "</option>";
  return html +
         "</select></label></p><div class=\"plot\" data-plot=\"samples\" role=\"img\" aria-label=\"Raw samples\"></div>"
         "<figcaption>Every mark is one timed call, on a logarithmic axis: the fastest kernels of the problem above, "
         "their reference in grey. Kernels whose marks overlap do not differ beyond the noise.</figcaption></figure>"
         "</section>\n";
}

std::string board_html(const RunSummary& summary) {
  const std::vector<Standing>& rows = summary.board.rows;
  if (rows.empty()) return "";
  std::string html =
      "<section aria-labelledby=\"board\"><h2 id=\"board\">Fastest kernel of each problem</h2>"
      "<div class=\"scroll\"><table class=\"plain\"><thead><tr><th>problem</th><th "
      "class=\"more\">device</th><th>kernel</th>"
      "<th class=\"more\">author</th><th class=\"more\">backend</th><th class=\"n more\">median</th>"
      "<th class=\"n more\">reference</th>"
      "<th class=\"n\">speedup</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < std::min(rows.size(), kBoardRowsShown); ++i) html += row_html(rows[i].row);
  html += "</tbody></table></div>";
  if (rows.size() > kBoardRowsShown)
    html += "<p class=\"quiet\">Shown are the first " + std::to_string(kBoardRowsShown) + " of " +
            std::to_string(rows.size()) + " rows; the table of jobs has all kernels.</p>";
  if (std::ranges::any_of(rows, [](const Standing& one) { return one.row.is_noisy; }))
    html += "<p class=\"quiet\">~: " + html_text(std::string(kBusyMeans)) + ".</p>";
  return html + "</section>\n";
}

std::string jobs_section_html() {
  return "<section aria-labelledby=\"jobs\"><h2 id=\"jobs\">Jobs</h2>\n<div id=\"job-table\"></div></section>\n"
         "<dialog id=\"job\" aria-labelledby=\"job-title\"></dialog>\n";
}

std::string places_html(const RunSummary& summary) {
  if (summary.places.empty()) return "";
  std::string html =
      "<section aria-labelledby=\"places\"><h2 id=\"places\">Where and how it was measured</h2><dl class=\"facts\">";
  for (const auto& [name, values] : summary.places) {
    html += "<dt>" + html_text(name) + "</dt><dd>";
    for (const std::string& value : values) html += (value == *values.begin() ? "" : "<br>") + html_text(value);
    html += "</dd>";
  }
  return html +
         "</dl><p class=\"quiet\">A time is the median of timed calls, each on fresh inputs and each with its outputs "
         "checked, by a judge that the kernel cannot reach. Kernel and reference take turns on the same device. The "
         "noise is the standard deviation of the samples in percent of their mean.</p></section>\n";
}

std::string footer_html(const PageFiles& files, const std::string& source, const std::string& made_at) {
  return "<footer><p>Made by kq " + std::string(kVersion) + " from " + html_text(source) + " at " + html_text(made_at) +
         ". " + libraries_html(files) + "</p></footer>\n";
}

}  // namespace kq::tools
