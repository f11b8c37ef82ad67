// A folder of batches that wait for a broker: store and forward.
//
// One file per batch, written whole under a name of the time it came in, so that names sort as they were submitted; it
// goes once the broker has answered for all of its jobs. Sending a batch twice does nothing (core/messages.h), so a
// file that is left over does no harm.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "producer/client/client.h"
#include "producer/submit/inspect.h"
#include "producer/submit/submit.h"

namespace kq::producer {

inline constexpr std::size_t kSpoolFilesMax = 100'000;  // batches that may wait in one folder

// Writes all jobs of the source; gives back how many. `now_ms` is Unix time. An Error leaves what is written so far: to
// be sent, or written again.
Expected<std::size_t> write_spool(const std::filesystem::path& folder, const JobSource& source, std::int64_t now_ms);

// Batches in the folder, the oldest first; none where there is no folder.
Expected<std::vector<std::filesystem::path>> spooled(const std::filesystem::path& folder);

struct SpoolEnd {
  std::size_t accepted_n = 0;  // or known to the broker already
  std::vector<std::string> refusals{};
  std::optional<Error> stopped{};  // why the rest stays where it is
};
SpoolEnd send_spool(Client& client, const std::filesystem::path& folder, const SubmitOptions& options);

}  // namespace kq::producer
