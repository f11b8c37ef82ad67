#include "gpu_worker/child/runtime/audit.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "gpu_worker/child/runtime/python_place.h"
#include "gpu_worker/child/runtime/runtime.h"

namespace kq::runtime {
namespace {

// These values and layouts are those of cupti_callbacks.h of CUDA 12 and 13.
constexpr std::uint32_t kDriverApi = 1, kRuntimeApi = 2, kResource = 3;
constexpr std::uint32_t kContextCreated = 1, kStreamCreated = 3, kStreamDestroyed = 4, kStreamAttributeChanged = 21;
constexpr int kEnter = 0;
struct CallData {
  int site;
  const char* function;
  const void* parameters;
  void* result;
  const char* symbol;  // of the kernel that a launch names
  void* context;
  std::uint32_t context_number;
  std::uint64_t* own_data;
  std::uint32_t correlation;
};
struct ResourceData {
  void* context;
  void* stream;
};
struct AttributeData {
  void* stream;
  int attribute;
};

// These values and layouts are those of cuda.h.
constexpr unsigned kNonBlocking = 1;
constexpr int kAccessPolicyWindow = 1;         // CUstreamAttrID
constexpr int kPersistingL2Limit = 6;          // CUlimit
constexpr std::uint64_t kPerThreadStream = 2;  // the value of the stream handle
struct StreamCreateParameters {
  void** stream;
  unsigned flags;
};
struct LaunchParameters {  // of cuLaunchKernel
  void* function;
  unsigned sizes[7];  // grid, block, shared memory
  std::uint64_t stream;
};
struct LaunchConfig {  // of cuLaunchKernelEx
  unsigned sizes[7];
  std::uint64_t stream;
};

constexpr int kNotReady = 600;  // CUresult

constexpr std::uint32_t kFunctionsMax = 2000;  // upper bound of CUPTI's function numbers; CUDA 13.0 ends at 807

// State of this thread: the flags of the stream that is being created (-1: none), whether the audit itself creates it,
// and whether a line is being written, during which events are ignored.
thread_local long created_stream_flags = -1;
thread_local bool is_making_own_stream = false;
thread_local bool is_writing_note = false;

bool begins_with_any(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

// Whether a function defers work or uses a per-thread stream. A submission that obeys the rules needs no such function,
// whatever the stream.
bool is_deferring(std::string_view name) {
  return name.ends_with("_ptsz") || name.ends_with("_ptds") || name.find("_ptsz_v") != name.npos ||
         name.find("_ptds_v") != name.npos ||
         begins_with_any(name, {"cuStreamBeginCapture", "cudaStreamBeginCapture", "cuGraphLaunch", "cudaGraphLaunch",
                                "cuGraphInstantiate", "cudaGraphInstantiate", "cuGraphAddHostNode",
                                "cudaGraphAddHostNode", "cuLaunchHostFunc", "cudaLaunchHostFunc", "cuStreamAddCallback",
                                "cudaStreamAddCallback", "cuGreenCtxStreamCreate"});
}
bool is_launch(std::string_view name) {
  return name == "cuLaunchKernel" || name == "cuLaunchKernelEx" || name == "cuLaunchCooperativeKernel" ||
         begins_with_any(name, {"cudaLaunchKernel", "cudaLaunchCooperativeKernel"});
}
bool is_copy_or_graph(std::string_view name) {
  return begins_with_any(name, {"cuMemcpy", "cudaMemcpy", "cuGraphLaunch", "cudaGraphLaunch"});
}
// Whether the audit must see the calls of a function to judge their arguments or their time.
bool needs_arguments(std::string_view name) {
  return begins_with_any(name, {"cuStreamCreate", "cuCtxSetLimit"}) || is_launch(name) || is_copy_or_graph(name);
}

std::atomic<bool> is_child_waiting = false;  // see set_waiting()

// State of a walk up the stack, which visit_frame() extends.
struct Walk {
  std::vector<std::string> modules;
  std::string last;  // the module of the last visited frame; consecutive frames of one module count once
};

// Returns the file of the code at an address, or "?". dladdr() would also seek the symbol, among all those of the file,
// which takes a millisecond in torch's largest library.
std::string module_of(void* address) {
  dl_find_object found{};
  if (::_dl_find_object(address, &found) != 0 || found.dlfo_link_map == nullptr) return "?";
  const std::string_view name = found.dlfo_link_map->l_name;
  return std::string(name.empty() ? program_invocation_name : name);  // the program itself has no name in the list
}

_Unwind_Reason_Code visit_frame(_Unwind_Context* context, void* to) {
  auto& walk = *static_cast<Walk*>(to);
  const auto at = _Unwind_GetIP(context);
  if (at == 0) return _URC_END_OF_STACK;
  std::string name = module_of(reinterpret_cast<void*>(at - 1));
  for (char& letter : name) {
    if (static_cast<unsigned char>(letter) < ' ' || letter == '|') letter = '_';
  }
  const std::string_view file = std::string_view(name).substr(name.rfind('/') + 1);
  if (file.starts_with("libcupti") || file.starts_with("libkqstub")) return _URC_NO_REASON;
  if (name == walk.last) return _URC_NO_REASON;
  walk.last = name;
  walk.modules.push_back(std::move(name));
  return walk.modules.size() < kAuditModulesMax ? _URC_NO_REASON : _URC_END_OF_STACK;
}

std::string modules_on_stack() {
  Walk walk;
  _Unwind_Backtrace(visit_frame, &walk);
  std::string joined;
  for (const std::string& module : walk.modules) joined += (joined.empty() ? "" : "|") + module;
  return joined.empty() ? "?" : joined;
}

// Returns the end of a line: the modules on the stack and, where Python has called them, its place.
std::string origin_of_call() {
  const std::string place = python_place();
  return modules_on_stack() + (place.empty() ? "" : "\t" + place);
}

int find_loaded(dl_phdr_info* info, std::size_t, void* to) {
  if (std::strstr(info->dlpi_name, "/libcupti.so") == nullptr) return 0;
  *static_cast<std::string*>(to) = info->dlpi_name;
  return 1;
}

std::vector<std::string> places_of_cupti() {
  std::vector<std::string> places;
  std::string loaded;
  ::dl_iterate_phdr(find_loaded, &loaded);  // torch's own profiler links to CUPTI
  if (!loaded.empty()) places.push_back(loaded);
  places.insert(places.end(), {"libcupti.so.13", "libcupti.so.12"});
  for (const char* setting : {"KQ_CUDA", "CUDA_HOME", "CUDA_PATH"}) {
    const char* const home = std::getenv(setting);
    if (home == nullptr) continue;
    for (const char* folder : {"/lib64", "/extras/CUPTI/lib64"})
      places.push_back(std::string(home) + folder + "/libcupti.so");
  }
  places.insert(places.end(), {"/usr/local/cuda/lib64/libcupti.so", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"});
  return places;
}

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::string find_cupti(Cupti& cupti) {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr || !find(driver, "cuStreamCreate", cupti.stream_create) ||
      !find(driver, "cuStreamDestroy_v2", cupti.stream_destroy)) {
    return "there is no CUDA driver";
  }
  for (const std::string& place : places_of_cupti()) {
    void* const library = ::dlopen(place.c_str(), RTLD_NOW);
    if (library == nullptr) continue;
    cupti.library = place;
    (void)find(library, "cuptiActivityRegisterCallbacks", cupti.activity.register_callbacks);
    (void)find(library, "cuptiActivityEnable", cupti.activity.enable);
    (void)find(library, "cuptiActivityDisable", cupti.activity.disable);
    (void)find(library, "cuptiActivityFlushAll", cupti.activity.flush);
    (void)find(library, "cuptiActivityGetNextRecord", cupti.activity.next);
    (void)find(driver, "cuStreamSynchronize", cupti.stream_synchronize);
    (void)find(driver, "cuStreamQuery", cupti.stream_query);
    (void)find(driver, "cuCtxSynchronize", cupti.synchronize);
    if (find(library, "cuptiSubscribe", cupti.subscribe) && find(library, "cuptiEnableCallback", cupti.enable) &&
        find(library, "cuptiGetCallbackName", cupti.name)) {
      return {};
    }
    return place + " lacks callbacks";
  }
  return "there is no libcupti.so: it comes with torch's CUDA wheels and with the CUDA toolkit";
}

void set_waiting(bool is_waiting) {
  is_child_waiting.store(is_waiting, std::memory_order_relaxed);
}

void Audit::begin(const Cupti& cupti, int fd) {
  cupti_ = cupti;
  fd_ = fd;
  if (const int failed = cupti_.subscribe(&subscriber_, on_event, this); failed != 0) {
    write_line("off\tcuptiSubscribe failed with " + std::to_string(failed));
    return;
  }
  int failed = 0;
  for (const std::uint32_t id : {kContextCreated, kStreamCreated, kStreamDestroyed, kStreamAttributeChanged}) {
    const int result = cupti_.enable(1, subscriber_, kResource, id);
    if (id == kStreamCreated) failed = result;
  }
  if (failed != 0) {
    write_line("off\tcuptiEnableCallback failed with " + std::to_string(failed));
    return;
  }
  enable_calls(kDriverApi);
  enable_calls(kRuntimeApi);
  write_line("on\t" + cupti_.library);
}

// Enables the callbacks of the functions that the audit reports. Finds the functions by name, because their numbers
// differ between versions of CUDA.
void Audit::enable_calls(std::uint32_t domain) {
  for (std::uint32_t id = 1; id < kFunctionsMax; ++id) {
    const char* name = nullptr;
    if (cupti_.name(domain, id, &name) != 0 || name == nullptr) continue;
    if (is_deferring(name) || needs_arguments(name)) (void)cupti_.enable(1, subscriber_, domain, id);
    if (is_launch(name)) launch_functions_.emplace_back(domain, id);
  }
}

void Audit::stop_launch_reports() {
  if (subscriber_ == nullptr) return;
  are_launches_reported_ = false;
  enable_launches(false);
}

void Audit::enable_launches(bool on) {
  for (const auto& [domain, id] : launch_functions_) (void)cupti_.enable(on ? 1 : 0, subscriber_, domain, id);
}

void Audit::begin_watch() {
  if (subscriber_ == nullptr || watch_bytes_ > kWatchBytesMax || trace_.is_on()) return;
  if (trace_.begin(cupti_.activity) && !are_launches_reported_) enable_launches(true);
}

void Audit::end_watch() {
  if (!trace_.is_on()) return;
  note_unjoined();
  if (cupti_.synchronize != nullptr) (void)cupti_.synchronize();
  const std::vector<std::string> lines = trace_.end();
  if (!are_launches_reported_) enable_launches(false);
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  watch_bytes_ += text.size();
  if (watch_bytes_ > kWatchBytesMax) return;
  const std::lock_guard lock(mutex_);
  if (::write(fd_, text.data(), text.size()) < 0) return;  // a watched call without lines proves nothing
}

// Notes the streams that still have work when the default stream has finished.
void Audit::note_unjoined() {
  if (cupti_.stream_synchronize == nullptr || cupti_.stream_query == nullptr) return;
  if (streams_.empty() || cupti_.stream_synchronize(nullptr) != 0) return;
  std::map<void*, std::string> streams;
  {
    const std::lock_guard lock(mutex_);
    streams = streams_;
  }
  for (const auto& [stream, origin] : streams) {
    if (cupti_.stream_query(stream) == kNotReady) write_line("unjoined\t-\t" + origin);
  }
}

void Audit::poll() {
  if (subscriber_ == nullptr) return;
  is_own_stream_reported_ = false;
  is_making_own_stream = true;
  void* stream = nullptr;
  const bool is_made = cupti_.stream_create(&stream, kNonBlocking) == 0;
  is_making_own_stream = false;
  if (is_made) (void)cupti_.stream_destroy(stream);
  write_line(is_made && is_own_stream_reported_ ? "heard" : "silent");
}

void Audit::on_event(void* audit, std::uint32_t domain, std::uint32_t id, const void* data) {
  auto& self = *static_cast<Audit*>(audit);
  if (is_writing_note) return;
  if (domain == kResource) {
    self.on_resource(id, data);
  } else if (domain == kDriverApi || domain == kRuntimeApi) {
    self.on_call(data);
  }
}

// Keeps the list of streams that exist.
void Audit::on_stream(std::uint32_t id, const void* data) {
  void* const stream = data == nullptr ? nullptr : static_cast<const ResourceData*>(data)->stream;
  if (stream == nullptr) return;
  is_writing_note = true;
  std::string origin = id == kStreamCreated ? origin_of_call() : std::string();
  is_writing_note = false;
  const std::lock_guard lock(mutex_);
  if (id == kStreamDestroyed) streams_.erase(stream);
  if (id == kStreamCreated && streams_.size() < kAuditStreamsMax) streams_[stream] = std::move(origin);
}

void Audit::on_resource(std::uint32_t id, const void* data) {
  if ((id == kStreamCreated || id == kStreamDestroyed) && !is_making_own_stream) on_stream(id, data);
  if (id == kStreamCreated) {
    if (is_making_own_stream) {
      is_own_stream_reported_ = true;
      return;
    }
    std::array<char, 24> flags{"?"};
    if (created_stream_flags >= 0)
      std::snprintf(flags.data(), flags.size(), "0x%lx", static_cast<unsigned long>(created_stream_flags));
    note("stream", flags.data());
  } else if (id == kContextCreated) {
    note("context", "-");
  } else if (id == kStreamAttributeChanged && data != nullptr &&
             static_cast<const AttributeData*>(data)->attribute == kAccessPolicyWindow) {
    note("persist", "access policy window");
  }
}

void Audit::on_call(const void* data) {
  const auto& call = *static_cast<const CallData*>(data);
  if (call.function == nullptr || is_making_own_stream) return;
  const std::string_view name = call.function;
  if (name.starts_with("cuStreamCreate") && name.find("Capture") == name.npos) {
    // CUPTI reports the stream between the entry and the exit of the call that creates it.
    created_stream_flags = call.site == kEnter && call.parameters != nullptr
                               ? static_cast<long>(static_cast<const StreamCreateParameters*>(call.parameters)->flags)
                               : -1;
    return;
  }
  if (call.site != kEnter) return;
  if (is_launch(name)) {
    const std::string_view symbol = call.symbol == nullptr ? "" : call.symbol;
    if (trace_.wants_modules_of(symbol)) trace_.on_launch(call.correlation, symbol, modules_on_stack());
  }
  // A graph may copy memory, too.
  if (is_copy_or_graph(name) && is_child_waiting.load(std::memory_order_relaxed)) note("waiting", name);
  if (begins_with_any(name, {"cuGraphLaunch", "cudaGraphLaunch"}) && name.find("_pts") == name.npos) {
    // The search for the origin walks the stack, which would be a part of the call's time. Each graph has been noted
    // when it was instantiated.
    if (graph_launch_notes_.fetch_add(1, std::memory_order_relaxed) < kGraphLaunchNotesMax) note("api", name);
  } else if (is_deferring(name)) {
    note("api", name);
  } else if (is_copy_or_graph(name) || call.parameters == nullptr) {
    return;
  } else if (name == "cuCtxSetLimit") {
    if (*static_cast<const int*>(call.parameters) == kPersistingL2Limit) note("persist", name);
  } else if (name == "cuLaunchKernel") {
    if (static_cast<const LaunchParameters*>(call.parameters)->stream == kPerThreadStream)
      note("api", "cuLaunchKernel on the per-thread stream");
  } else if (name == "cuLaunchKernelEx") {
    const auto* const config = *static_cast<const LaunchConfig* const*>(call.parameters);
    if (config != nullptr && config->stream == kPerThreadStream)
      note("api", "cuLaunchKernelEx on the per-thread stream");
  }
}

void Audit::note(std::string_view kind, std::string_view detail) {
  is_writing_note = true;
  write_line(std::string(kind) + "\t" + std::string(detail) + "\t" + origin_of_call());
  is_writing_note = false;
}

void Audit::write_line(const std::string& line) {
  const std::lock_guard lock(mutex_);
  const bool is_heard = line == "heard";  // the only line that is written again, once for each poll()
  if (is_heard && ++heard_count_ > kAuditHeardMax) return;
  if (!is_heard && (lines_.size() >= kAuditLinesMax || !lines_.insert(line).second)) return;
  const bool is_last = !is_heard && lines_.size() == kAuditLinesMax;
  const std::string text = (is_last ? "more" : line.substr(0, kAuditLineBytesMax)) + "\n";
  if (::write(fd_, text.data(), text.size()) < 0) return;  // the lane treats missing lines as a silenced audit
}

namespace {
Audit audit;  // one for the process, because CUPTI keeps its address
}

}  // namespace kq::runtime

void kq_audit_begin(int fd) {
  kq::runtime::Cupti cupti;
  if (const std::string why = kq::runtime::find_cupti(cupti); !why.empty()) {
    const std::string line = "off\t" + why + "\n";
    if (::write(fd, line.data(), line.size()) < 0) return;
    return;
  }
  kq::runtime::audit.begin(cupti, fd);
}

void kq_audit_poll() {
  kq::runtime::audit.poll();
}

void kq_audit_begin_watch() {
  kq::runtime::audit.begin_watch();
}

void kq_audit_end_watch() {
  kq::runtime::audit.end_watch();
}

void kq_audit_stop_launch_reports() {
  kq::runtime::audit.stop_launch_reports();
}
