#include "broker/standby/copy_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "sys/error_text.h"

namespace kq::broker {

namespace fs = std::filesystem;

Expected<CopySource> CopySource::open(const std::string& dir) {
  CopySource source(dir);
  std::error_code error;
  for (fs::directory_iterator entry(dir, error), end; !error && entry != end; entry.increment(error))
    source.names_.push_back(entry->path().filename());
  if (error) return our_fault(dir + ": " + error.message());
  std::ranges::sort(source.names_);
  return source;
}

CopySource::~CopySource() {
  std::error_code stays;  // the next checkpoint removes it
  if (!dir_.empty()) fs::remove_all(dir_, stays);
}

Expected<std::optional<CopySource::Part>> CopySource::next(std::size_t bytes_max) {
  while (at_ < names_.size()) {
    const std::string path = dir_ + "/" + names_[at_];
    if (!file_) {
      file_ = sys::Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
      offset_ = 0;
    }
    Part part{.name = names_[at_], .offset = offset_, .bytes = std::string(bytes_max, '\0')};
    const ssize_t length = file_ ? ::read(file_.get(), part.bytes.data(), bytes_max) : -1;
    if (length < 0) return our_fault(path + ": " + sys::error_text(errno));
    part.bytes.resize(static_cast<std::size_t>(length));
    offset_ += part.bytes.size();
    if (!part.bytes.empty() || part.offset == 0) {
      if (part.bytes.size() < bytes_max) {
        file_ = {};
        ++at_;
      }
      return std::optional(std::move(part));
    }
    file_ = {};
    ++at_;
  }
  return std::optional<Part>();
}

}  // namespace kq::broker
