// The types and numbers of NVIDIA's cuda.h that kq uses. The judge, the launcher and the children's runtime open
// libcuda with dlopen and call it through function pointers of these types: kq builds and runs without CUDA.
//
// The declarations follow the ABI of CUDA 12 and 13. Each names its counterpart in cuda.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kq::channel::cuda {

using Result = int;                // CUresult
using Ordinal = int;               // CUdevice
using Context = void*;             // CUcontext
using Pointer = std::uint64_t;     // CUdeviceptr
using Allocation = std::uint64_t;  // CUmemGenericAllocationHandle
using Module = void*;              // CUmodule
using Function = void*;            // CUfunction
using Stream = void*;              // CUstream
using Event = void*;               // CUevent

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
  unsigned char flags[8];  // compression type, GPUDirect RDMA, usage and reserved bytes; kq leaves all of them 0
};
static_assert(sizeof(AllocationProperties) == 32);
struct AccessDescription {  // CUmemAccessDesc
  Location location;
  int flags;
};
static_assert(sizeof(AccessDescription) == 12);

}  // namespace kq::channel::cuda
