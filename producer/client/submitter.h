// The default name of the submitter.
#pragma once

#include <string>

namespace kq::producer {

// Returns "user@host" of this process, the name whose share and quota its jobs count against. The name is always valid
// by name_error().
std::string default_submitter();

}  // namespace kq::producer
