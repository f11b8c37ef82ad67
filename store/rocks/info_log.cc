#include "store/rocks/info_log.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <system_error>

namespace kq::store {
namespace {

constexpr std::size_t kLineBytesMax = 4096;

class InfoLog final : public rocksdb::Logger {
 public:
  explicit InfoLog(const std::string& dir)
      : rocksdb::Logger(rocksdb::InfoLogLevel::WARN_LEVEL), path_(std::filesystem::path(dir) / "LOG") {
    begin();
  }
  ~InfoLog() override {
    if (file_ != nullptr) std::fclose(file_);
  }

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    char line[kLineBytesMax];
    const int length = std::vsnprintf(line, sizeof line, format, arguments);
    const std::lock_guard lock(mutex_);
    if (bytes_ > kInfoLogBytesMax) begin();
    if (file_ == nullptr || length < 0) return;
    const std::time_t now = std::time(nullptr);
    std::tm utc = {};
    gmtime_r(&now, &utc);
    char when[32];
    std::strftime(when, sizeof when, "%FT%TZ", &utc);
    const int written = std::fprintf(file_, "%s %s\n", when, line);
    std::fflush(file_);
    bytes_ += static_cast<std::size_t>(std::max(written, 0));
  }
  // Drops the header, which lists all settings at every opening: the OPTIONS file holds them.
  void LogHeader(const char*, va_list) override {}

 private:
  void begin() {
    if (file_ != nullptr) std::fclose(file_);
    std::error_code error;  // there is no older log, or it cannot be renamed
    std::filesystem::rename(path_, path_.string() + ".old", error);
    file_ = std::fopen(path_.c_str(), "we");
    bytes_ = 0;
  }

  const std::filesystem::path path_;
  std::mutex mutex_;
  std::FILE* file_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace

std::shared_ptr<rocksdb::Logger> open_info_log(const std::string& dir) {
  return std::make_shared<InfoLog>(dir);
}

}  // namespace kq::store
