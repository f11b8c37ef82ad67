#include "gpu_worker/build/builder.h"

#include <sys/wait.h>

#include <algorithm>

#include "core/plan.h"
#include "gpu_worker/build/outcome.h"
#include "gpu_worker/log_pump.h"
#include "gpu_worker/scratch.h"
#include "net/clock.h"

namespace kq {
namespace {

constexpr std::uint64_t kScratchBytes = 1ull << 30;
constexpr std::int64_t kLookMs = 20;  // how often a build looks whether it is still wanted

Built ended_build(VerdictName name, Evidence evidence) {
  return {.verdict = ended(name, std::move(evidence)), .dir = {}, .cached = false, .ms = 0};
}

// "cpu" jobs of a backend that only a GPU can run end here, built.
bool only_compiles(const Lease& lease) {
  return lease.submission.backend == Backend::cuda && lease.device.kind == DeviceKind::cpu;
}

bool is_cpp(std::string_view name) {
  constexpr std::string_view kEndings[] = {".cu", ".cuh", ".h", ".hpp", ".hh", ".cc", ".cpp", ".cxx", ".c", ".inl"};
  return std::any_of(std::begin(kEndings), std::end(kEndings), [&](std::string_view ending) { return name.ends_with(ending); });
}

// C++ files need no compiler to be read: what breaks a rule is told before anything runs.
std::optional<Built> judge_cpp_files(const Lease& lease) {
  std::vector<std::string> bytes;
  std::vector<CppSource> sources;
  bytes.reserve(lease.submission.files.size());
  for (const SourceFile& file : lease.submission.files) {
    auto content = file_of(lease, file.hash);
    if (!content) continue;  // the build says so
    sources.push_back({.name = file.name, .text = bytes.emplace_back(std::move(*content))});
  }
  for (const CppSource& source : sources) {
    if (!is_cpp(source.name)) continue;
    const auto findings = judge_cuda(source, sources);
    if (const Finding* finding = first_rejected(findings)) return Built{.verdict = rejected(*finding), .dir = {}, .cached = false, .ms = 0};
  }
  return std::nullopt;
}

// A compiler that the kernel ended for its memory, or that said itself that it could get no more of it.
bool was_out_of_memory(int status, const std::string& said) {
  if ((status & kKilledForMemory) != 0) return true;
  constexpr std::string_view kWords[] = {"MemoryError", "std::bad_alloc", "out of memory", "Cannot allocate memory"};
  return std::any_of(std::begin(kWords), std::end(kWords), [&](std::string_view word) { return said.find(word) != std::string::npos; });
}

Built out_of_memory(std::uint64_t host_bytes) {
  return ended_build(VerdictName::out_of_memory, {.stage = Stage::build,
                                                  .reason = "host",
                                                  .message = "the build took more memory than a build may have, " + std::to_string(host_bytes >> 20) + " MiB",
                                                  .hint = {}, .rule = {}, .place = {}, .mismatch = {}});
}

// The wait status once the child is gone; nothing at the limit, or when it is to stop.
Expected<std::optional<int>> wait_or_stop(Zygote& zygote, std::uint64_t child, std::int64_t limit_ms, const std::stop_token& stop) {
  const std::int64_t deadline_ms = monotonic_now_ms() + limit_ms;
  for (;;) {
    const std::int64_t left_ms = deadline_ms - monotonic_now_ms();
    if (stop.stop_requested() || left_ms <= 0) return std::optional<int>();
    auto status = zygote.wait(child, std::min(left_ms, kLookMs));
    if (!status || *status) return status;
  }
}

}  // namespace

Builder::Builder(BuilderOptions options, BuildCache cache, ZygoteSource zygote)
    : options_(std::move(options)), cache_(std::move(cache)), zygote_(std::move(zygote)) {}

Expected<Built> Builder::build(const Lease& lease, std::stop_token stop) {
  if (stop.stop_requested()) return our_fault("stopped before it began");
  if (auto built = judge_cpp_files(lease)) return std::move(*built);
  const std::int64_t start_ms = monotonic_now_ms();
  const auto zygote = zygote_();
  if (!zygote) return failure(zygote.error());
  const std::string arch = lease.device.arch.empty() ? options_.no_gpu_arch : lease.device.arch;
  const Hash key = build_key(lease.submission, arch, (*zygote)->software());
  auto cached = from_cache(lease, key);
  auto built = cached ? Expected<Built>(std::move(*cached)) : run_child(lease, arch, key, **zygote, stop);
  if (built) built->ms = monotonic_now_ms() - start_ms;
  return built;
}

// Only builds that went well are kept: an entry that says otherwise was damaged, and goes.
std::optional<Built> Builder::from_cache(const Lease& lease, const Hash& key) const {
  const auto entry = cache_.find(key);
  if (!entry) return std::nullopt;
  auto built = outcome(lease, *entry, true);
  if (!built.verdict || name_of(*built.verdict) != VerdictName::build_failed) return built;
  cache_.remove(key);
  return std::nullopt;
}

Expected<Built> Builder::run_child(const Lease& lease, const std::string& arch, const Hash& key, Zygote& zygote,
                                   const std::stop_token& stop) {
  const auto scratch = Scratch::make(options_.scratch, "build", options_.uid);
  if (!scratch) return failure(scratch.error());
  if (const auto put = put_sources(*scratch, lease, true); !put) return failure(put.error());
  auto log = LogPump::open();
  if (!log) return failure(log.error());
  const auto child = zygote.fork({.role = ChildRole::build,
                                  .backend = lease.submission.backend,
                                  .dir = scratch->dir(),
                                  .uid = options_.uid,
                                  .entry = lease.submission.files.front().name,
                                  .problem = problem_file(lease),
                                  .precision = lease.submission.problem.precision,
                                  .arch = arch,
                                  .host_bytes = options_.host_bytes,
                                  .scratch_bytes = kScratchBytes,
                                  .window_bytes = 0},
                                 log->second.get(), -1);
  log->second = Fd();
  if (!child) return failure(child.error());
  const auto status = wait_or_stop(zygote, *child, options_.limit_ms, stop);
  if (!status || !*status) {
    zygote.kill(*child);
    (void)zygote.wait(*child, 5000);
  }
  zygote.forget(*child);
  const std::string text = log->first.finish(1000);
  if (!status) return failure(status.error());
  if (stop.stop_requested()) return our_fault("stopped");
  if (!*status) {
    return ended_build(VerdictName::timed_out, {.stage = Stage::build,
                                                .reason = "build",
                                                .message = "the build took longer than " + std::to_string(options_.limit_ms / 1000) + " s",
                                                .hint = {}, .rule = {}, .place = {}, .mismatch = {}});
  }
  const bool is_whole = WIFEXITED(**status) && WEXITSTATUS(**status) == 0;
  if (!is_whole && was_out_of_memory(**status, text)) return out_of_memory(options_.host_bytes);
  if (!is_whole) {
    return ended_build(VerdictName::build_failed, {.stage = Stage::build,
                                                   .reason = {},
                                                   .message = shortened("the compiler's process died: " + text),
                                                   .hint = {}, .rule = {}, .place = {}, .mismatch = {}});
  }
  Built built = outcome(lease, scratch->out(), false);
  // A compiler that was killed, of a child that lives on and tells of it in its way.
  const bool has_failed = built.verdict && name_of(*built.verdict) == VerdictName::build_failed;
  if (has_failed && (**status & kKilledForMemory) != 0) return out_of_memory(options_.host_bytes);
  if (built.verdict && name_of(*built.verdict) != VerdictName::compiled_only) return built;
  const auto entry = cache_.put(key, scratch->out());
  if (!entry && entry.error().code == ExitCode::bad_input) {
    return ended_build(VerdictName::build_failed, {.stage = Stage::build, .reason = {}, .message = entry.error().message,
                                                   .hint = {}, .rule = {}, .place = {}, .mismatch = {}});
  }
  if (!entry) return failure(entry.error());
  built.dir = *entry;
  return built;
}

Built Builder::outcome(const Lease& lease, const std::string& dir, bool cached) const {
  if (auto verdict = read_outcome(dir)) return {.verdict = std::move(*verdict), .dir = {}, .cached = false, .ms = 0};
  Built built{.verdict = {}, .dir = dir, .cached = cached, .ms = 0};
  if (only_compiles(lease)) {
    built.verdict = ended(VerdictName::compiled_only, {.stage = Stage::build, .reason = {}, .message = "built; running it needs a GPU",
                                                       .hint = {}, .rule = {}, .place = {}, .mismatch = {}});
  }
  return built;
}

}  // namespace kq
