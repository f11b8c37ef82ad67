// What an audited child has told (gpu_worker/stub/audit.h), and what it means for its submission.
//
// The child is a submission's: every byte is hostile, and believed only against it. So a clean audit is no proof of anything, and gains nothing
// but the word `audit` beside the layers of its row: the times come from another child, which nobody listened to.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/hash.h"
#include "core/verdict.h"

namespace kq {

struct AuditReport {
  bool is_on = false;                 // CUPTI was there
  std::string off = {};               // why not
  std::optional<Evidence> rejection = {};
};

// Reads what the pipe held after `calls` answered calls. Lines that are none are left out. `python_home` is where the children's Python
// lives, which jobs cannot write to even if it lies below /tmp.
AuditReport read_audit(std::string_view text, std::uint32_t calls, std::string_view python_home = {});

// A library that makes streams for its own work, as seen in honest programs: judged by its file's name and where it lies. What lies where
// jobs write, or has no file, is the submission's whatever its name.
bool makes_streams_by_itself(std::string_view path, std::string_view python_home = {});

// Whether this submission's content, on this problem, has been audited here: nothing for "never", else how it ended. Bounded: the oldest goes.
class AuditMemory {
 public:
  static constexpr std::size_t kKeptMax = 4096;
  std::optional<AuditReport> find(const Hash& content) const;
  void keep(const Hash& content, AuditReport report);

 private:
  std::map<Hash, AuditReport> kept_;
  std::deque<Hash> order_;
};

}  // namespace kq
