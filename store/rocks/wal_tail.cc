#include "store/rocks/wal_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "store/rocks/crc32c.h"
#include "sys/error_text.h"

namespace kq::store {
namespace {

constexpr std::size_t kBlockBytes = 32'768;
constexpr std::size_t kHeaderBytes = 7;  // checksum 4, length 2, type 1
constexpr std::uint8_t kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4;

std::uint8_t byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

// CRC32C, rotated and shifted as RocksDB stores it, so that a checksum of checksums does not become trivial.
std::uint32_t stored_checksum(std::string_view bytes) {
  const std::uint32_t crc = crc32c(0, bytes);
  return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

struct Fragment {
  std::uint8_t type;
  std::uint64_t end;
};

// The reasons for which no fragment can be read at an offset.
enum class NoFragment { end_of_log, broken };

// Reads a file one block at a time, because another process may be writing it. Its size is the one at the opening. If
// that process truncates the file meanwhile, the missing bytes were preallocated space and read as zeros. (Reading a
// memory map there would end this process with SIGBUS.)
class Blocks {
 public:
  explicit Blocks(const std::string& path)
      : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), block_(kBlockBytes, '\0') {
    struct stat found {};
    if (file_ < 0 || ::fstat(file_, &found) != 0) {
      error_ = errno;
    } else {
      size_ = static_cast<std::uint64_t>(found.st_size);
    }
  }
  ~Blocks() {
    if (file_ >= 0) ::close(file_);
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  int error() const { return error_; }  // errno of the first failed read, or 0
  std::uint64_t size() const { return size_; }

  // Returns the bytes from `at` to the end of its block or of the file, as they were when the block was last read.
  std::string_view from(std::uint64_t at) {
    if (begin_ != at - at % kBlockBytes) load(at - at % kBlockBytes);
    return std::string_view(block_).substr(at - *begin_, size_ - at);
  }
  void forget() { begin_.reset(); }

 private:
  void load(std::uint64_t begin) {
    std::size_t got = 0;
    while (got < kBlockBytes) {
      const ssize_t n = ::pread(file_, block_.data() + got, kBlockBytes - got, static_cast<off_t>(begin + got));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && error_ == 0) error_ = errno;
      if (n <= 0) break;
      got += static_cast<std::size_t>(n);
    }
    std::memset(block_.data() + got, 0, kBlockBytes - got);
    begin_ = begin;
  }

  int file_ = -1;
  int error_ = 0;
  std::uint64_t size_ = 0;
  std::string block_;
  std::optional<std::uint64_t> begin_;  // offset of the block in block_
};

class Log {
 public:
  Log(Blocks& blocks, WalCheck check) : blocks_(blocks), check_(check) {}

  WalState state() {
    std::uint64_t good = 0;
    bool inside = false;  // whether a record of several fragments has begun
    for (std::uint64_t at = 0;;) {
      at = skip_trailer(at);
      const auto fragment = read(at, check_);
      if (const auto* none = std::get_if<NoFragment>(&fragment)) {
        if (!inside && is_blank_from(at)) return {WalTail::whole, good};
        // A length past the end of the file is a wrong length if records follow, and otherwise a write that was cut
        // short.
        if (begins_after(at)) {
          if (is_complete_now(at)) continue;
          return {WalTail::damaged, good};
        }
        return {*none == NoFragment::end_of_log ? WalTail::whole : WalTail::torn, good};
      }
      const auto [type, end] = std::get<Fragment>(fragment);
      const bool begins = type == kFull || type == kFirst;
      if (begins == inside) return {begins || begins_after(at) ? WalTail::damaged : WalTail::torn, good};
      inside = type == kFirst || type == kMiddle;
      if (!inside) good = end;
      at = end;
    }
  }

 private:
  // Skips the last bytes of a block if they are too few for a header.
  static std::uint64_t skip_trailer(std::uint64_t at) {
    const std::uint64_t left = kBlockBytes - at % kBlockBytes;
    return left < kHeaderBytes ? at + left : at;
  }

  std::variant<Fragment, NoFragment> read(std::uint64_t at, WalCheck check) {
    if (at + kHeaderBytes > blocks_.size()) return NoFragment::end_of_log;
    const std::string_view bytes = blocks_.from(at);
    if (bytes.size() < kHeaderBytes) return NoFragment::broken;
    const std::size_t length = byte_at(bytes, 4) | std::size_t{byte_at(bytes, 5)} << 8;
    const std::uint8_t type = byte_at(bytes, 6);
    const std::uint64_t end = at + kHeaderBytes + length;
    if (type < kFull || type > kLast || end > (at / kBlockBytes + 1) * kBlockBytes) return NoFragment::broken;
    if (end > blocks_.size()) return NoFragment::end_of_log;
    if (check == WalCheck::checksums) {
      std::uint32_t stored = 0;
      for (std::size_t i = 4; i-- > 0;) stored = stored << 8 | byte_at(bytes, i);
      if (stored != stored_checksum(bytes.substr(6, length + 1))) return NoFragment::broken;
    }
    return Fragment{type, end};
  }

  // Returns whether a record begins anywhere after `at`. Lengths cannot be trusted there, so every offset is tried.
  bool begins_after(std::uint64_t at) {
    for (++at; at + kHeaderBytes <= blocks_.size(); ++at) {
      const std::string_view bytes = blocks_.from(at);
      if (bytes.size() < kHeaderBytes) continue;
      const std::uint8_t type = byte_at(bytes, 6);
      if (type != kFull && type != kFirst) continue;
      if (std::holds_alternative<Fragment>(read(at, WalCheck::checksums))) return true;
    }
    return false;
  }

  // Returns whether only zeros follow: preallocated space.
  bool is_blank_from(std::uint64_t at) {
    while (at < blocks_.size()) {
      const std::string_view bytes = blocks_.from(at);
      if (bytes.find_first_not_of('\0') != std::string_view::npos) return false;
      at += bytes.size();
    }
    return true;
  }

  // Reads the fragment at `at` again. A living process writes one record after the other, so if a later record exists,
  // this one is complete by now, although it was not when it was first read.
  bool is_complete_now(std::uint64_t at) {
    blocks_.forget();
    return std::holds_alternative<Fragment>(read(at, WalCheck::checksums));
  }

  Blocks& blocks_;
  const WalCheck check_;
};

}  // namespace

Expected<WalState> check_wal_tail(const std::string& path, WalCheck check) {
  Blocks blocks(path);
  WalState state;
  if (blocks.error() == 0) state = Log(blocks, check).state();
  if (blocks.error() != 0) return our_fault(path + ": cannot be read: " + sys::error_text(blocks.error()));
  return state;
}

std::string newest_log(const std::string& dir) {
  const auto is_older = [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  };
  std::string newest;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    if (entry.path().extension() == ".log") newest = std::max(newest, entry.path().string(), is_older);
  }
  return newest;
}

}  // namespace kq::store
