#include "gpu_worker/child/runtime/python_place.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace kq::runtime {
namespace {

constexpr std::size_t kTracebackBytesMax = 32u << 10;  // a pipe holds more
constexpr std::size_t kPlaceBytesMax = 200;

// Parts of the paths of code that is not the submission's.
constexpr std::array<std::string_view, 5> kOthers{"/site-packages/", "/dist-packages/", "/harness/", "/lib/python3",
                                                  "<frozen "};

}  // namespace

std::string place_in_traceback(std::string_view text) {
  constexpr std::string_view kFile = "  File \"", kLine = "\", line ";
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t number = line.find(kLine);
    if (!line.starts_with(kFile) || number == line.npos) continue;
    const std::string_view file = line.substr(kFile.size(), number - kFile.size());
    if (std::ranges::any_of(kOthers, [&](std::string_view part) { return file.find(part) != file.npos; })) continue;
    const std::string_view rest = line.substr(number + kLine.size());
    std::string place = std::string(file.substr(0, kPlaceBytesMax)) + ":" + std::string(rest.substr(0, rest.find(' ')));
    std::ranges::replace_if(
        place, [](char letter) { return static_cast<unsigned char>(letter) < ' '; }, '_');
    return place;
  }
  return {};
}

std::string python_place() {
  // Functions of CPython: the thread's state, and the writer of faulthandler, which reads frames without the lock.
  using ThisState = void* (*)();
  using Dump = void (*)(int fd, void* state);
  const auto this_state = reinterpret_cast<ThisState>(::dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState"));
  const auto dump = reinterpret_cast<Dump>(::dlsym(RTLD_DEFAULT, "_Py_DumpTraceback"));
  void* const state = this_state == nullptr || dump == nullptr ? nullptr : this_state();
  int ends[2];
  if (state == nullptr || ::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return {};
  dump(ends[1], state);
  ::close(ends[1]);
  std::string text(kTracebackBytesMax, '\0');
  std::size_t size = 0;
  for (;;) {
    const ssize_t got = ::read(ends[0], text.data() + size, text.size() - size);
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  ::close(ends[0]);
  text.resize(size);
  return place_in_traceback(text);
}

}  // namespace kq::runtime
