// The name of a source of rows in a page, which may be published.
#pragma once

#include <string>

#include "tools/cli/source.h"

namespace kq::tools {

// Returns the URL of the broker, or the last part of the store's path: the rest of the path is of no use to a reader.
std::string source_name(const SourceOptions& options);

}  // namespace kq::tools
