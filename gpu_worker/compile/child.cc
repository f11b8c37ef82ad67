#include "gpu_worker/compile/child.h"

#include <sys/wait.h>

#include <algorithm>

#include "gpu_worker/compile/outcome.h"
#include "gpu_worker/core/limit.h"
#include "sys/clock.h"
#include "sys/log_pump.h"

namespace kq::worker {
namespace {

constexpr std::int64_t kPollMs = 20;       // how often a build checks for a stop
constexpr std::int64_t kDiskPollMs = 250;  // how often it checks the limit of the disk

// Returns whether Linux killed a process of the child because of its memory limit, or a process reported in the log
// that it could get no more memory.
bool was_out_of_memory(int status, const std::string& log) {
  if ((status & kKilledForMemory) != 0) return true;
  constexpr std::string_view kMessages[] = {"MemoryError", "std::bad_alloc", "out of memory", "Cannot allocate memory"};
  return std::any_of(std::begin(kMessages), std::end(kMessages),
                     [&](std::string_view word) { return log.find(word) != std::string::npos; });
}

struct Waited {
  std::optional<int> status = {};  // of an ended child; not set after a time limit or a stop
  bool has_filled_disk = false;
};

Expected<Waited> wait_or_stop(Zygote& zygote, std::uint64_t child, std::int64_t limit_ms, const std::stop_token& stop,
                              const std::string& dir) {
  const std::int64_t deadline_ms = sys::monotonic_now_ms() + limit_ms;
  std::int64_t disk_poll_ms = sys::monotonic_now_ms() + kDiskPollMs;
  for (;;) {
    const std::int64_t now_ms = sys::monotonic_now_ms();
    if (stop.stop_requested() || now_ms >= deadline_ms) return Waited{};
    if (now_ms >= disk_poll_ms) {
      if (holds_more_than(dir, kBuildDiskMax)) return Waited{.has_filled_disk = true};
      disk_poll_ms = sys::monotonic_now_ms() + kDiskPollMs;
    }
    KQ_TRY_VALUE(const auto status, zygote.wait(child, std::min(deadline_ms - now_ms, kPollMs)));
    if (status) return Waited{.status = status, .has_filled_disk = holds_more_than(dir, kBuildDiskMax)};
  }
}

// Waits for the end of a running child; kills it at a limit or a stop.
Expected<BuildEnd> end_of(const BuildChild& child, Zygote& zygote, std::uint64_t id, sys::LogPump& log,
                          const std::string& dir, const std::stop_token& stop) {
  const auto waited = wait_or_stop(zygote, id, child.limit_ms, stop, dir);
  const auto status = waited.map([](const Waited& end) { return end.status; });
  if (!status || !*status) {
    zygote.kill(id);
    (void)zygote.wait(id, 5000);
  }
  zygote.forget(id);
  const std::string text = log.finish(1000);
  if (!status) return failure(status.error());
  if (stop.stop_requested()) return our_fault("stopped");
  BuildEnd end;
  if (waited->has_filled_disk) {
    end.verdict = build_ended(VerdictName::out_of_memory, "disk",
                              "the build wrote more than it may: " + std::to_string(kBuildDiskMax.bytes >> 20) +
                                  " MiB in " + std::to_string(kBuildDiskMax.entries) + " files");
    return end;
  }
  if (!*status) {
    end.verdict = build_timed_out(child.whole_limit_ms);
    return end;
  }
  end.was_killed_for_memory = (**status & kKilledForMemory) != 0;
  const bool has_succeeded = WIFEXITED(**status) && WEXITSTATUS(**status) == 0;
  if (has_succeeded) return end;
  end.verdict = was_out_of_memory(**status, text)
                    ? build_out_of_memory(child.host_bytes)
                    : build_ended(VerdictName::build_failed, {}, "the compiler's process died: " + text);
  return end;
}

}  // namespace

Verdict build_ended(VerdictName name, std::string reason, std::string_view message) {
  return ended(name, {.stage = Stage::build,
                      .reason = std::move(reason),
                      .message = shortened(message),
                      .hint = {},
                      .rule = {},
                      .place = {},
                      .mismatch = {}});
}

Verdict build_timed_out(std::int64_t limit_ms) {
  return build_ended(VerdictName::timed_out, "build", "the build took longer than " + limit_text(limit_ms));
}

Verdict build_out_of_memory(std::uint64_t host_bytes) {
  return build_ended(
      VerdictName::out_of_memory, "host",
      "the build took more memory than a build may have, " + std::to_string(bytes_of_build(host_bytes) >> 20) + " MiB");
}

Verdict build_beyond_memory(std::uint64_t host_bytes) {
  if (host_bytes >= kWastefulBuildBytes) return build_out_of_memory(host_bytes);
  return build_ended(VerdictName::too_large, "build",
                     "the build needs more memory than this worker can give it, " +
                         std::to_string(bytes_of_build(host_bytes) >> 20) + " MiB");
}

Expected<BuildEnd> run_build_child(const BuildChild& child, const Lease& lease, const Scratch& scratch, Zygote& zygote,
                                   const std::stop_token& stop) {
  KQ_TRY_VALUE(auto log, sys::LogPump::open());
  const auto id =
      zygote.fork({.role = child.role,
                   .backend = lease.submission.backend,
                   .dir = scratch.dir(),
                   .uid = child.uid,
                   .entry = lease.submission.files.empty() ? std::string() : lease.submission.files.front().name,
                   .problem = problem_file(lease),
                   .precision = lease.submission.problem.precision,
                   .arch = child.arch,
                   .shared = child.shared,
                   .host_bytes = child.host_bytes,
                   .scratch_bytes = kBuildScratchBytes,
                   .window_bytes = 0,
                   .cores = child.cores},
                  log.second.get(), -1);
  log.second = sys::Fd();
  if (!id) return failure(id.error());
  return end_of(child, zygote, *id, log.first, scratch.dir(), stop);
}

Expected<BuildEnd> run_preforked_build(const BuildChild& child, PreforkedBuild& preforked, const Scratch& scratch,
                                       const std::stop_token& stop) {
  return end_of(child, *preforked.zygote, preforked.id, preforked.log, scratch.dir(), stop);
}

}  // namespace kq::worker
