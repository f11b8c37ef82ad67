#include "tools/ctl/cache.h"

#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "sys/error_text.h"
#include "tools/stack/stack.h"

namespace kq::tools {

// Returns only when kq-cache cannot be started.
Expected<ExitCode> ctl_cache(int argc, const char* const* argv, const CtlWorld&) {
  const std::string program = program_folder() + "/kq-cache";
  std::vector<std::string> words(argv, argv + argc);
  words.front() = program;
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  ::execv(program.c_str(), raw.data());
  return our_fault(sys::error_text("cannot start " + program));
}

}  // namespace kq::tools
