// Maps device memory of the judge into the child, by CUDA's virtual memory interface. libcuda is opened with dlopen
// when it is first needed, because most machines that build kq have no libcuda, and only a child on a GPU may load it.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "gpu_worker/channel/cuda_abi.h"
#include "gpu_worker/child/runtime/runtime.h"

namespace kq::runtime {
namespace {

namespace cuda = channel::cuda;

// The functions of the CUDA driver that mapping needs.
struct Driver {
  cuda::Result (*get_device)(cuda::Ordinal*) = nullptr;
  cuda::Result (*get_error)(cuda::Result, const char**) = nullptr;
  cuda::Result (*granularity)(std::size_t*, const cuda::AllocationProperties*, int) = nullptr;
  cuda::Result (*import_handle)(cuda::Allocation*, void*, int) = nullptr;
  cuda::Result (*reserve)(cuda::Pointer*, std::size_t, std::size_t, cuda::Pointer, unsigned long long) = nullptr;
  cuda::Result (*map)(cuda::Pointer, std::size_t, std::size_t, cuda::Allocation, unsigned long long) = nullptr;
  cuda::Result (*set_access)(cuda::Pointer, std::size_t, const cuda::AccessDescription*, std::size_t) = nullptr;
  cuda::Result (*release)(cuda::Allocation) = nullptr;
  cuda::Result (*unmap)(cuda::Pointer, std::size_t) = nullptr;
  cuda::Result (*free_address)(cuda::Pointer, std::size_t) = nullptr;
};

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  return function != nullptr;
}

// Returns an empty string, or a sentence that says what failed.
std::string open_driver(Driver& driver) {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return "no CUDA driver here: libcuda.so.1 cannot be opened";
  const bool whole =
      find(library, "cuCtxGetDevice", driver.get_device) && find(library, "cuGetErrorString", driver.get_error) &&
      find(library, "cuMemGetAllocationGranularity", driver.granularity) &&
      find(library, "cuMemImportFromShareableHandle", driver.import_handle) &&
      find(library, "cuMemAddressReserve", driver.reserve) && find(library, "cuMemMap", driver.map) &&
      find(library, "cuMemSetAccess", driver.set_access) && find(library, "cuMemRelease", driver.release) &&
      find(library, "cuMemUnmap", driver.unmap) && find(library, "cuMemAddressFree", driver.free_address);
  return whole ? std::string() : "the CUDA driver is too old: it has no virtual memory interface";
}

std::string sentence(const Driver& driver, const char* what, cuda::Result result) {
  const char* words = nullptr;
  if (driver.get_error(result, &words) != 0 || words == nullptr) words = "unknown error";
  return std::string(what) + ": " + words + " (" + std::to_string(result) + ")";
}

// Rounds `bytes` up to the granularity of device memory. Returns an empty string, or a sentence that says what failed.
std::string round_up(const Driver& driver, cuda::Ordinal device, std::size_t& bytes) {
  cuda::AllocationProperties properties{};
  properties.type = cuda::kPinned;
  properties.requested_handle_types = cuda::kPosixFileDescriptor;
  properties.location = {cuda::kOnDevice, device};
  std::size_t unit = 0;
  if (const cuda::Result result = driver.granularity(&unit, &properties, cuda::kGranularityMinimum); result != 0) {
    return sentence(driver, "cuMemGetAllocationGranularity", result);
  }
  bytes = (bytes + unit - 1) / unit * unit;
  return {};
}

std::string map_reserved(const Driver& driver, cuda::Ordinal device, cuda::Pointer pointer, std::size_t bytes,
                         cuda::Allocation handle) {
  if (const cuda::Result result = driver.map(pointer, bytes, 0, handle, 0); result != 0)
    return sentence(driver, "cuMemMap", result);
  const cuda::AccessDescription access{{cuda::kOnDevice, device}, cuda::kReadWrite};
  if (const cuda::Result result = driver.set_access(pointer, bytes, &access, 1); result != 0) {
    driver.unmap(pointer, bytes);
    return sentence(driver, "cuMemSetAccess", result);
  }
  return {};
}

std::string map_window(int fd, std::size_t bytes, cuda::Pointer& pointer) {
  Driver driver;
  if (std::string error = open_driver(driver); !error.empty()) return error;
  cuda::Ordinal device = 0;
  if (const cuda::Result result = driver.get_device(&device); result != 0)
    return sentence(driver, "cuCtxGetDevice", result);
  if (std::string error = round_up(driver, device, bytes); !error.empty()) return error;
  cuda::Allocation handle = 0;
  if (const cuda::Result result = driver.import_handle(&handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)),
                                                       cuda::kPosixFileDescriptor);
      result != 0) {
    return sentence(driver, "cuMemImportFromShareableHandle", result);
  }
  std::string error;
  if (const cuda::Result result = driver.reserve(&pointer, bytes, 0, 0, 0); result != 0) {
    error = sentence(driver, "cuMemAddressReserve", result);
  } else if (error = map_reserved(driver, device, pointer, bytes, handle); !error.empty()) {
    driver.free_address(pointer, bytes);
  }
  driver.release(handle);  // the mapping keeps the memory
  return error;
}

std::string unmap_window(cuda::Pointer pointer, std::size_t bytes) {
  Driver driver;
  if (std::string error = open_driver(driver); !error.empty()) return error;
  cuda::Ordinal device = 0;
  if (const cuda::Result result = driver.get_device(&device); result != 0)
    return sentence(driver, "cuCtxGetDevice", result);
  if (std::string error = round_up(driver, device, bytes); !error.empty()) return error;
  if (const cuda::Result result = driver.unmap(pointer, bytes); result != 0)
    return sentence(driver, "cuMemUnmap", result);
  if (const cuda::Result result = driver.free_address(pointer, bytes); result != 0)
    return sentence(driver, "cuMemAddressFree", result);
  return {};
}

int answer(const std::string& sentence, char* error, std::size_t error_bytes) {
  if (error_bytes > 0) std::snprintf(error, error_bytes, "%s", sentence.c_str());
  return sentence.empty() ? 0 : -1;
}

}  // namespace
}  // namespace kq::runtime

int kq_map_cuda_window(int fd, std::uint64_t bytes, std::uint64_t* pointer, char* error, std::size_t error_bytes) {
  return kq::runtime::answer(kq::runtime::map_window(fd, bytes, *pointer), error, error_bytes);
}

int kq_unmap_cuda_window(std::uint64_t pointer, std::uint64_t bytes, char* error, std::size_t error_bytes) {
  return kq::runtime::answer(kq::runtime::unmap_window(pointer, bytes), error, error_bytes);
}
