// A folder of batches that are sent when a broker is reachable.
//
// Each batch is a file whose name starts with the time of its submission, so that the names sort in the order of
// submission. A file is written under a temporary name and then renamed, and it is removed after the broker has
// acknowledged or refused every job. A batch that is sent twice has no further effect (core/messages.h), so a file that
// was sent but not removed does no harm.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "producer/client/client.h"
#include "producer/submit/inspect.h"
#include "producer/submit/submit.h"

namespace kq::producer {

inline constexpr std::size_t kSpoolFilesMax = 100'000;  // batches in one folder

// Writes all jobs of the source to the folder, and returns their number. `now_ms` is Unix time. After a failure the
// batches that are already written remain; they may be sent, and also be written again.
Expected<std::size_t> write_spool(const std::filesystem::path& folder, const JobSource& source, std::int64_t now_ms);

// Returns the batches in the folder, the oldest first. A folder that does not exist has none.
Expected<std::vector<std::filesystem::path>> spooled(const std::filesystem::path& folder);

struct SpoolEnd {
  std::size_t accepted_count = 0;  // accepted or reused jobs
  std::optional<Error> stopped{};  // why the remaining batches were not sent
};
// Sends the batches of the folder in their order, and calls `sent` with each that a broker has answered.
using VisitSent = std::function<void(const SubmitBatch& batch, const BatchEnd& end)>;
SpoolEnd send_spool(Client& client, const std::filesystem::path& folder, const SubmitOptions& options,
                    const VisitSent& sent);

}  // namespace kq::producer
