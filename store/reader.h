// Reads records of a store as typed values, for the broker's replies and for tools that read offline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/messages.h"
#include "core/records.h"
#include "store/store.h"

namespace kq::store {

Expected<std::optional<JobRecord>> read_job(const Store& store, Sequence seq);
Expected<std::optional<Submission>> read_body(const Store& store, Sequence seq);
Expected<std::optional<Result>> read_result(const Store& store, Sequence seq, bool with_samples);
Expected<std::optional<Sequence>> find_key(const Store& store, const Hash& key);

// Return the replies to RunQuery, RunsQuery and BoardQuery, with their limits applied.
Expected<RunReply> read_run(const Store& store, const RunQuery& query);
Expected<RunsReply> read_runs(const Store& store, const RunsQuery& query);
Expected<BoardReply> read_board(const Store& store, const BoardQuery& query);

// Returns the content of a file of a job, or nothing where the store has none with this hash.
Expected<std::optional<std::string>> read_file(const Store& store, const Hash& hash);

}  // namespace kq::store
