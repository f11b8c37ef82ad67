#include "tools/report/compare/compare_html.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "producer/client/json.h"
#include "producer/client/sentences.h"
#include "tools/cli/text.h"
#include "tools/report/compare/compare_text.h"
#include "tools/report/packing.h"
#include "tools/report/run/summary_html.h"
#include "tools/views/board_formats.h"

namespace kq::tools {
namespace {

std::string_view tone_of(Change change) {
  if (change == Change::failed || change == Change::slower || change == Change::missing) return "bad";
  if (change == Change::passed || change == Change::faster) return "good";
  return change == Change::incomparable ? "policy" : "waiting";
}

std::string number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", value);
  return buffer;
}

std::string chip(Change change, const std::string& words) {
  return "<span class=\"chip " + std::string(tone_of(change)) + "\" title=\"" + std::string(meaning_of(change)) +
         "\">" + html_text(words) + "</span>";
}

// A cell of a number: the text that is shown, and the value by which the column sorts.
std::string cell(const std::string& shown, double value, const char* more_class = "") {
  return "<td class=\"n" + std::string(more_class) + "\" data-value=\"" + (value > 0 ? number(value) : "") + "\">" +
         html_text(shown) + "</td>";
}

std::string side_text(const KernelResult* side, Metric metric) {
  if (side == nullptr) return "-";
  return figure_or_outcome(*side, metric);
}

std::string side_cell(const KernelResult* side, Metric metric, const char* more_class, const std::string& below) {
  const double value = side != nullptr && side->is_passed ? compared_figure(*side, metric) : 0;
  return "<td class=\"n wrap" + std::string(more_class) + "\" data-value=\"" + (value > 0 ? number(value) : "") +
         "\">" + name_html(side_text(side, metric)) + below + "</td>";
}

// A line for narrow windows, which have no column of the base run.
std::string was_line(const ComparedKernel& kernel, Metric metric) {
  if (kernel.base == nullptr || side_text(kernel.base, metric) == side_text(kernel.now, metric)) return "";
  return narrow_line({"was " + side_text(kernel.base, metric)});
}

std::string row_html(const ComparedKernel& kernel, Metric metric, bool shows_device) {
  const KernelResult& side = kernel.either();
  const char* tone = kernel.is_regression() ? "worse" : kernel.change == Change::faster ? "better" : "";
  char p[32];
  std::snprintf(p, sizeof p, kernel.p < 0.001 ? "%.0e" : "%.3f", kernel.p);
  return "<tr data-choice=\"" + std::string(to_string(kernel.change)) + "\"><td>" +
         chip(kernel.change, std::string(to_string(kernel.change))) + "</td><td>" + name_html(kernel.label) +
         (kernel.is_same_source || kernel.base == nullptr || kernel.now == nullptr
              ? ""
              : " <span class=\"quiet\">(source changed)</span>") +
         narrow_line({side.problem, side.author}) + "</td><td class=\"more\">" + name_html(side.problem) +
         "</td><td class=\"more\">" + html_text(side.author) + "</td>" +
         (shows_device ? "<td class=\"more\">" + html_text(side.device) + "</td>" : "") +
         side_cell(kernel.base, metric, " more", "") + side_cell(kernel.now, metric, "", was_line(kernel, metric)) +
         "<td class=\"n\" data-value=\"" + (kernel.ratio > 0 ? number(kernel.ratio) : "") + "\"><span class=\"" + tone +
         "\">" + html_text(ratio_text(kernel.ratio)) + "</span></td>" +
         cell(kernel.ratio > 0 ? p : "-", kernel.ratio > 0 ? std::max(kernel.p, 1e-300) : 0, " more") +
         cell(ratio_text(kernel.reference_ratio), kernel.reference_ratio, " more") + "</tr>\n";
}

std::string group_html(const Comparison& comparison, std::string_view property) {
  const ChangeCounts counts = grouped(comparison, property);
  if (counts.size() < 2) return "";
  std::string html = "<details><summary>By " + std::string(property) +
                     "</summary><div class=\"scroll\"><table class=\"plain\">"
                     "<thead><tr><th>" +
                     std::string(property) + "</th>";
  for (const std::string_view name : enum_names(Change{})) html += "<th class=\"n\">" + std::string(name) + "</th>";
  html += "</tr></thead><tbody>\n";
  for (const auto& [value, by_change] : counts) {
    html += "<tr><td>" + html_text(value) + "</td>";
    for (std::size_t i = 0; i < enum_names(Change{}).size(); ++i) {
      const auto found = by_change.find(static_cast<Change>(i));
      html += "<td class=\"n\">" + (found == by_change.end() ? "" : std::to_string(found->second)) + "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div></details>";
}

std::string plot_values(const Comparison& comparison) {
  std::vector<const ComparedKernel*> timed;
  for (const ComparedKernel& kernel : comparison.kernels) {
    if (kernel.ratio > 0) timed.push_back(&kernel);
  }
  std::stable_sort(timed.begin(), timed.end(), [](const auto* a, const auto* b) { return a->ratio < b->ratio; });
  std::string text = "[";
  for (std::size_t i = 0; i < timed.size(); ++i) {
    text += (i == 0 ? "{\"rank\": " : ",\n{\"rank\": ") + std::to_string(i + 1) +
            ", \"ratio\": " + number(timed[i]->ratio) + ", \"change\": \"" + std::string(to_string(timed[i]->change)) +
            "\", \"label\": ";
    producer::append_json(timed[i]->label, text);
    text += '}';
  }
  return text + "]";
}

std::string title_of(const Comparison& comparison) {
  return comparison.base_run + " → " + comparison.run;
}

// A comparison that is alone on its page has its title in the heading of the page.
std::string section(const Comparison& comparison, std::size_t place, bool is_alone) {
  const std::string id = std::to_string(place);
  std::string html = "<section>";
  if (!is_alone) html += "<h2>" + html_text(title_of(comparison)) + "</h2>";
  html += "<ul class=\"chips\">";
  for (std::size_t i = 0; i < enum_names(Change{}).size(); ++i) {
    const auto change = static_cast<Change>(i);
    if (const std::size_t count = comparison.count(change); count > 0)
      html += "<li>" + chip(change, std::to_string(count) + " " + std::string(to_string(change))) + "</li>";
  }
  html += "</ul>\n";
  if (!comparison.notes.empty()) {
    html += "<div class=\"warnings\"><ul>";
    for (const std::string& note : comparison.notes) html += "<li>" + html_text(note) + "</li>";
    html += "</ul></div>\n";
  }
  const bool is_any_timed = std::any_of(comparison.kernels.begin(), comparison.kernels.end(),
                                        [](const ComparedKernel& kernel) { return kernel.ratio > 0; });
  const bool shows_device = grouped(comparison, "device").size() > 1;
  if (is_any_timed)
    html +=
        "<figure class=\"wide\"><h3>Change of time</h3><div class=\"plot\" data-plot=\"changes\" "
        "data-values=\"changes-" +
        id +
        "\" role=\"img\" aria-label=\"Change of time of each kernel\"></div><figcaption>Kernels that pass in both "
        "runs, sorted by how many times as fast they are now; above the line they are faster.</figcaption></figure>\n";
  for (const std::string_view property : kCompareGroups) html += group_html(comparison, property);
  html +=
      "<h3>Kernels</h3><div class=\"scroll\"><table class=\"plain sortable\" id=\"t" + id +
      "\" data-choice=\"change\" data-hint=\"kernel, problem, author, "
      "device\"><thead><tr><th>change</th><th>kernel</th>"
      "<th class=\"more\">problem</th><th class=\"more\">author</th>" +
      std::string(shows_device ? "<th class=\"more\">device</th>" : "") +
      "<th class=\"n more\">base</th><th class=\"n\">new</th><th class=\"n\">difference</th><th class=\"n more\">p</th>"
      "<th class=\"n more\">of the reference</th></tr></thead><tbody>\n";
  for (const ComparedKernel& kernel : comparison.kernels) html += row_html(kernel, comparison.metric, shows_device);
  html += "</tbody></table></div>";
  const auto is_busy = [](const KernelResult* side) { return side != nullptr && side->is_passed && side->is_noisy; };
  if (std::ranges::any_of(comparison.kernels, [&](const auto& one) { return is_busy(one.base) || is_busy(one.now); }))
    html += "<p class=\"quiet\">~: " + html_text(std::string(kBusyMeans)) + ".</p>";
  return html + "</section>\n";
}

}  // namespace

std::string compare_page(const PageFiles& files, std::span<const Comparison> comparisons, const CompareOptions& options,
                         const std::string& source, const std::string& made_at) {
  const bool is_alone = comparisons.size() == 1;
  const std::string base = comparisons.empty() ? "" : comparisons.front().base_run;
  const std::string title = is_alone ? title_of(comparisons.front()) : base;
  Page page{.title = title + " - kq compare",
            .body = "<header class=\"top\"><div><p class=\"kind\">Comparison</p><h1>" + name_html(title) +
                    "</h1><p class=\"quiet\">" +
                    (is_alone ? producer::counted(comparisons.front().kernels.size(), "kernel")
                              : "with " + producer::counted(comparisons.size(), "run")) +
                    "</p></div></header>\n<main>\n",
            .data = {{"specifications", packed(files.plots)}},
            .scripts = {files.common, files.tables},
            .holds_plots = true};
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    page.body += section(comparisons[i], i, is_alone);
    page.data.push_back({"changes-" + std::to_string(i), packed(plot_values(comparisons[i]))});
  }
  page.body += "<p class=\"quiet\">A " + std::string(options.metric == Metric::time ? "time" : "speedup") +
               " counts as changed where the rank-sum test of Mann and Whitney on the raw samples gives p below " +
               number(options.alpha) +
               ", adjusted for the number of kernels by Benjamini and Hochberg, and where the "
               "medians differ by more than " +
               number(100 * options.change_min) + " %.</p>\n</main>\n" + footer_html(files, source, made_at);
  return page_html(files, page);
}

}  // namespace kq::tools
