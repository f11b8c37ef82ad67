// The audit: reports which CUDA streams, contexts and deferred work a submission's child creates, and whose code did
// it.
//
// Theory of operation. Before any code of the submission runs, the child subscribes to CUPTI's callbacks. CUPTI calls
// them from inside the driver, so an event is reported however the submission found the entry point (a computed name,
// dlsym, cuGetProcAddress). Each event is written at once, as one line, to a pipe that the lane reads when the child
// has ended: the submission cannot take back a line that was written. Lines hold facts only;
// gpu_worker/lane/call_audit.h decides what they mean.
//
// The child is the process that is timed. A subscriber to object creation and rare calls does not slow down launches,
// but a subscriber to every launch does. So launches are reported only while the submission loads, in its first calls,
// and in the watched calls, which are never timed.
//
//   on\tLIBRARY                   the first line: the audit has subscribed
//   off\tWHY                      the audit could not subscribe
//   stream\tFLAGS\tMODULES        a stream was created; FLAGS as the driver received them, "?" if they are unknown
//   unjoined\t-\tMODULES          in a watched call: a stream had work that the default stream did not wait for
//   api\tNAME\tMODULES            a function of the driver or the runtime was called that no honest call needs
//   persist\tNAME\tMODULES        the caller asked for lines of the L2 cache to persist
//   context\t-\tMODULES           another context was created
//   waiting\tNAME\tMODULES        memory was copied while the child had only to wait for `go`
//   kernel, watched               what the GPU ran in a watched call (kernel_trace.h)
//   heard / silent                before each call: CUPTI reported a stream that the audit itself created, or did not
//   more                          there were more than kAuditLinesMax lines
//
// MODULES are the files whose code is on the stack, innermost first, joined by '|', without this library and CUPTI; "?"
// is code that no file holds. A line about something that was called from Python ends with "\tFILE:LINE" of the
// innermost Python frame that is no library's (python_place.h). A line that was already written is not repeated, except
// those of watched calls.
//
// The audit shares its process with the submission, so a hostile submission can silence it; the lines `heard` and
// `silent` make that hard. Only the name of a violation depends on the audit: times are the judge's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu_worker/child/runtime/kernel_trace.h"

namespace kq::runtime {

inline constexpr std::size_t kAuditLinesMax = 60;
inline constexpr std::size_t kAuditLineBytesMax = 1000;     // all lines together fit into a pipe
inline constexpr std::size_t kAuditPipeBytes = 256u << 10;  // of the pipe, where the kernel grants as much
inline constexpr int kAuditHeardMax = 64;                   // lines `heard`; later ones are not written
inline constexpr int kAuditModulesMax = 8;
inline constexpr std::size_t kAuditStreamsMax = 256;      // streams that are asked for unfinished work
inline constexpr int kGraphLaunchNotesMax = 4;            // launches of graphs whose origin is sought
inline constexpr std::size_t kWatchBytesMax = 96u << 10;  // lines of watched calls; later watched calls have none

// Says whether the child waits for the start of a call: the channel passes true with an answer, and false when the
// clock of the next call starts. In that time the judge writes the inputs of the next call, so a submission that copies
// memory then would have the inputs before its time starts; the audit reports such copies.
void set_waiting(bool is_waiting);

// The functions of CUPTI and of the driver that the audit calls. They return 0 when they succeed.
struct Cupti {
  using Callback = void (*)(void* user, std::uint32_t domain, std::uint32_t id, const void* data);
  int (*subscribe)(void** subscriber, Callback callback, void* user) = nullptr;
  int (*enable)(std::uint32_t on, void* subscriber, std::uint32_t domain, std::uint32_t id) = nullptr;
  int (*name)(std::uint32_t domain, std::uint32_t id, const char** name) = nullptr;
  int (*stream_create)(void** stream, unsigned flags) = nullptr;
  int (*stream_destroy)(void* stream) = nullptr;
  std::string library;  // the path or name of the CUPTI library
  // The functions below may be missing; watched calls then have no lines.
  CuptiActivity activity = {};
  int (*stream_synchronize)(void* stream) = nullptr;
  int (*stream_query)(void* stream) = nullptr;
  int (*synchronize)() = nullptr;  // waits for all streams of the context
};

// Finds CUPTI, preferring a library that is already loaded. Returns an empty string, or a sentence that says what is
// missing.
std::string find_cupti(Cupti& cupti);

// Subscribes to CUPTI and writes the lines described above to a pipe.
class Audit {
 public:
  // Subscribes and writes the line `on`, or `off` and the reason. `fd` is a pipe that never blocks the writer.
  void begin(const Cupti& cupti, int fd);
  // Checks that CUPTI still reports events: creates and destroys a stream, and writes `heard` if CUPTI reported the
  // stream, or `silent` if CUPTI did not.
  void poll();
  // Stops the reports of launches; the other events are still reported.
  void stop_launch_reports();
  // Begins and ends a watched call: what the submission launches between them is traced. end_watch() waits for the GPU.
  void begin_watch();
  void end_watch();

 private:
  static void on_event(void* audit, std::uint32_t domain, std::uint32_t id, const void* data);
  void on_resource(std::uint32_t id, const void* data);
  void on_call(const void* data);
  void on_stream(std::uint32_t id, const void* data);
  void enable_calls(std::uint32_t domain);
  void enable_launches(bool on);
  void note_unjoined();
  void note(std::string_view kind, std::string_view detail);
  void write_line(const std::string& line);

  Cupti cupti_;
  int fd_ = -1;
  void* subscriber_ = nullptr;
  std::mutex mutex_;
  std::set<std::string> lines_;
  std::atomic<int> graph_launch_notes_ = 0;
  int heard_count_ = 0;
  bool is_own_stream_reported_ = false;
  std::map<void*, std::string> streams_;  // that exist, with the modules and the place of their creation
  KernelTrace trace_;
  bool are_launches_reported_ = true;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> launch_functions_;  // domain and number of those that launch
  std::size_t watch_bytes_ = 0;
};

}  // namespace kq::runtime
