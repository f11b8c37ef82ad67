// Tells the processes that started a service that the service answers requests.
#pragma once

#include <string_view>

#include "core/base/error.h"

namespace kq::sys {

// Writes `text` to the descriptor `fd` and closes it, unless it is negative, and sends READY=1 to the socket that
// NOTIFY_SOCKET names, as systemd expects of a unit with Type=notify. Removes NOTIFY_SOCKET from the environment, so
// that no child reports in the place of this process. Returns an Error that names the receiver that could not be
// reached.
Expected<void> report_ready(int fd, std::string_view text);

}  // namespace kq::sys
