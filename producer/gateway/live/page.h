// The live page as HTML. It is made of the files of reports, so a job looks as in a report.
#pragma once

#include <string>

#include "tools/report/page.h"

namespace kq::gateway {

// `needs_token` says that the gateway answers nothing without a token, so that the page asks for one first.
std::string live_page_html(const tools::PageFiles& files, bool needs_token);

}  // namespace kq::gateway
