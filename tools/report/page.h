// The files of which pages are made, and a page that holds all of them. It asks no host for anything, but the live page
// of a gateway asks that gateway.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace kq::tools {

// The files in share/kq/report. A file of a library is empty where the library was absent when kq was built.
struct PageFiles {
  std::string style = {};  // style.css
  std::string plots = {};  // plots.json: the specification of each plot, in Vega-Lite
  std::string vega = {};   // vega.js: Vega, Vega-Lite and Vega-Embed
  std::string packed_vega = {};
  std::string prism = {};   // prism.js: Prism with the grammars of Python and C++
  std::string common = {};  // common.js: unpacking, escaping, the theme, and plots
  std::string job = {};     // job.js: one job
  std::string report = {};  // report.js: the page of a run
  std::string live = {};    // live.js: the live page of a gateway
  std::string tables = {};  // tables.js: tables of pages that are whole without a script
};
Expected<PageFiles> read_page_files(const std::string& folder);

// A text that the script of the page unpacks when it is needed.
struct PageData {
  std::string id = {};
  std::string packed = {};
};

struct Page {
  std::string title = {};
  std::string body = {};  // HTML
  std::vector<PageData> data = {};
  std::vector<std::string_view> scripts = {};  // in the order in which they run
  std::string head = {};                       // further elements of the head
  std::string linked = {};       // address of a script beside the page that runs before the others; or empty
  bool holds_plots = false;      // whether vega.js is in the page, packed; common.js unpacks it for the first plot
  bool asks_its_server = false;  // whether scripts may ask the server that the page comes from
};

// Returns the page as HTML. Its policy allows these scripts by their hashes, and no other script.
std::string page_html(const PageFiles& files, const Page& page);

// Returns the list of the libraries in a page with their licences, as HTML.
std::string libraries_html(const PageFiles& files);

}  // namespace kq::tools
