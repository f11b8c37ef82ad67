#include "store/rocks/direct_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace kq::store {
namespace {

constexpr std::size_t kMemoryBytes =
    (std::size_t{1} << 20) + DirectFile::kBlockBytes;  // a whole write of RocksDB's, behind a part of a block

// All of it, or errno. A disk that is full takes a part first, and says so then.
bool write_at(int fd, const char* bytes, std::size_t n, std::uint64_t at) {
  while (n > 0) {
    const ssize_t written = ::pwrite(fd, bytes, n, static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    at += static_cast<std::uint64_t>(written);
    n -= static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

std::unique_ptr<DirectFile> DirectFile::open(const std::string& path) {
  Memory memory(static_cast<char*>(std::aligned_alloc(kBlockBytes, kMemoryBytes)));
  if (memory == nullptr) return nullptr;
  const int fd = ::open(path.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC);
  if (fd < 0) return nullptr;
  std::unique_ptr<DirectFile> file(new DirectFile(fd, std::move(memory)));
  // Some file systems open it so and take other blocks, or none.
  std::memset(file->memory_.get(), 0, kBlockBytes);
  return write_at(fd, file->memory_.get(), kBlockBytes, 0) ? std::move(file) : nullptr;
}

DirectFile::~DirectFile() {
  ::close(fd_);
}

bool DirectFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), kMemoryBytes - last_bytes_n_);
    std::memcpy(memory_.get() + last_bytes_n_, bytes.data(), n);
    bytes.remove_prefix(n);
    const std::size_t used = last_bytes_n_ + n;
    const std::size_t whole = whole_blocks(used);
    std::memset(memory_.get() + used, 0, whole - used);
    if (!write_at(fd_, memory_.get(), whole, end_ - last_bytes_n_)) return false;
    end_ += n;
    last_bytes_n_ = used % kBlockBytes;
    std::memcpy(memory_.get(), memory_.get() + used - last_bytes_n_, last_bytes_n_);
  }
  return true;
}

bool DirectFile::write_ahead(std::string_view blocks, std::uint64_t at) {
  const bool are_blocks = reinterpret_cast<std::uintptr_t>(blocks.data()) % kBlockBytes == 0 &&
                          blocks.size() % kBlockBytes == 0 && at % kBlockBytes == 0;
  if (!are_blocks || at < end_) {
    errno = EINVAL;
    return false;
  }
  return write_at(fd_, blocks.data(), blocks.size(), at);
}

}  // namespace kq::store
