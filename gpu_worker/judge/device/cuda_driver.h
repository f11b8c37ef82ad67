// The functions of the CUDA driver that the judge calls. open_driver() finds them with dlopen, because kq builds and
// runs without CUDA; channel/cuda_abi.h has their types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/error.h"
#include "gpu_worker/channel/cuda_abi.h"

namespace kq::judge::cuda {

using channel::cuda::AccessDescription;
using channel::cuda::Allocation;
using channel::cuda::AllocationProperties;
using channel::cuda::Context;
using channel::cuda::Function;
using channel::cuda::kCapabilityMajor;
using channel::cuda::kCapabilityMinor;
using channel::cuda::kGranularityMinimum;
using channel::cuda::kHasPosixHandles;
using channel::cuda::kHasVirtualMemory;
using channel::cuda::kHostMapped;
using channel::cuda::kL2Bytes;
using channel::cuda::kMemoryBusBits;
using channel::cuda::kMemoryClockKhz;
using channel::cuda::kNotReady;
using channel::cuda::kOnDevice;
using channel::cuda::kOutOfMemory;
using channel::cuda::kPinned;
using channel::cuda::kPosixFileDescriptor;
using channel::cuda::kReadWrite;
using channel::cuda::kScheduleSpin;
using channel::cuda::kSuccess;
using channel::cuda::Location;
using channel::cuda::Module;
using channel::cuda::Ordinal;
using channel::cuda::Pointer;
using channel::cuda::Result;
using channel::cuda::Stream;
using channel::cuda::Uuid;

// One pointer for each function. open_driver() sets all of them or fails.
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
  Result (*set_access)(Pointer at, std::size_t bytes, const AccessDescription* access, std::size_t access_count);
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

// Opens the library and finds its functions; where cuda.h defines a plain name as one that ends in _v2, the latter is
// looked up. Fails with ErrorKind::not_found where there is no such library or it lacks a function.
Expected<Driver> open_driver(const std::string& library = "libcuda.so.1");

// The error of a call that returned `result`, with the driver's own text: "cuMemCreate: out of memory (2)".
Error error_of(const Driver& driver, const char* function, Result result);

}  // namespace kq::judge::cuda
