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

// Returns the owner of a run. A run whose entries no key has named has as its owner the submitter of its first row, and
// nothing is returned where there is no such run.
Expected<std::optional<RunOwner>> read_owner(const Store& store, std::string_view run);
// Returns the submission and the submitter of one row, or nothing.
Expected<std::optional<RunEntry>> read_entry(const Store& store, std::string_view run, std::string_view label);

// Returns the unpacked content of a file, or nothing.
Expected<std::optional<std::string>> read_file(const Store& store, const Hash& hash);

// Return the replies to RunQuery, RunsQuery and BoardQuery, with their limits applied.
Expected<RunReply> read_run(const Store& store, const RunQuery& query);
Expected<RunsReply> read_runs(const Store& store, const RunsQuery& query);
Expected<BoardReply> read_board(const Store& store, const BoardQuery& query);

}  // namespace kq::store
