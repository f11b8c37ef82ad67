// The rights of a folder in which a program keeps its state.
#pragma once

#include <string>

#include "core/base/error.h"

namespace kq::sys {

// Fails where the folder exists and every user may write into it, because another user could then replace files of the
// program. `what` names the folder in the error text: "state folder".
Expected<void> check_others_cannot_write(const std::string& folder, const std::string& what);

}  // namespace kq::sys
