// GpuWatch by NVML. Its header is not everywhere; the few prototypes used here are declared by hand.
#include <dlfcn.h>

#include <array>

#include "gpu_worker/gpu_watch.h"

namespace kq {
namespace {

constexpr char kLibrary[] = "libnvidia-ml.so.1";
constexpr int kSuccess = 0;
constexpr unsigned long long kXidEvents = 8;       // nvmlEventTypeXidCriticalError
constexpr unsigned long long kNotAvailable = ~0ull;  // NVML_VALUE_NOT_AVAILABLE
constexpr std::size_t kProcessesMax = 256;

using Handle = void*;
struct MemoryInfo {  // nvmlMemory_t
  unsigned long long total = 0, free = 0, used = 0;
};
struct ProcessInfo {  // nvmlProcessInfo_v2_t
  unsigned pid = 0;
  unsigned long long used = 0;
  unsigned gpu_instance = 0, compute_instance = 0;
};
struct EventData {  // nvmlEventData_t
  Handle device = nullptr;
  unsigned long long type = 0, data = 0;
  unsigned gpu_instance = 0, compute_instance = 0;
};

struct Library {
  int (*init)() = nullptr;
  int (*handle_by_uuid)(const char*, Handle*) = nullptr;
  int (*memory)(Handle, MemoryInfo*) = nullptr;
  int (*compute_processes)(Handle, unsigned*, ProcessInfo*) = nullptr;
  int (*make_events)(Handle*) = nullptr;
  int (*register_events)(Handle, unsigned long long, Handle) = nullptr;
  int (*next_event)(Handle, EventData*, unsigned) = nullptr;
  int (*free_events)(Handle) = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

// Stays open: NVML keeps threads and descriptors of its own.
bool open_library(Library& nvml) {
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  return library != nullptr && find(library, "nvmlInit_v2", nvml.init) && find(library, "nvmlDeviceGetHandleByUUID", nvml.handle_by_uuid) &&
         find(library, "nvmlDeviceGetMemoryInfo", nvml.memory) &&
         find(library, "nvmlDeviceGetComputeRunningProcesses_v3", nvml.compute_processes) &&
         find(library, "nvmlEventSetCreate", nvml.make_events) && find(library, "nvmlDeviceRegisterEvents", nvml.register_events) &&
         find(library, "nvmlEventSetWait_v2", nvml.next_event) && find(library, "nvmlEventSetFree", nvml.free_events) && nvml.init() == kSuccess;
}

class NvmlWatch : public GpuWatch {
 public:
  NvmlWatch(const Library& nvml, Handle device) : nvml_(nvml), device_(device) {
    if (nvml_.make_events(&events_) != kSuccess) events_ = nullptr;
    if (events_ != nullptr && nvml_.register_events(device_, kXidEvents, events_) != kSuccess) {
      nvml_.free_events(events_);
      events_ = nullptr;
    }
  }
  ~NvmlWatch() override {
    if (events_ != nullptr) nvml_.free_events(events_);
  }

  std::optional<std::uint64_t> ownerless_bytes() override {
    MemoryInfo memory;
    std::array<ProcessInfo, kProcessesMax> processes{};
    unsigned n = kProcessesMax;
    if (nvml_.memory(device_, &memory) != kSuccess || nvml_.compute_processes(device_, &n, processes.data()) != kSuccess) return std::nullopt;
    std::uint64_t owned = 0;
    for (unsigned i = 0; i < n; ++i) {
      if (processes[i].used == kNotAvailable) return std::nullopt;
      owned += processes[i].used;
    }
    // The judge has a context whenever this is asked: where not even it is listed, the driver hides what runs.
    if (n == 0) return std::nullopt;
    return memory.used > owned ? memory.used - owned : 0;
  }

  std::vector<std::uint64_t> errors() override {
    std::vector<std::uint64_t> found;
    EventData event;
    while (events_ != nullptr && found.size() < kProcessesMax && nvml_.next_event(events_, &event, 0) == kSuccess) {
      if (event.type == kXidEvents) found.push_back(event.data);
    }
    return found;
  }

 private:
  const Library& nvml_;
  Handle device_;
  Handle events_ = nullptr;
};

}  // namespace

std::unique_ptr<GpuWatch> watch_gpu(const std::string& uuid) {
  static Library nvml;
  static const bool is_open = open_library(nvml);
  Handle device = nullptr;
  if (!is_open || nvml.handle_by_uuid(uuid.c_str(), &device) != kSuccess) return nullptr;
  return std::make_unique<NvmlWatch>(nvml, device);
}

}  // namespace kq
