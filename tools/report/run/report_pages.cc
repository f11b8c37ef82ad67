#include "tools/report/run/report_pages.h"

#include <cstdio>
#include <filesystem>

#include "producer/client/sentences.h"
#include "tools/cli/text.h"
#include "tools/report/packing.h"
#include "tools/report/run/summary_html.h"
#include "tools/table/columns.h"

namespace kq::tools {
namespace {

std::string page_name(const std::string& first, std::size_t number) {
  const std::filesystem::path path(first);
  char suffix[32];
  std::snprintf(suffix, sizeof suffix, ".jobs-%04zu.html", number);
  return path.stem().string() + suffix;
}

// What report.js knows of the page that it runs in.
std::string page_facts(const std::string& run, const std::vector<std::string>& names, std::size_t page, bool is_part) {
  std::string text = "{\"run\": ";
  producer::append_json(run, text);
  text += ", \"page\": " + std::to_string(page) + ", \"is_part\": " + (is_part ? "true" : "false") +
          ", \"group_size\": " + std::to_string(kGroupJobsMax) + ", \"pages\": [";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += ", ";
    producer::append_json(names[i], text);
  }
  return text + "]}";
}

std::string plots_json(const std::vector<PlotValues>& plots) {
  std::string text = "{";
  for (const PlotValues& plot : plots) {
    if (text.size() > 1) text += ",\n";
    text += "\"" + std::string(plot.kind) + "\": " + plot.values;
  }
  return text + "}";
}

void add_groups(Page& page, const std::vector<std::string>& groups) {
  for (std::size_t i = 0; i < groups.size(); ++i) page.data.push_back({"group-" + std::to_string(i), groups[i]});
}

std::string part_body(const PageFiles& files, const ReportOptions& options, const std::vector<std::string>& names,
                      const std::string& first, std::size_t number) {
  std::string body = "<header class=\"top\"><div><h1>" + html_text(options.run) +
                     "</h1><p class=\"quiet\">Jobs, page " + std::to_string(number + 1) + " of " +
                     std::to_string(names.size()) + "</p></div></header>\n<main>";
  body += "<nav class=\"pages\" aria-label=\"Pages\"><a href=\"" + address_of(first) + "\">Overview</a>";
  if (number > 0) body += "<a rel=\"prev\" href=\"" + address_of(names[number - 1]) + "\">Previous page</a>";
  if (number + 1 < names.size()) body += "<a rel=\"next\" href=\"" + address_of(names[number + 1]) + "\">Next page</a>";
  return body + "</nav>\n" + jobs_section_html() + "</main>\n" + footer_html(files, options.source, options.made_at);
}

}  // namespace

RunReport::RunReport(ReportOptions options, ReadSource read)
    : options_(std::move(options)), read_(std::move(read)), summary_(options_.run) {
  parts_.emplace_back();
}

void RunReport::end_group() {
  if (group_.size() == 0) return;
  Part& part = parts_.back();
  part.groups.push_back(packed(group_.json()));
  part.bytes += part.groups.back().size();
  group_ = {};
}

Expected<void> RunReport::add(const RunRow& row) {
  Part& last = parts_.back();
  if (group_.size() == 0 && (last.table.size() >= kPageJobsMax || last.bytes >= kPageDetailBytesMax))
    parts_.emplace_back();
  KQ_TRY(group_.add(row, read_));
  summary_.add(row);
  plots_.add(row);
  table_.add(row, parts_.size() - 1);
  parts_.back().table.add(row, parts_.size() - 1);
  if (group_.size() == kGroupJobsMax) end_group();
  return {};
}

std::string RunReport::overview_body(const PageFiles& files, const RunSummary& summary,
                                     const std::vector<PlotValues>& plots) const {
  std::string body = header_html(summary) + "<main>\n" + tiles_html(summary) + warnings_html(summary);
  body += plots_section_html(files, summary, plots, plots_.problems_with_samples());
  body += board_html(summary) + jobs_section_html() + places_html(summary);
  return body + "</main>\n" + footer_html(files, options_.source, options_.made_at);
}

std::vector<ReportFile> RunReport::pages(const PageFiles& files, const std::string& name) {
  end_group();
  const RunSummary summary = summary_.finish();
  const std::vector<PlotValues> plots = plots_.values(summary.board);
  const bool is_paged = parts_.size() > 1;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parts_.size(); ++i) names.push_back(is_paged ? page_name(name, i + 1) : name);
  const std::vector<std::string_view> scripts{files.prism, files.common, files.job, files.report};

  Page first{.title = summary.run + " - kq report",
             .body = overview_body(files, summary, plots),
             .data = {{"facts", packed(page_facts(summary.run, names, 0, false))},
                      {"jobs-data", packed(table_.json())},
                      {"plot-values", packed(plots_json(plots))},
                      {"strips", packed(plots_.strips())},
                      {"specifications", packed(files.plots)}},
             .scripts = scripts,
             .holds_plots = true};
  if (!is_paged) add_groups(first, parts_.front().groups);
  std::vector<ReportFile> pages;
  pages.push_back({name, page_html(files, first)});
  for (std::size_t i = 0; is_paged && i < parts_.size(); ++i) {
    Page page{.title = summary.run + ", jobs, page " + std::to_string(i + 1) + " - kq report",
              .body = part_body(files, options_, names, name, i),
              .data = {{"facts", packed(page_facts(summary.run, names, i, true))},
                       {"jobs-data", packed(parts_[i].table.json())},
                       {"specifications", packed(files.plots)}},
              .scripts = scripts,
              .holds_plots = true};
    add_groups(page, parts_[i].groups);
    pages.push_back({names[i], page_html(files, page)});
  }
  return pages;
}

}  // namespace kq::tools
