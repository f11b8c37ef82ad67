// Device memory of another process, mapped into this one by CUDA's virtual memory interface. libcuda is opened when
// first needed: most machines that build kq have none, and no process of kq but a child on a GPU may load it.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "gpu_worker/child/runtime/runtime.h"

namespace kq::runtime {
namespace {

// The few declarations of cuda.h that are needed, with its numbers.
using CUresult = int;
using CUdevice = int;
using CUdeviceptr = std::uint64_t;
using CUhandle = std::uint64_t;
constexpr int kPosixFileDescriptor = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
constexpr int kPinned = 1;               // CU_MEM_ALLOCATION_TYPE_PINNED
constexpr int kOnDevice = 1;             // CU_MEM_LOCATION_TYPE_DEVICE
constexpr int kReadWrite = 3;            // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
constexpr int kMinimum = 0;              // CU_MEM_ALLOC_GRANULARITY_MINIMUM

struct Location {
  int type;
  int id;
};
struct AllocationProperties {  // CUmemAllocationProp
  int type;
  int requested_handle_types;
  Location location;
  void* win32_handle_metadata;
  struct {
    unsigned char compression_type;
    unsigned char gpu_direct_rdma_capable;
    unsigned short usage;
    unsigned char reserved[4];
  } flags;
};
static_assert(sizeof(AllocationProperties) == 32);
struct Access {  // CUmemAccessDesc
  Location location;
  int flags;
};

struct Driver {
  CUresult (*get_device)(CUdevice*) = nullptr;
  CUresult (*get_error)(CUresult, const char**) = nullptr;
  CUresult (*granularity)(std::size_t*, const AllocationProperties*, int) = nullptr;
  CUresult (*import_handle)(CUhandle*, void*, int) = nullptr;
  CUresult (*reserve)(CUdeviceptr*, std::size_t, std::size_t, CUdeviceptr, unsigned long long) = nullptr;
  CUresult (*map)(CUdeviceptr, std::size_t, std::size_t, CUhandle, unsigned long long) = nullptr;
  CUresult (*set_access)(CUdeviceptr, std::size_t, const Access*, std::size_t) = nullptr;
  CUresult (*release)(CUhandle) = nullptr;
  CUresult (*unmap)(CUdeviceptr, std::size_t) = nullptr;
  CUresult (*free_address)(CUdeviceptr, std::size_t) = nullptr;
};

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  return function != nullptr;
}

// The sentence of what went wrong, or empty.
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

std::string sentence(const Driver& driver, const char* what, CUresult result) {
  const char* words = nullptr;
  if (driver.get_error(result, &words) != 0 || words == nullptr) words = "unknown error";
  return std::string(what) + ": " + words + " (" + std::to_string(result) + ")";
}

std::string round_up(const Driver& driver, CUdevice device, std::size_t& bytes) {
  AllocationProperties properties{};
  properties.type = kPinned;
  properties.requested_handle_types = kPosixFileDescriptor;
  properties.location = {kOnDevice, device};
  std::size_t unit = 0;
  if (const CUresult result = driver.granularity(&unit, &properties, kMinimum); result != 0) {
    return sentence(driver, "cuMemGetAllocationGranularity", result);
  }
  bytes = (bytes + unit - 1) / unit * unit;
  return {};
}

std::string map_reserved(const Driver& driver, CUdevice device, CUdeviceptr pointer, std::size_t bytes,
                         CUhandle handle) {
  if (const CUresult result = driver.map(pointer, bytes, 0, handle, 0); result != 0)
    return sentence(driver, "cuMemMap", result);
  const Access access{{kOnDevice, device}, kReadWrite};
  if (const CUresult result = driver.set_access(pointer, bytes, &access, 1); result != 0) {
    driver.unmap(pointer, bytes);
    return sentence(driver, "cuMemSetAccess", result);
  }
  return {};
}

std::string map_window(int fd, std::size_t bytes, CUdeviceptr& pointer) {
  Driver driver;
  if (std::string error = open_driver(driver); !error.empty()) return error;
  CUdevice device = 0;
  if (const CUresult result = driver.get_device(&device); result != 0)
    return sentence(driver, "cuCtxGetDevice", result);
  if (std::string error = round_up(driver, device, bytes); !error.empty()) return error;
  CUhandle handle = 0;
  if (const CUresult result =
          driver.import_handle(&handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)), kPosixFileDescriptor);
      result != 0) {
    return sentence(driver, "cuMemImportFromShareableHandle", result);
  }
  std::string error;
  if (const CUresult result = driver.reserve(&pointer, bytes, 0, 0, 0); result != 0) {
    error = sentence(driver, "cuMemAddressReserve", result);
  } else if (error = map_reserved(driver, device, pointer, bytes, handle); !error.empty()) {
    driver.free_address(pointer, bytes);
  }
  driver.release(handle);  // the mapping keeps the memory
  return error;
}

std::string unmap_window(CUdeviceptr pointer, std::size_t bytes) {
  Driver driver;
  if (std::string error = open_driver(driver); !error.empty()) return error;
  CUdevice device = 0;
  if (const CUresult result = driver.get_device(&device); result != 0)
    return sentence(driver, "cuCtxGetDevice", result);
  if (std::string error = round_up(driver, device, bytes); !error.empty()) return error;
  if (const CUresult result = driver.unmap(pointer, bytes); result != 0) return sentence(driver, "cuMemUnmap", result);
  if (const CUresult result = driver.free_address(pointer, bytes); result != 0)
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
