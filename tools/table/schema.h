// Describes the columns of a dump, as a table for people and as JSON Schema.
#pragma once

#include <string>

#include "tools/table/selection.h"

namespace kq::tools {

std::string schema_table(const Selection& selection);

// Returns the JSON Schema (draft 2020-12) of one line of a jsonl dump. share/kq.result-1.schema.json is the schema of
// all columns of a job.
std::string json_schema(const Selection& selection);

}  // namespace kq::tools
