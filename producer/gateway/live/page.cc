#include "producer/gateway/live/page.h"

#include "tools/report/packing.h"

namespace kq::gateway {
namespace {

constexpr std::string_view kHeader =
    "<header class=\"top\"><div><p class=\"kind\">kq</p><h1>Queue</h1><p class=\"quiet\" id=\"connection\" "
    "role=\"status\">The page connects to its gateway.</p></div></header>\n";
constexpr std::string_view kSections =
    "<div class=\"controls\" id=\"controls\"></div>\n"
    "<dl class=\"tiles\" id=\"tiles\"></dl>\n"
    "<section id=\"found\" hidden><h2>Found</h2><div id=\"found-rows\"></div></section>\n"
    "<section id=\"run\" hidden></section>\n"
    "<section id=\"runs\"><h2>Runs</h2><div class=\"scroll\" id=\"run-rows\"></div></section>\n"
    "<section id=\"workers\"><h2>Workers</h2><div class=\"controls\" id=\"worker-controls\"></div>"
    "<div class=\"scroll\" id=\"worker-rows\"></div></section>\n"
    "<section id=\"failures\"><h2>Last failures</h2><div class=\"scroll\" id=\"failure-rows\"></div></section>\n"
    "<section id=\"lanes\"><h2>Queued jobs by lane</h2><div class=\"scroll\" id=\"lane-rows\"></div></section>\n"
    "<dialog id=\"job\" aria-labelledby=\"job-title\"></dialog>\n"
    "<dialog id=\"ask\" class=\"ask\" aria-labelledby=\"ask-title\"></dialog>\n</main>\n";

}  // namespace

std::string live_page_html(const tools::PageFiles& files, bool needs_token) {
  const std::string main = std::string("<main") + (needs_token ? " data-needs-token=\"yes\"" : "") + ">\n";
  const std::string footer =
      "<footer><p>The page shows what the broker knows now. <a href=\"/docs\">Routes</a>, <a "
      "href=\"/metrics\">metrics</a>. " +
      tools::libraries_html(files) + "</p></footer>\n";
  return tools::page_html(files, {.title = "kq",
                                  .body = std::string(kHeader) + main + std::string(kSections) + footer,
                                  .data = {{"specifications", tools::packed(files.plots)}},
                                  .scripts = {files.prism, files.common, files.job, files.live},
                                  .holds_plots = true,
                                  .asks_its_server = true});
}

}  // namespace kq::gateway
