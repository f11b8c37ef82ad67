// What CUPTI has told in a submission's child (gpu_worker/child/runtime/audit.h), and what it means for the submission.
//
// Every byte is hostile, and believed only against it. So a clean audit is no proof of anything, and gains nothing but
// the word `audit` beside the layers of its row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/verdict.h"

namespace kq::worker {

struct AuditReport {
  bool is_on = false;    // CUPTI was there
  std::string off = {};  // why not
  std::optional<Evidence> rejection = {};
};

// Reads what the pipe held after `calls` answered calls, of which no more than kAuditAnswersMax are told. Lines that
// are none are left out. `python_home` is where the children's Python lives, which jobs cannot write to even if it lies
// below /tmp.
AuditReport read_audit(std::string_view text, std::uint32_t calls, std::string_view python_home = {});

// A library that makes streams for its own work, as seen in honest programs: judged by its file's name and where it
// lies. What lies where jobs write, or has no file, is the submission's whatever its name.
bool makes_streams_by_itself(std::string_view path, std::string_view python_home = {});

}  // namespace kq::worker
