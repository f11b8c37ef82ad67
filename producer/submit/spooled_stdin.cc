#include "producer/submit/spooled_stdin.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "sys/error_text.h"

namespace kq::producer {
namespace {

namespace fs = std::filesystem;

// Returns the ending of the file's name by the start of the text. A kernel is small enough to be in that part.
const char* ending_of(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first != std::string_view::npos && text[first] == '{') return ".jsonl";
  const bool is_cuda =
      text.find("__global__") != std::string_view::npos && text.find("import ") == std::string_view::npos;
  return is_cuda ? ".cu" : ".py";
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

bool write_all(int fd, const char* bytes, std::size_t n) {
  while (n > 0) {
    const ssize_t done = ::write(fd, bytes, n);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    bytes += done;
    n -= static_cast<std::size_t>(done);
  }
  return true;
}

}  // namespace

Expected<SpooledStdin> SpooledStdin::read(int descriptor) {
  std::error_code wrong;
  std::string pattern = (fs::temp_directory_path(wrong) / "kq-stdin.XXXXXX").string();
  const int fd = ::mkstemp(pattern.data());
  if (fd < 0)
    return our_fault("no file for standard input in " + fs::path(pattern).parent_path().string() + ": " +
                     sys::error_text(errno));
  SpooledStdin file{fs::path(pattern)};
  std::array<char, 64u << 10> buffer;
  std::string start;  // the start of the text
  bool is_empty = true;
  for (;;) {
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) break;
    if (got > 0) is_empty = is_empty && is_blank({buffer.data(), static_cast<std::size_t>(got)});
    if (got > 0 && start.size() < buffer.size()) start.append(buffer.data(), static_cast<std::size_t>(got));
    if (got < 0 || !write_all(fd, buffer.data(), static_cast<std::size_t>(got))) {
      const int error = errno;
      ::close(fd);
      return our_fault(
          std::string(got < 0 ? "cannot read standard input: " : "cannot keep standard input in a file: ") +
          sys::error_text(error));
    }
  }
  ::close(fd);
  if (is_empty) return bad_input("standard input is empty");
  const fs::path named = pattern + ending_of(start);
  fs::rename(file.path_, named, wrong);
  if (wrong) return our_fault("cannot keep standard input in a file: " + wrong.message());
  file.path_ = named;
  return file;
}

SpooledStdin::~SpooledStdin() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove(path_, ignored);
}

}  // namespace kq::producer
