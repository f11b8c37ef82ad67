// GpuWatch by NVML. The few prototypes that are used are declared here, because NVML's header is not installed
// everywhere.
#include <dlfcn.h>

#include "gpu_worker/machine/gpu_watch.h"

namespace kq::worker {
namespace {

constexpr char kLibrary[] = "libnvidia-ml.so.1";
constexpr int kSuccess = 0;
constexpr unsigned long long kXidEvents = 8;         // nvmlEventTypeXidCriticalError
constexpr unsigned long long kNotAvailable = ~0ull;  // NVML_VALUE_NOT_AVAILABLE
constexpr std::size_t kProcessesMax = 256;
constexpr int kSmClock = 1, kMemoryClock = 2;  // nvmlClockType_t
constexpr int kGpuSensor = 0;                  // nvmlTemperatureSensors_t

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
  // Optional: a value stays unknown if this NVML lacks the function.
  int (*clock)(Handle, int, unsigned*) = nullptr;
  int (*temperature)(Handle, int, unsigned*) = nullptr;
  int (*power)(Handle, unsigned*) = nullptr;  // in mW; an average over the last second from Ampere on
  int (*throttle)(Handle, unsigned long long*) = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

void find_readings(void* library, Library& nvml) {
  find(library, "nvmlDeviceGetClockInfo", nvml.clock);
  find(library, "nvmlDeviceGetTemperature", nvml.temperature);
  find(library, "nvmlDeviceGetPowerUsage", nvml.power);
  // Renamed in driver 535.
  if (!find(library, "nvmlDeviceGetCurrentClocksEventReasons", nvml.throttle)) {
    find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", nvml.throttle);
  }
}

// The library is never closed, because NVML keeps threads and descriptors of its own.
bool open_library(Library& nvml) {
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) find_readings(library, nvml);
  return library != nullptr && find(library, "nvmlInit_v2", nvml.init) &&
         find(library, "nvmlDeviceGetHandleByUUID", nvml.handle_by_uuid) &&
         find(library, "nvmlDeviceGetMemoryInfo", nvml.memory) &&
         find(library, "nvmlDeviceGetComputeRunningProcesses_v3", nvml.compute_processes) &&
         find(library, "nvmlEventSetCreate", nvml.make_events) &&
         find(library, "nvmlDeviceRegisterEvents", nvml.register_events) &&
         find(library, "nvmlEventSetWait_v2", nvml.next_event) && find(library, "nvmlEventSetFree", nvml.free_events) &&
         nvml.init() == kSuccess;
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

  std::optional<std::uint64_t> unowned_bytes() override {
    MemoryInfo memory;
    const auto all = listed();
    // The judge has a context whenever this is called: an empty list means that the driver hides processes.
    if (nvml_.memory(device_, &memory) != kSuccess || !all || all->empty()) return std::nullopt;
    std::uint64_t owned = 0;
    for (const ProcessInfo& process : *all) {
      if (process.used == kNotAvailable) return std::nullopt;
      owned += process.used;
    }
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

  Conditions conditions() override {
    return {.sm_clock_mhz = figure(nvml_.clock, kSmClock),
            .memory_clock_mhz = figure(nvml_.clock, kMemoryClock),
            .temperature_c = figure(nvml_.temperature, kGpuSensor),
            .power_w = power_w(),
            .throttle = throttle()};
  }

  std::optional<std::vector<GpuProcess>> processes() override {
    const auto all = listed();
    if (!all) return std::nullopt;
    std::vector<GpuProcess> processes;
    for (const ProcessInfo& process : *all)
      processes.push_back({process.pid, process.used == kNotAvailable ? 0 : process.used >> 20});
    return processes;
  }

 private:
  std::optional<std::vector<ProcessInfo>> listed() const {
    std::vector<ProcessInfo> all(kProcessesMax);
    unsigned count = kProcessesMax;
    if (nvml_.compute_processes(device_, &count, all.data()) != kSuccess) return std::nullopt;
    all.resize(count);
    return all;
  }
  std::uint32_t figure(int (*of)(Handle, int, unsigned*), int which) const {
    unsigned value = 0;
    return of != nullptr && of(device_, which, &value) == kSuccess ? value : 0;
  }
  double power_w() const {
    unsigned milliwatts = 0;
    return nvml_.power != nullptr && nvml_.power(device_, &milliwatts) == kSuccess ? milliwatts / 1e3 : 0;
  }
  std::string throttle() const {
    unsigned long long reasons = 0;
    return nvml_.throttle != nullptr && nvml_.throttle(device_, &reasons) == kSuccess ? throttle_names(reasons) : "";
  }

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

}  // namespace kq::worker
