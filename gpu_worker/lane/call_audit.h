// Reads what CUPTI reported of a submission's child (gpu_worker/child/runtime/audit.h), and decides whether the
// submission is rejected for it.
//
// The report comes from the submission's own process, so it is accepted as evidence against the submission only. A
// clean audit proves nothing; its only effect is the word `audit` among the sandbox layers of the result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/submission.h"
#include "core/verdict.h"

namespace kq::worker {

// What a job allows (Trials). Graphs include streams, because a capture needs one.
struct AuditPolicy {
  Streams streams = Streams::reject;
  Graphs graphs = Graphs::reject;
};

struct AuditReport {
  bool is_on = false;    // CUPTI was active in the child
  std::string off = {};  // why it was not
  std::optional<Evidence> rejection = {};
};

// Reads the content of the audit pipe after `calls` answered calls, of which at most kAuditHeardMax have a line.
// Invalid lines are ignored. `python_home` is the directory of the children's Python, which jobs cannot write to even
// if it is below /tmp.
AuditReport read_audit(std::string_view text, std::uint32_t calls, std::string_view python_home = {},
                       const AuditPolicy& policy = {});

// Returns the first of the modules of a line that is not CUDA's own: the caller; "?" if there is none.
std::string_view caller_in(std::string_view modules);

// Whether a file may be the submission's own: one in a directory that jobs can write to, or no file at all.
bool is_of_submission(std::string_view path, std::string_view python_home = {});

// Whether a library makes streams for its own work in honest programs, by its file name. A library in a directory that
// jobs can write to, or without a file, belongs to the submission and does not count.
bool is_stream_creating_library(std::string_view path, std::string_view python_home = {});

}  // namespace kq::worker
