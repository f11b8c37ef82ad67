#include "tools/report/page.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/bytes/base64.h"
#include "core/bytes/hash.h"
#include "sys/error_text.h"
#include "tools/report/packing.h"

namespace kq::tools {
namespace {

std::string policy(const std::vector<std::string_view>& scripts, const Page& page) {
  std::string hashes = !page.linked.empty() ? " 'self'" : "";
  for (const std::string_view script : scripts) hashes += " 'sha256-" + base64(as_bytes(sha256(script))) + "'";
  return "default-src 'none'; script-src" + (hashes.empty() ? " 'none'" : hashes) +
         "; style-src 'unsafe-inline'; img-src data: blob:;" + (page.asks_its_server ? " connect-src 'self';" : "") +
         " base-uri 'none'; form-action 'none'";
}

Expected<std::string> read_file(const std::string& folder, const char* name, bool must_exist) {
  const std::string path = (std::filesystem::path(folder) / name).string();
  std::ifstream file(path, std::ios::binary);
  if (!file && !must_exist && errno == ENOENT) return std::string();
  if (!file)
    return our_fault("cannot read " + path + ": " + sys::error_text(errno) + "; the installation of kq is not whole");
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace

Expected<PageFiles> read_page_files(const std::string& folder) {
  PageFiles files;
  KQ_TRY_VALUE(files.style, read_file(folder, "style.css", true));
  KQ_TRY_VALUE(files.plots, read_file(folder, "plots.json", true));
  KQ_TRY_VALUE(files.common, read_file(folder, "common.js", true));
  KQ_TRY_VALUE(files.job, read_file(folder, "job.js", true));
  KQ_TRY_VALUE(files.report, read_file(folder, "report.js", true));
  KQ_TRY_VALUE(files.live, read_file(folder, "live.js", true));
  KQ_TRY_VALUE(files.tables, read_file(folder, "tables.js", true));
  KQ_TRY_VALUE(files.vega, read_file(folder, "vega.js", false));
  if (!files.vega.empty()) files.packed_vega = packed(files.vega);
  KQ_TRY_VALUE(files.prism, read_file(folder, "prism.js", false));
  return files;
}

std::string libraries_html(const PageFiles& files) {
  std::string html;
  if (!files.vega.empty())
    html +=
        "Plots by Vega, Vega-Lite and Vega-Embed, © University of Washington Interactive Data Lab, BSD 3-Clause "
        "licence. ";
  if (!files.prism.empty()) html += "Colours of sources by Prism, © Lea Verou, MIT licence.";
  return html;
}

std::string page_html(const PageFiles& files, const Page& page) {
  std::vector<std::string_view> scripts;
  for (const std::string_view script : page.scripts) {
    if (!script.empty()) scripts.push_back(script);
  }
  const bool holds_vega = page.holds_plots && !files.vega.empty();
  std::vector<std::string_view> allowed = scripts;
  if (holds_vega) allowed.push_back(files.vega);
  std::string html =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"" +
      policy(allowed, page) +
      "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>" +
      html_text(page.title) + "</title>\n" + page.head + "<style>\n" + files.style + "</style>\n</head>\n<body>\n" +
      page.body;
  for (const PageData& data : page.data)
    html += "<script type=\"text/plain\" id=\"" + html_text(data.id) + "\">" + data.packed + "</script>\n";
  if (holds_vega)
    html += "<script type=\"text/plain\" id=\"vega\">" +
            (files.packed_vega.empty() ? packed(files.vega) : files.packed_vega) + "</script>\n";
  if (!page.linked.empty()) html += "<script src=\"" + html_text(page.linked) + "\"></script>\n";
  for (const std::string_view script : scripts) html.append("<script>").append(script).append("</script>\n");
  return html + "</body>\n</html>\n";
}

}  // namespace kq::tools
