// The live page as HTML. It is made of the files of reports, so a job looks as in a report.
#pragma once

#include <string>

#include "tools/report/page.h"

namespace kq::gateway {

std::string live_page_html(const tools::PageFiles& files);

}  // namespace kq::gateway
