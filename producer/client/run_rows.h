// Reads some rows of a run, whose other rows may be many.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/records.h"
#include "producer/client/client.h"

namespace kq::producer {

// Calls `visit` with the rows of these labels, in the order of bytes. A label without a row is passed over. Labels that
// are neighbours in the run are asked for together.
using VisitRow = std::function<void(const RunRow& row)>;
Expected<void> each_row_of(Client& client, const std::string& run, std::vector<std::string> labels,
                           const VisitRow& visit);
// Does the same with at most `queries_left` queries, which it counts down. Fails with ErrorKind::gave_up where they do
// not suffice.
Expected<void> each_row_of(Client& client, const std::string& run, std::vector<std::string> labels,
                           const VisitRow& visit, std::size_t& queries_left);

}  // namespace kq::producer
