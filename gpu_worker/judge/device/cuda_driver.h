// The CUDA driver, opened with dlopen where there is one: kq builds and runs without CUDA.
//
// The declarations below are the few of NVIDIA's cuda.h that the judge needs, with its numbers and its ABI as of CUDA
// 12 and 13: the names with _v2 are the 64-bit versions that cuda.h means by the plain name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/error.h"

namespace kq::judge::cuda {

using Result = int;                // CUresult
using Ordinal = int;               // CUdevice
using Context = void*;             // CUcontext
using Pointer = std::uint64_t;     // CUdeviceptr
using Allocation = std::uint64_t;  // CUmemGenericAllocationHandle
using Module = void*;              // CUmodule
using Function = void*;            // CUfunction
using Stream = void*;              // CUstream

inline constexpr Result kSuccess = 0;
inline constexpr Result kOutOfMemory = 2;       // CUDA_ERROR_OUT_OF_MEMORY
inline constexpr Result kNotReady = 600;        // CUDA_ERROR_NOT_READY
inline constexpr int kMemoryClockKhz = 36;      // CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE
inline constexpr int kMemoryBusBits = 37;       // CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH
inline constexpr int kL2Bytes = 38;             // CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
inline constexpr unsigned kHostMapped = 2;      // CU_MEMHOSTALLOC_DEVICEMAP
inline constexpr int kCapabilityMajor = 75;     // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
inline constexpr int kCapabilityMinor = 76;     // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
inline constexpr int kHasVirtualMemory = 102;   // CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
inline constexpr int kHasPosixHandles = 103;    // CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
inline constexpr unsigned kScheduleSpin = 1;    // CU_CTX_SCHED_SPIN
inline constexpr int kPinned = 1;               // CU_MEM_ALLOCATION_TYPE_PINNED
inline constexpr int kPosixFileDescriptor = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
inline constexpr int kOnDevice = 1;             // CU_MEM_LOCATION_TYPE_DEVICE
inline constexpr int kReadWrite = 3;            // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
inline constexpr int kGranularityMinimum = 0;   // CU_MEM_ALLOC_GRANULARITY_MINIMUM

struct Uuid {  // CUuuid
  unsigned char bytes[16];
};
struct Location {  // CUmemLocation
  int type;
  int id;
};
struct AllocationProperties {  // CUmemAllocationProp
  int type;
  int requested_handle_types;
  Location location;
  void* win32_handle_metadata;
  unsigned char flags[8];
};
static_assert(sizeof(AllocationProperties) == 32);
struct AccessDescription {  // CUmemAccessDesc
  Location location;
  int flags;
};
static_assert(sizeof(AccessDescription) == 12);

// One pointer per function; all set, or there is no Driver.
struct Driver {
  Result (*init)(unsigned flags);
  Result (*error_string)(Result error, const char** text);
  Result (*device_count)(int* count);
  Result (*device_get)(Ordinal* device, int index);
  Result (*device_name)(char* name, int bytes, Ordinal device);
  Result (*device_uuid)(Uuid* uuid, Ordinal device);
  Result (*device_attribute)(int* value, int attribute, Ordinal device);
  Result (*device_memory)(std::size_t* bytes, Ordinal device);
  Result (*context_flags)(Ordinal device, unsigned flags);
  Result (*context_retain)(Context* context, Ordinal device);
  Result (*context_release)(Ordinal device);
  Result (*context_set_current)(Context context);
  Result (*synchronize)();
  Result (*stream_query)(Stream stream);
  Result (*granularity)(std::size_t* bytes, const AllocationProperties* properties, int option);
  Result (*memory_create)(Allocation* allocation, std::size_t bytes, const AllocationProperties* properties,
                          unsigned long long flags);
  Result (*memory_export)(void* handle, Allocation allocation, int type, unsigned long long flags);
  Result (*memory_import)(Allocation* allocation, void* handle, int type);
  Result (*memory_release)(Allocation allocation);
  Result (*address_reserve)(Pointer* at, std::size_t bytes, std::size_t alignment, Pointer wish,
                            unsigned long long flags);
  Result (*address_free)(Pointer at, std::size_t bytes);
  Result (*memory_map)(Pointer at, std::size_t bytes, std::size_t offset, Allocation allocation,
                       unsigned long long flags);
  Result (*memory_unmap)(Pointer at, std::size_t bytes);
  Result (*set_access)(Pointer at, std::size_t bytes, const AccessDescription* access, std::size_t access_n);
  Result (*allocate)(Pointer* at, std::size_t bytes);
  Result (*free)(Pointer at);
  Result (*host_allocate)(void** at, std::size_t bytes, unsigned flags);
  Result (*host_pointer)(Pointer* at, void* host, unsigned flags);
  Result (*host_free)(void* at);
  Result (*reset_persisting)();
  Result (*copy)(Pointer to, Pointer from, std::size_t bytes);
  Result (*copy_to_host)(void* to, Pointer from, std::size_t bytes);
  Result (*fill_words)(Pointer to, unsigned word, std::size_t words);
  Result (*module_load)(Module* module, const void* image);
  Result (*module_unload)(Module module);
  Result (*module_function)(Function* function, Module module, const char* name);
  Result (*launch)(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream, void** parameters,
                   void** extra);
};

// Opens the library. ExitCode::nothing: there is no such library here.
Expected<Driver> open_driver(const std::string& library = "libcuda.so.1");

// "cuMemCreate: out of memory (2)"
Error error_of(const Driver& driver, const char* function, Result result);

}  // namespace kq::judge::cuda
