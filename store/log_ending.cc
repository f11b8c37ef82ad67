#include "store/log_ending.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <variant>

#include "store/crc32c.h"

namespace kq {
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

// What a reader finds at an offset.
enum class Odd { end_of_log, broken };

class Log {
 public:
  Log(std::string_view bytes, LogCheck check) : bytes_(bytes), check_(check) {}

  LogState state() const {
    std::uint64_t good = 0;
    bool inside = false;  // a record of several fragments
    for (std::uint64_t at = 0;;) {
      at = skip_trailer(at);
      const auto fragment = read(at, check_);
      if (const Odd* odd = std::get_if<Odd>(&fragment)) {
        if (!inside && is_blank_from(at)) return {LogEnding::whole, good};
        // A length that leads past the end is a write cut short, or a wrong length.
        if (begins_after(at)) {
          if (is_there_by_now(at)) continue;
          return {LogEnding::damaged, good};
        }
        return {*odd == Odd::end_of_log ? LogEnding::whole : LogEnding::torn, good};
      }
      const auto [type, end] = std::get<Fragment>(fragment);
      const bool begins = type == kFull || type == kFirst;
      if (begins == inside) return {begins || begins_after(at) ? LogEnding::damaged : LogEnding::torn, good};
      inside = type == kFirst || type == kMiddle;
      if (!inside) good = end;
      at = end;
    }
  }

 private:
  // The last bytes of a block are too few for a header.
  static std::uint64_t skip_trailer(std::uint64_t at) {
    const std::uint64_t left = kBlockBytes - at % kBlockBytes;
    return left < kHeaderBytes ? at + left : at;
  }

  std::variant<Fragment, Odd> read(std::uint64_t at, LogCheck check) const {
    if (at + kHeaderBytes > bytes_.size()) return Odd::end_of_log;
    const std::size_t length = byte_at(bytes_, at + 4) | std::size_t{byte_at(bytes_, at + 5)} << 8;
    const std::uint8_t type = byte_at(bytes_, at + 6);
    const std::uint64_t end = at + kHeaderBytes + length;
    if (type < kFull || type > kLast || end > (at / kBlockBytes + 1) * kBlockBytes) return Odd::broken;
    if (end > bytes_.size()) return Odd::end_of_log;
    if (check == LogCheck::checksums) {
      std::uint32_t stored = 0;
      for (int i = 3; i >= 0; --i) stored = stored << 8 | byte_at(bytes_, at + static_cast<std::size_t>(i));
      if (stored != stored_checksum(bytes_.substr(at + 6, length + 1))) return Odd::broken;
    }
    return Fragment{type, end};
  }

  // Whether a record begins anywhere behind `at`: lengths cannot be believed there, so every offset is tried.
  bool begins_after(std::uint64_t at) const {
    for (++at; at + kHeaderBytes <= bytes_.size(); ++at) {
      const std::uint8_t type = byte_at(bytes_, at + 6);
      if (type != kFull && type != kFirst) continue;
      if (std::holds_alternative<Fragment>(read(at, LogCheck::checksums))) return true;
    }
    return false;
  }

  // Room that was never written to.
  bool is_blank_from(std::uint64_t at) const { return bytes_.find_first_not_of('\0', at) == std::string_view::npos; }

  // A living process writes one record after the other: where one is behind, the one here is whole, though it was not when it was looked at.
  bool is_there_by_now(std::uint64_t at) const { return std::holds_alternative<Fragment>(read(at, LogCheck::checksums)); }

  const std::string_view bytes_;
  const LogCheck check_;
};

// A file's bytes, as far as they are looked at. The store is locked, or its owner writes behind what is there.
class Mapped {
 public:
  explicit Mapped(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat found {};
    if (file_ < 0 || ::fstat(file_, &found) != 0) return;
    size_ = static_cast<std::size_t>(found.st_size);
    if (size_ > 0) place_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file_, 0);
    ok_ = place_ != MAP_FAILED;
  }
  ~Mapped() {
    if (ok_ && size_ > 0) ::munmap(place_, size_);
    if (file_ >= 0) ::close(file_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  bool ok() const { return ok_; }
  std::string_view bytes() const { return {static_cast<const char*>(place_), size_}; }

 private:
  int file_ = -1;
  void* place_ = nullptr;
  std::size_t size_ = 0;
  bool ok_ = false;
};

}  // namespace

Expected<LogState> look_at_log(const std::string& path, LogCheck check) {
  const Mapped file(path);
  if (!file.ok()) return our_fault(path + ": cannot be read: " + std::strerror(errno));
  return Log(file.bytes(), check).state();
}

}  // namespace kq
