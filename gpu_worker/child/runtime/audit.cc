#include "gpu_worker/child/runtime/audit.h"

#include <dlfcn.h>
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

#include "gpu_worker/child/runtime/runtime.h"

namespace kq::runtime {
namespace {

// Of cupti_callbacks.h, CUDA 12 and 13.
constexpr std::uint32_t kDriverApi = 1, kRuntimeApi = 2, kResource = 3;
constexpr std::uint32_t kContextCreated = 1, kStreamCreated = 3, kStreamAttributeChanged = 21;
constexpr int kEnter = 0;
struct CallData {
  int site;
  const char* function;
  const void* parameters;
};
struct AttributeData {
  void* stream;
  int attribute;
};

// Of cuda.h.
constexpr unsigned kNonBlocking = 1;
constexpr int kAccessPolicyWindow = 1;         // CUstreamAttrID
constexpr int kPersistingL2Limit = 6;          // CUlimit
constexpr std::uint64_t kPerThreadStream = 2;  // as a handle
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

constexpr std::uint32_t kFunctionsMax = 2000;  // numbers that functions may have: CUDA 13.0 goes to 807

// On this thread: the flags of the stream that is being made, and whether it is our own.
thread_local long making_flags = -1;
thread_local bool making_ours = false;
thread_local bool in_note = false;

bool begins_with_any(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

// Which no honest call needs, whoever the stream belongs to.
bool is_deferring(std::string_view name) {
  return name.ends_with("_ptsz") || name.ends_with("_ptds") || name.find("_ptsz_v") != name.npos ||
         name.find("_ptds_v") != name.npos ||
         begins_with_any(name, {"cuStreamBeginCapture", "cudaStreamBeginCapture", "cuGraphLaunch", "cudaGraphLaunch",
                                "cuLaunchHostFunc", "cudaLaunchHostFunc", "cuStreamAddCallback",
                                "cudaStreamAddCallback", "cuGreenCtxStreamCreate"});
}
bool is_launch(std::string_view name) {
  return name == "cuLaunchKernel" || name == "cuLaunchKernelEx";
}
bool is_copy(std::string_view name) {
  return begins_with_any(name, {"cuMemcpy", "cudaMemcpy"});
}
bool is_looked_into(std::string_view name) {
  return begins_with_any(name, {"cuStreamCreate", "cuCtxSetLimit"}) || is_launch(name) || is_copy(name);
}

std::atomic<bool> is_child_waiting = false;

struct Walk {
  std::vector<std::string> modules;
  std::string last;
};

_Unwind_Reason_Code step(_Unwind_Context* context, void* to) {
  auto& walk = *static_cast<Walk*>(to);
  const auto at = _Unwind_GetIP(context);
  if (at == 0) return _URC_END_OF_STACK;
  Dl_info info{};
  std::string name =
      ::dladdr(reinterpret_cast<void*>(at - 1), &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "?";
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
  _Unwind_Backtrace(step, &walk);
  std::string joined;
  for (const std::string& module : walk.modules) joined += (joined.empty() ? "" : "|") + module;
  return joined.empty() ? "?" : joined;
}

int find_loaded(dl_phdr_info* info, std::size_t, void* to) {
  if (std::strstr(info->dlpi_name, "/libcupti.so") == nullptr) return 0;
  *static_cast<std::string*>(to) = info->dlpi_name;
  return 1;
}

std::vector<std::string> places_of_cupti() {
  std::vector<std::string> places;
  std::string loaded;
  ::dl_iterate_phdr(find_loaded, &loaded);  // torch's own profiler links to it
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
  if (const int failed = cupti_.subscribe(&subscriber_, hear, this); failed != 0) {
    write_line("off\tcuptiSubscribe failed with " + std::to_string(failed));
    return;
  }
  int failed = 0;
  for (const std::uint32_t id : {kContextCreated, kStreamCreated, kStreamAttributeChanged}) {
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

// By their names: numbers differ from one version of CUDA to the next.
void Audit::enable_calls(std::uint32_t domain) {
  for (std::uint32_t id = 1; id < kFunctionsMax; ++id) {
    const char* name = nullptr;
    if (cupti_.name(domain, id, &name) != 0 || name == nullptr) continue;
    if (is_deferring(name) || is_looked_into(name)) (void)cupti_.enable(1, subscriber_, domain, id);
  }
}

void Audit::leave_launches() {
  if (subscriber_ == nullptr) return;
  for (std::uint32_t id = 1; id < kFunctionsMax; ++id) {
    const char* name = nullptr;
    if (cupti_.name(kDriverApi, id, &name) == 0 && name != nullptr && is_launch(name))
      (void)cupti_.enable(0, subscriber_, kDriverApi, id);
  }
}

void Audit::listen() {
  if (subscriber_ == nullptr) return;
  heard_ours_ = false;
  making_ours = true;
  void* stream = nullptr;
  const bool is_made = cupti_.stream_create(&stream, kNonBlocking) == 0;
  making_ours = false;
  if (is_made) (void)cupti_.stream_destroy(stream);
  write_line(is_made && heard_ours_ ? "heard" : "silent");
}

void Audit::hear(void* audit, std::uint32_t domain, std::uint32_t id, const void* data) {
  auto& self = *static_cast<Audit*>(audit);
  if (in_note) return;
  if (domain == kResource) {
    self.heard_resource(id, data);
  } else if (domain == kDriverApi || domain == kRuntimeApi) {
    self.heard_call(data);
  }
}

void Audit::heard_resource(std::uint32_t id, const void* data) {
  if (id == kStreamCreated) {
    if (making_ours) {
      heard_ours_ = true;
      return;
    }
    std::array<char, 24> flags{"?"};
    if (making_flags >= 0) std::snprintf(flags.data(), flags.size(), "0x%lx", static_cast<unsigned long>(making_flags));
    note("stream", flags.data());
  } else if (id == kContextCreated) {
    note("context", "-");
  } else if (id == kStreamAttributeChanged && data != nullptr &&
             static_cast<const AttributeData*>(data)->attribute == kAccessPolicyWindow) {
    note("persist", "access policy window");
  }
}

void Audit::heard_call(const void* data) {
  const auto& call = *static_cast<const CallData*>(data);
  if (call.function == nullptr || making_ours) return;
  const std::string_view name = call.function;
  if (name.starts_with("cuStreamCreate") && name.find("Capture") == name.npos) {
    // The stream is announced between the two sites of its making.
    making_flags = call.site == kEnter && call.parameters != nullptr
                       ? static_cast<long>(static_cast<const StreamCreateParameters*>(call.parameters)->flags)
                       : -1;
    return;
  }
  if (call.site != kEnter) return;
  if (is_deferring(name)) {
    note("api", name);
  } else if (is_copy(name)) {
    if (is_child_waiting.load(std::memory_order_relaxed)) note("waiting", name);
  } else if (call.parameters == nullptr) {
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
  in_note = true;
  write_line(std::string(kind) + "\t" + std::string(detail) + "\t" + modules_on_stack());
  in_note = false;
}

void Audit::write_line(const std::string& line) {
  const std::lock_guard lock(mutex_);
  const bool is_answer = line == "heard";  // one for each call
  if (is_answer && ++answers_ > kAuditAnswersMax) return;
  if (!is_answer && (lines_.size() >= kAuditLinesMax || !lines_.insert(line).second)) return;
  const bool is_last = !is_answer && lines_.size() == kAuditLinesMax;
  const std::string text = (is_last ? "more" : line.substr(0, kAuditLineBytesMax)) + "\n";
  if (::write(fd_, text.data(), text.size()) < 0) return;  // the lane counts what is missing as silence
}

namespace {
Audit audit;  // of this process: CUPTI keeps its address
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

void kq_audit_listen() {
  kq::runtime::audit.listen();
}

void kq_audit_leave_launches() {
  kq::runtime::audit.leave_launches();
}
