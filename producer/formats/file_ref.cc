#include "producer/formats/file_ref.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string_view>

#include "core/limits.h"
#include "producer/formats/problem_folder.h"
#include "sys/error_text.h"

namespace kq::producer {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

Expected<std::string> checked(const std::string& where, std::string text) {
  if (text.size() > kFileBytesMax) {
    return bad_input(where + " is " + std::to_string(text.size()) + " bytes, a source may have " +
                     std::to_string(kFileBytesMax));
  }
  if (text.find_first_not_of(kBlanks) == std::string::npos) return bad_input(where + " is empty");
  if (!where.ends_with(".cubin") && text.find('\0') != std::string::npos)
    return bad_input(where + " is no source text: it holds NUL bytes");
  return text;
}

Expected<std::string> read_file(const std::string& path) {
  const auto system_error = [&] { return bad_input(sys::error_text(path)); };
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) return system_error();
  struct stat status {};
  if (fstat(file.number(), &status) != 0) return system_error();
  if (S_ISDIR(status.st_mode)) return bad_input(path + " is a directory, a file is needed");
  if (!S_ISREG(status.st_mode)) return bad_input(path + " is no regular file");
  if (status.st_size > static_cast<off_t>(kFileBytesMax)) {
    return bad_input(path + " is " + std::to_string(status.st_size) + " bytes, a source may have " +
                     std::to_string(kFileBytesMax));
  }
  std::string text(kFileBytesMax + 1, '\0');  // one byte more than allowed, which shows that the file has grown
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(file.number(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error();
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  text.shrink_to_fit();
  return text;
}

}  // namespace

FileRef file_ref(const std::filesystem::path& path) {
  return {path.filename().string(), path, std::nullopt};
}

FileRef problem_ref(const std::filesystem::path& path) {
  return {path.filename().string(), path, std::nullopt, true};
}

Expected<std::string> contents(const FileRef& file) {
  const std::string where = file.path.string();
  if (file.text) return checked(where, *file.text);
  Expected<std::string> text = read_file(where);
  if (!text) return text;
  text = checked(where, std::move(*text));
  return text && file.is_problem ? with_files_beside(std::move(*text), file.path) : text;
}

bool is_blank(const FileRef& file) {
  if (file.text) return file.text->find_first_not_of(kBlanks) == std::string::npos;
  std::ifstream content(file.path, std::ios::binary);
  if (!content.is_open()) return false;
  char c = 0;
  while (content.get(c)) {
    if (kBlanks.find(c) == std::string_view::npos) return false;
  }
  return content.eof();
}

bool is_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

}  // namespace kq::producer
