// What the columns of a dump mean, for people and as JSON Schema.
#pragma once

#include <string>

#include "tools/table/selection.h"

namespace kq::tools {

std::string schema_table(const Selection& selection);

// JSON Schema (draft 2020-12) of one line of a jsonl dump; share/kq.result-1.schema.json is that of all columns of a
// job.
std::string json_schema(const Selection& selection);

}  // namespace kq::tools
