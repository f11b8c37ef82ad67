// The witness in a submission's child: what CUPTI says is created or deferred there, and whose code asked for it.
//
// Theory of operation. Before a line of the submission runs the child subscribes to CUPTI's callbacks, which sit inside
// of the driver: they come however the entry point was found (a name that was computed, dlsym, cuGetProcAddress). Each
// event is written at once, as one line, to a pipe that the lane reads when the child is done: what was written cannot
// be taken back. Lines hold facts; what they mean is decided in gpu_worker/lane/call_audit.h.
//
// It is the child that is timed. On an H200 a launch took 3.15 us without a subscriber and with one that hears what is
// created and what is rarely called; 3.33 us with one that hears every launch. So launches are heard while the
// submission loads and is first called, and no longer.
//
//   on\tLIBRARY                   subscribed; the first line
//   off\tWHY                      could not
//   stream\tFLAGS\tMODULES        a stream was made; FLAGS as the driver got them, "?" where it was not told
//   api\tNAME\tMODULES            a function of the driver or the runtime that no honest call needs
//   persist\tNAME\tMODULES        lines of the L2 cache are asked to stay
//   context\t-\tMODULES           another context
//   waiting\tNAME\tMODULES        memory was copied while the child had nothing to do but wait for `go`
//   heard / silent                before each call: a stream that this file made itself was announced, or was not
//   more                          there was more than kAuditLinesMax
//
// MODULES are the files whose code is on the stack, innermost first, joined by '|', without this library and CUPTI; "?"
// is code that no file holds. The same line comes once.
//
// It shares its process with the submission, so that a hostile one can silence it; `heard` makes that an effort.
// Nothing depends on it but the name of what was done: the judge's clock does not care.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace kq::runtime {

inline constexpr std::size_t kAuditLinesMax = 60;
inline constexpr std::size_t kAuditLineBytesMax = 1000;  // all of them fit into a pipe
inline constexpr int kAuditAnswersMax = 64;              // `heard`; more are not told
inline constexpr int kAuditModulesMax = 8;

// From an answer until the clock of the next call has begun, which the channel says. The inputs of a call are laid down
// then, and who copies them has them before its time begins.
void set_waiting(bool is_waiting);

// The part of CUPTI and of the driver that is used. Functions return 0 when they succeed.
struct Cupti {
  using Callback = void (*)(void* user, std::uint32_t domain, std::uint32_t id, const void* data);
  int (*subscribe)(void** subscriber, Callback callback, void* user) = nullptr;
  int (*enable)(std::uint32_t on, void* subscriber, std::uint32_t domain, std::uint32_t id) = nullptr;
  int (*name)(std::uint32_t domain, std::uint32_t id, const char** name) = nullptr;
  int (*stream_create)(void** stream, unsigned flags) = nullptr;
  int (*stream_destroy)(void* stream) = nullptr;
  std::string library;  // where it came from
};

// What is loaded here already, or can be. The sentence of what is missing, or empty.
std::string find_cupti(Cupti& cupti);

class Audit {
 public:
  // Subscribes and writes `on`, or `off` and why. `fd` takes lines without ever blocking us.
  void begin(const Cupti& cupti, int fd);
  // Whether a stream of our own is still announced.
  void listen();
  // From here on no launch is heard.
  void leave_launches();

 private:
  static void hear(void* audit, std::uint32_t domain, std::uint32_t id, const void* data);
  void heard_resource(std::uint32_t id, const void* data);
  void heard_call(const void* data);
  void enable_calls(std::uint32_t domain);
  void note(std::string_view kind, std::string_view detail);
  void write_line(const std::string& line);

  Cupti cupti_;
  int fd_ = -1;
  void* subscriber_ = nullptr;
  std::mutex mutex_;
  std::set<std::string> lines_;
  int answers_ = 0;
  bool heard_ours_ = false;
};

}  // namespace kq::runtime
