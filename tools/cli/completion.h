// The scripts with which a shell completes the words of kq's programs. They ask the programs for --help.
#pragma once

#include <string_view>

#include "core/base/error.h"

namespace kq::tools {

// Returns the script for "bash", "zsh" or "fish". Fails for another shell with a sentence that names these.
Expected<std::string_view> completion_script(std::string_view shell);

}  // namespace kq::tools
