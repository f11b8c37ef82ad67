#include "gpu_worker/judge/device/cuda_driver.h"

#include <dlfcn.h>

namespace kq::judge::cuda {
namespace {

// Finds functions by name and remembers the first one that is missing.
class Library {
 public:
  explicit Library(void* handle) : handle_(handle) {}

  template <class F>
  void find(const char* name, F& function) {
    function = reinterpret_cast<F>(::dlsym(handle_, name));
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* handle_;
  std::string missing_;
};

}  // namespace

Expected<Driver> open_driver(const std::string& library) {
  // The library stays open until the process exits.
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return failure({ErrorKind::not_found, "no CUDA driver here: " + library + " cannot be opened"});
  Driver driver{};
  Library found(handle);
  found.find("cuInit", driver.init);
  found.find("cuGetErrorString", driver.error_string);
  found.find("cuDeviceGetCount", driver.device_count);
  found.find("cuDeviceGet", driver.device_get);
  found.find("cuDeviceGetName", driver.device_name);
  found.find("cuDeviceGetUuid_v2", driver.device_uuid);
  found.find("cuDeviceGetAttribute", driver.device_attribute);
  found.find("cuDeviceTotalMem_v2", driver.device_memory);
  found.find("cuDevicePrimaryCtxSetFlags_v2", driver.context_flags);
  found.find("cuDevicePrimaryCtxRetain", driver.context_retain);
  found.find("cuDevicePrimaryCtxRelease_v2", driver.context_release);
  found.find("cuCtxSetCurrent", driver.context_set_current);
  found.find("cuCtxSynchronize", driver.synchronize);
  found.find("cuStreamQuery", driver.stream_query);
  found.find("cuMemGetAllocationGranularity", driver.granularity);
  found.find("cuMemCreate", driver.memory_create);
  found.find("cuMemExportToShareableHandle", driver.memory_export);
  found.find("cuMemImportFromShareableHandle", driver.memory_import);
  found.find("cuMemRelease", driver.memory_release);
  found.find("cuMemAddressReserve", driver.address_reserve);
  found.find("cuMemAddressFree", driver.address_free);
  found.find("cuMemMap", driver.memory_map);
  found.find("cuMemUnmap", driver.memory_unmap);
  found.find("cuMemSetAccess", driver.set_access);
  found.find("cuMemAlloc_v2", driver.allocate);
  found.find("cuMemFree_v2", driver.free);
  found.find("cuMemHostAlloc", driver.host_allocate);
  found.find("cuMemHostGetDevicePointer_v2", driver.host_pointer);
  found.find("cuMemFreeHost", driver.host_free);
  found.find("cuCtxResetPersistingL2Cache", driver.reset_persisting);
  found.find("cuMemcpyDtoD_v2", driver.copy);
  found.find("cuMemcpyDtoH_v2", driver.copy_to_host);
  found.find("cuMemsetD32_v2", driver.fill_words);
  found.find("cuModuleLoadData", driver.module_load);
  found.find("cuModuleUnload", driver.module_unload);
  found.find("cuModuleGetFunction", driver.module_function);
  found.find("cuLaunchKernel", driver.launch);
  if (!found.missing().empty()) {
    return failure(
        {ErrorKind::not_found, "the CUDA driver here is too old: " + library + " has no " + found.missing()});
  }
  return driver;
}

Error error_of(const Driver& driver, const char* function, Result result) {
  const char* text = nullptr;
  if (driver.error_string(result, &text) != kSuccess || text == nullptr) text = "unknown error";
  return {ErrorKind::our_fault, std::string(function) + ": " + text + " (" + std::to_string(result) + ")"};
}

}  // namespace kq::judge::cuda
