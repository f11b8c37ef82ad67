// Who submits, when nobody says.
#pragma once

#include <string>

namespace kq::producer {

// "user@host" of this process: whose share and quota its jobs count against. Never empty, always a name that
// name_error() accepts.
std::string default_submitter();

}  // namespace kq::producer
