#include "broker/standby/lease_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <sstream>
#include <utility>

#include "sys/clock.h"
#include "sys/error_text.h"
#include "sys/fd.h"
#include "sys/file_lock.h"

namespace kq::broker {
namespace {

constexpr std::string_view kTitle = "kq broker lease 1";
constexpr std::size_t kLeaseBytesMax = 4u << 10;
constexpr int kLockAttemptsMax = 50;  // the other broker holds the lock for the time of one write
constexpr auto kLockPause = std::chrono::milliseconds(4);
constexpr int kRenewalsPerTakeover = 5;
constexpr mode_t kMode = 0644;

tl::unexpected<Error> failed(const std::string& path, const std::string& why) {
  return our_fault("lease file " + path + ": " + why);
}

std::string text_of(const LeaseRecord& record) {
  return std::string(kTitle) + "\nepoch " + std::to_string(record.epoch) + "\nbeat " + std::to_string(record.beat) +
         "\nreleased " + (record.is_released ? "yes" : "no") + "\nholder " + record.holder + "\nstandby " +
         record.standby + "\nurl " + record.url + "\n";
}

std::optional<LeaseRecord> record_in(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != kTitle) return std::nullopt;
  LeaseRecord record{.standby = ""};
  while (std::getline(lines, line)) {
    const std::size_t space = line.find(' ');
    if (space == std::string::npos) return std::nullopt;
    const std::string name = line.substr(0, space);
    const std::string value = line.substr(space + 1);
    if (name == "epoch") std::istringstream(value) >> record.epoch;
    if (name == "beat") std::istringstream(value) >> record.beat;
    if (name == "released") record.is_released = value == "yes";
    if (name == "holder") record.holder = value;
    if (name == "standby") record.standby = value;
    if (name == "url") record.url = value;
  }
  if (record.epoch == 0 || record.holder.empty() || record.standby.empty()) return std::nullopt;
  return record;
}

// Replaces the file. `is_synced`: the new text survives a loss of power.
Expected<void> write_lease(const std::string& path, const LeaseRecord& record, bool is_synced) {
  const std::string temporary = path + ".new." + std::to_string(record.epoch);  // each epoch has one writer
  const std::string text = text_of(record);
  const sys::Fd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
  const bool written = file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       (!is_synced || ::fsync(file.get()) == 0) && ::rename(temporary.c_str(), path.c_str()) == 0;
  if (!written) return failed(path, sys::error_text(errno));
  return {};
}

Expected<sys::FileLock> take_lock(const std::string& path, const std::string& holder) {
  for (int attempts_left = kLockAttemptsMax; attempts_left > 0; --attempts_left) {
    KQ_TRY_VALUE(auto lock, sys::FileLock::take(path + ".lock", holder + "\n", kMode));
    if (lock) return *std::move(lock);
    std::this_thread::sleep_for(kLockPause);
  }
  return failed(path, "its lock is held by " + sys::FileLock::holder_of(path + ".lock"));
}

}  // namespace

Expected<std::optional<LeaseRecord>> read_lease(const std::string& path) {
  const sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return std::optional<LeaseRecord>();
  std::string text(kLeaseBytesMax, '\0');
  const ssize_t length = file ? ::read(file.get(), text.data(), text.size()) : -1;
  if (length < 0) return failed(path, sys::error_text(errno));
  text.resize(static_cast<std::size_t>(length));
  auto record = record_in(text);
  if (!record) return failed(path, "it is not a lease of kq; name another file, or remove it if no broker runs");
  return record;
}

bool LeaseWatch::is_over(const LeaseRecord& record, std::int64_t now_ms) {
  if (!seen_ || *seen_ != record) {
    seen_ = record;
    since_ms_ = now_ms;
  }
  return record.is_released || now_ms - since_ms_ >= takeover_ms_;
}

Expected<std::unique_ptr<HeldLease>> HeldLease::take(const Options& options, const std::optional<LeaseRecord>& before,
                                                     LeaseRecord record) {
  const std::int64_t now_ms = sys::monotonic_now_ms();
  KQ_TRY_VALUE(const auto held, take_lock(options.path, record.holder));
  KQ_TRY_VALUE(const auto present, read_lease(options.path));
  if (present != before) return std::unique_ptr<HeldLease>();
  record.beat = before ? before->beat + 1 : 1;
  KQ_TRY(write_lease(options.path, record, true));
  return std::unique_ptr<HeldLease>(new HeldLease(options, std::move(record), now_ms));
}

HeldLease::HeldLease(Options options, LeaseRecord record, std::int64_t renewed_ms)
    : options_(std::move(options)),
      record_(std::move(record)),
      renewed_ms_(renewed_ms),
      touched_ms_(renewed_ms),
      thread_([this] { run(); }) {}

HeldLease::~HeldLease() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
  const std::lock_guard guard(mutex_);
  record_.is_released = true;
  if (!lost_) (void)renew(true);
}

bool HeldLease::is_valid() const {
  if (sys::monotonic_now_ms() - renewed_ms_ > options_.takeover_ms * 3 / 4) lost_ = true;
  return !lost_;
}

void HeldLease::touch() {
  touched_ms_ = sys::monotonic_now_ms();
}

Expected<void> HeldLease::set_standby(const std::string& name) {
  const std::lock_guard guard(mutex_);
  if (record_.standby == name) return {};
  record_.standby = name;
  KQ_TRY_VALUE(const bool renewed, renew(true));
  if (!renewed) return failed(options_.path, "another broker holds it");
  return {};
}

void HeldLease::run() {
  std::unique_lock guard(mutex_);
  while (!stop_ && !lost_) {
    changed_.wait_for(guard, std::chrono::milliseconds(options_.takeover_ms / kRenewalsPerTakeover));
    if (stop_ || !is_valid() || sys::monotonic_now_ms() - touched_ms_ > options_.stuck_ms) continue;
    const auto renewed = renew(false);
    // An error of the file system may pass; if it lasts, is_valid() ends the service.
    if (renewed && !*renewed) lost_ = true;
  }
}

Expected<bool> HeldLease::renew(bool is_synced) {
  const std::int64_t now_ms = sys::monotonic_now_ms();
  KQ_TRY_VALUE(const auto present, read_lease(options_.path));
  const bool is_lost = !present || present->epoch > record_.epoch ||
                       (present->epoch == record_.epoch && present->holder != record_.holder);
  if (is_lost) return false;
  record_.beat = std::max(record_.beat, present->beat) + 1;
  KQ_TRY(write_lease(options_.path, record_, is_synced));
  renewed_ms_ = now_ms;
  return true;
}

}  // namespace kq::broker
