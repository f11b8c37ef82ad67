#include "gpu_worker/lane/call_audit.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <vector>

#include "gpu_worker/child/runtime/audit.h"

namespace kq::worker {
namespace {

constexpr std::size_t kMessageBytesMax = 600;

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(by);
    parts.push_back(text.substr(0, at));
    if (at == text.npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// Returns hostile bytes as printable ASCII.
std::string printable(std::string_view text) {
  std::string clean(text.substr(0, kMessageBytesMax));
  std::ranges::replace_if(
      clean, [](char letter) { return letter < ' ' || letter > '~'; }, '?');
  return clean;
}

std::string_view file_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool begins_with_any(std::string_view name, std::span<const std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

// Whether a library is the CUDA driver or runtime, which stand between a caller and CUPTI's callback.
bool is_cuda_itself(std::string_view path) {
  static constexpr std::array<std::string_view, 4> kCuda{"libcuda.so", "libcudart", "libnvidia-", "libcudadebugger"};
  return begins_with_any(file_of(path), kCuda);
}

// The library that called CUDA, and the one that called that library (for the message).
struct Callers {
  std::string_view caller;
  std::string_view its_caller;
};
Callers callers_of(std::string_view modules) {
  const auto parts = split(modules, '|');
  const auto first = std::ranges::find_if_not(parts, is_cuda_itself);
  if (first == parts.end()) return {"?", {}};
  const auto next = std::find_if(first + 1, parts.end(), [](std::string_view path) { return !is_cuda_itself(path); });
  return {*first, next == parts.end() ? std::string_view() : *next};
}

std::string to_text(const Callers& callers) {
  std::string text = callers.caller == "?" ? std::string("code without a file") : std::string(callers.caller);
  if (!callers.its_caller.empty()) text += ", called by " + std::string(callers.its_caller);
  return text;
}

struct Meaning {
  std::string_view kind;
  std::string_view rule;  // a name of guard/rules.cc if there is such a rule
  std::string_view reason;
  std::string_view text;
  std::string_view hint;
};
constexpr Meaning kMeanings[] = {
    {"stream", "cuda_stream_create", "stream", "created a CUDA stream", "launch on the current stream"},
    {"unjoined", "unjoined_stream", "stream", "left work on a CUDA stream that the current stream did not wait for",
     "wait for the stream before the call returns: torch.cuda.current_stream().wait_stream(stream)"},
    {"api", "cuda_graph", "stream", "called", "launch kernels directly, on the current stream"},
    {"persist", "persisting_l2", "policy", "asked for lines of the L2 cache to stay", "leave the cache as it is"},
    {"waiting", "copy_while_waiting", "async", "copied memory while it waited for a call",
     "what a call needs of its inputs is copied in the call"},
    {"context", "cuda_context", "policy", "created a CUDA context", "use the device's primary context"},
};

Meaning meaning_of(const Meaning& of_kind, std::string_view name) {
  Meaning found = of_kind;
  if (name.find("HostFunc") != name.npos || name.find("AddCallback") != name.npos ||
      name.find("HostNode") != name.npos) {
    found.rule = "host_callback";
    found.reason = "async";
  } else if (name.find("_pts") != name.npos || name.find("per-thread") != name.npos) {
    found.rule = "stream_per_thread";
  } else if (name.starts_with("cuGreenCtx")) {
    found.rule = "cuda_stream_create";
  }
  return found;
}

// Whether a job allows what a line reports.
bool is_allowed(const Meaning& meaning, std::string_view kind, const AuditPolicy& policy) {
  const bool are_graphs_allowed = policy.graphs == Graphs::allow;
  if (kind == "unjoined") return false;
  if (meaning.rule == "cuda_stream_create") return are_graphs_allowed || policy.streams == Streams::joined;
  return meaning.rule == "cuda_graph" && are_graphs_allowed;
}

// Returns the name and the line of the Python file that made the call, or else the file name of the calling library.
std::string place_of(const std::vector<std::string_view>& parts, const Callers& callers) {
  return printable(file_of(parts.size() == 4 ? parts[3] : callers.caller));
}

std::optional<Evidence> evidence_of_line(const std::vector<std::string_view>& parts, std::string_view python_home,
                                         const AuditPolicy& policy) {
  if (parts.size() != 3 && parts.size() != 4) return std::nullopt;
  const auto* const row = std::ranges::find(kMeanings, parts[0], &Meaning::kind);
  if (row == std::end(kMeanings)) return std::nullopt;
  const Callers callers = callers_of(parts[2]);
  if (is_stream_creating_library(callers.caller, python_home)) return std::nullopt;
  const Meaning meaning = row->kind == "api" ? meaning_of(*row, parts[1]) : *row;
  if (is_allowed(meaning, parts[0], policy)) return std::nullopt;
  std::string action(meaning.text);
  if (row->kind == "stream") action += parts[1] == "?" ? "" : " with flags " + std::string(parts[1]);
  if (row->kind == "api" || row->kind == "persist" || row->kind == "waiting")
    action += (row->kind == "api" ? " " : " by ") + std::string(parts[1]);
  return Evidence{.stage = Stage::judge,
                  .reason = std::string(meaning.reason),
                  .message = printable(to_text(callers) + " " + action),
                  .hint = std::string(meaning.hint),
                  .rule = std::string(meaning.rule),
                  .place = place_of(parts, callers),
                  .mismatch = {}};
}

Evidence evidence_of_silence() {
  return {.stage = Stage::judge,
          .reason = "tamper",
          .message = "CUPTI stopped reporting streams while the submission ran",
          .hint = "leave CUPTI and the harness alone; a profiler has no place in a submission",
          .rule = "profiler_tamper",
          .place = {},
          .mismatch = {}};
}

}  // namespace

std::string_view caller_in(std::string_view modules) {
  return callers_of(modules).caller;
}

AuditReport read_audit(std::string_view text, std::uint32_t calls, std::string_view python_home,
                       const AuditPolicy& policy) {
  AuditReport report;
  std::uint32_t answers = 0;
  bool is_silent = false;
  for (const std::string_view line : split(text, '\n')) {
    const auto parts = split(line, '\t');
    if (parts[0] == "on") report.is_on = true;
    if (parts[0] == "off" && parts.size() == 2 && !report.is_on) report.off = printable(parts[1]);
    if (parts[0] == "heard") ++answers;
    if (parts[0] == "silent") is_silent = true;
    if (!report.rejection) report.rejection = evidence_of_line(parts, python_home, policy);
  }
  if (!report.is_on && report.off.empty()) report.off = "the child reported nothing";
  // A stream is the stronger evidence, so silence counts only without one.
  if (report.is_on && !report.rejection &&
      (is_silent || answers < std::min<std::uint32_t>(calls, runtime::kAuditHeardMax)))
    report.rejection = evidence_of_silence();
  return report;
}

bool is_stream_creating_library(std::string_view library, std::string_view python_home) {
  static constexpr std::array<std::string_view, 11> kLibraries{"libcublas.so",
                                                               "libcublasLt.so",
                                                               "libcudnn",
                                                               "libcusolver",
                                                               "libcusparse",
                                                               "libcufft",
                                                               "libcurand.so",
                                                               "libcudss",
                                                               "libnccl.so",
                                                               "libcutensor",
                                                               "libtorch_cuda_linalg.so"};
  return !is_of_submission(library, python_home) && begins_with_any(file_of(library), kLibraries);
}

bool is_of_submission(std::string_view library, std::string_view python_home) {
  // Directories that a job can write to in its sandbox.
  static constexpr std::array<std::string_view, 5> kWritableByJobs{"/kq/", "/tmp/", "/dev/", "/proc/", "/memfd:"};
  // The loader keeps the ".." of search paths.
  const std::string path = std::filesystem::path(library).lexically_normal();
  if (!path.starts_with('/')) return true;
  return begins_with_any(path, kWritableByJobs) && (python_home.empty() || !path.starts_with(python_home));
}

}  // namespace kq::worker
