// The kernel trace: which kernels the GPU runs in a watched call of a submission, how often, for how long, and whose
// code launched them.
//
// Theory of operation. begin() switches on CUPTI's activity records of kernels; the audit (audit.h) passes each launch
// that CUPTI reports to on_launch(). end() is called when the GPU has finished: it flushes CUPTI's buffers, switches
// the records off and returns one line for each kernel:
//
//   kernel\tCOUNT\tNS\tMODULES\tNAME     the longest first, at most kTraceKernelsMax
//   watched\tKERNELS\tLEFT_OUT_NS         the last line of a watched call: the number of its kernels, and the time of
//                                         those without a line
//
// MODULES are as in the audit, those of the first launch of this kernel by its correlation number. A kernel of a graph
// has the number of the graph's launch; its modules are those of the launch of the same name while it was captured. "-"
// means that no launch was reported.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kq::runtime {

inline constexpr std::size_t kTraceKernelsMax = 32;           // kernels with a line
inline constexpr std::size_t kTraceDistinctMax = 512;         // kernels that are told apart; later ones are left out
inline constexpr std::size_t kTraceLaunchesMax = 512;         // launches of one watched call whose modules are noted
inline constexpr std::size_t kTraceNameBytesMax = 160;        // of a demangled name in a line
inline constexpr std::size_t kTraceModulesBytesMax = 400;     // of the modules in a line
inline constexpr std::size_t kTraceBufferBytes = 256u << 10;  // of activity records, for about 1,300 kernels
inline constexpr int kTraceBuffersMax = 64;                   // of one watched call; later records are lost

// The functions of CUPTI that the trace calls. They return 0 when they succeed.
struct CuptiActivity {
  using Requested = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* record_count_max);
  using Completed = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                             std::size_t valid_size);
  int (*register_callbacks)(Requested requested, Completed completed) = nullptr;
  int (*enable)(int kind) = nullptr;
  int (*disable)(int kind) = nullptr;
  int (*flush)(std::uint32_t flag) = nullptr;
  int (*next)(std::uint8_t* buffer, std::size_t valid_size, void** record) = nullptr;

  bool is_complete() const { return register_callbacks && enable && disable && flush && next; }
};

// The first fields of CUPTI's record of a kernel, which are the same in CUDA 12 and 13 (CUpti_ActivityKernel9, 10).
struct KernelRecord {
  std::uint32_t kind;
  std::uint8_t configuration[12];
  std::uint64_t start_ns;
  std::uint64_t end_ns;
  std::uint64_t completed_ns;
  std::uint32_t places[3];  // device, context, stream
  std::int32_t shape[6];
  std::int32_t memory[4];
  std::uint32_t correlation;
  std::int64_t grid;
  const char* name;
};
static_assert(offsetof(KernelRecord, start_ns) == 16);
static_assert(offsetof(KernelRecord, correlation) == 92);
static_assert(offsetof(KernelRecord, name) == 104);

class KernelTrace {
 public:
  // Starts to record kernels. Returns false, and records nothing, where CUPTI refuses.
  bool begin(const CuptiActivity& activity);
  // Stops and returns the lines of this watched call. Comes when the GPU has finished what the call has launched.
  std::vector<std::string> end();
  bool is_on() const { return is_on_; }

  // Whether the modules of a further launch are of use, so that its stack has to be walked.
  bool wants_modules_of(std::string_view symbol);
  // Notes a launch that CUPTI has reported, whether or not the trace is on.
  void on_launch(std::uint32_t correlation, std::string_view symbol, const std::string& modules);
  // Takes in one record, as CUPTI's buffers hold it.
  void on_record(const KernelRecord& record);

 private:
  struct Kernel {
    std::uint64_t count = 0;
    std::uint64_t ns = 0;
  };
  static void on_buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* record_count_max);
  static void on_buffer_completed(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                                  std::size_t valid_size);
  std::string modules_of(std::uint32_t correlation, const std::string& symbol) const;

  std::mutex mutex_;
  CuptiActivity activity_;
  bool is_registered_ = false;
  std::atomic<bool> is_on_ = false;
  std::atomic<int> buffers_left_ = 0;
  std::unordered_map<std::uint32_t, std::string> modules_by_launch_;  // of this watched call
  std::unordered_map<std::string, std::string> modules_by_symbol_;    // of the first launch of each kernel
  std::map<std::pair<std::string, std::string>, Kernel> kernels_;     // by modules and symbol
  std::uint64_t left_out_ns_ = 0;
  std::uint64_t left_out_count_ = 0;
};

}  // namespace kq::runtime
