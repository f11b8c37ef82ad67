// The facts of kq-top as one JSON document.
#pragma once

#include <string>

#include "producer/client/json.h"
#include "tools/top/facts.h"

namespace kq::tools {

// Returns {"now_ms", "broker", "version", "queue", "workers", "runs", "failures", ...}. Times are in ms since 1970, and
// lanes and workers have the form of kq-ctl.
producer::Json facts_json(const TopFacts& facts, const std::string& url);

}  // namespace kq::tools
