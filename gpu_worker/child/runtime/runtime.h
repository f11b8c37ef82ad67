// The interface of the child runtime, libkqstub.so: functions that Python cannot perform, or not fast enough. It is a
// plain C interface, called through ctypes.
//
// The library depends on libc and libstdc++ alone, and opens CUDA with dlopen if it is present. No function allocates
// between `go` and `done`. A function that can fail returns 0, or -1 with one sentence in `error`. ctypes releases the
// interpreter lock around each call.
#pragma once

#include <cstddef>
#include <cstdint>

#define KQ_RUNTIME_API extern "C" __attribute__((visibility("default")))

// Returns the offset of a field of channel::Page or channel::TensorDesc ("Page.go") or a size ("sizeof Page"), or -1
// for an unknown name. A test compares gpu_worker/harness/children/page.py with it.
KQ_RUNTIME_API std::int64_t kq_layout(const char* name);

// Waits until `go` differs from `go_seen` and returns 1, or returns 0 after the timeout. It spins for page->spin_ns,
// and then sleeps on the futex.
KQ_RUNTIME_API int kq_wait_go(void* page, std::uint32_t go_seen, std::int64_t timeout_ns);
// Starts the child's own clock, because the work of the command begins. A staging command is not timed.
KQ_RUNTIME_API void kq_begin(void* page);
// To be called when all work of command `number` is launched: sets page->launched, waits until the work is done, and
// stores the time since kq_begin in the page. Returns -1 if CUDA fails. For a staging command it waits for nothing.
KQ_RUNTIME_API int kq_finish(void* page, std::uint32_t number);
// Calls kq_finish and then kq_post_done. If CUDA fails, it returns -1 and does not post `done`.
KQ_RUNTIME_API int kq_complete(void* page, std::uint32_t done);
// To be called in a burst after `returned` of its calls have returned: returns the slot of the next call, or -1 after
// the last call.
KQ_RUNTIME_API int kq_next_slot(void* page, std::uint32_t returned);
// Posts `done`: from here on the judge may read the answer.
KQ_RUNTIME_API void kq_post_done(void* page, std::uint32_t done);

// Maps shared memory for reading and writing; returns null on failure. The descriptor stays the caller's, who should
// close it: a job that held it could truncate the memory while the judge uses it.
KQ_RUNTIME_API void* kq_map_shared(int fd, std::size_t bytes);
KQ_RUNTIME_API void kq_unmap_shared(void* address, std::size_t bytes);

// Functions of gpu_worker/child/runtime/arenas.h; take and give_back have the types of PyObjectArenaAllocator. The
// object that kq_arenas_open returns is never freed.
KQ_RUNTIME_API void* kq_arenas_open(std::size_t bytes);
KQ_RUNTIME_API void* kq_arenas_take(void* arenas, std::size_t bytes);
KQ_RUNTIME_API void kq_arenas_give_back(void* arenas, void* address, std::size_t bytes);
KQ_RUNTIME_API void kq_arenas_close(void* arenas);

// Maps device memory that is shared as a POSIX descriptor, for reading and writing in the current CUDA context. `bytes`
// is rounded up to the driver's granularity. The descriptor stays the caller's.
KQ_RUNTIME_API int kq_map_cuda_window(int fd, std::uint64_t bytes, std::uint64_t* pointer, char* error,
                                      std::size_t error_bytes);
KQ_RUNTIME_API int kq_unmap_cuda_window(std::uint64_t pointer, std::uint64_t bytes, char* error,
                                        std::size_t error_bytes);

// Switches the child's own clock to CUDA events on the default stream of the current context. kq_begin records the
// first event, before Python runs, behind a write of one word by this library.
KQ_RUNTIME_API int kq_clock_use_cuda(char* error, std::size_t error_bytes);

// Functions of torch's pluggable allocator. Memory is taken from the arena while the arena has room, and else from the
// driver. The signatures are those that torch expects (torch.cuda.memory.CUDAPluggableAllocator).
KQ_RUNTIME_API void kq_arena_use(std::uint64_t pointer, std::uint64_t bytes);
KQ_RUNTIME_API void* kq_arena_malloc(std::ptrdiff_t bytes, int device, void* stream);
KQ_RUNTIME_API void kq_arena_free(void* pointer, std::ptrdiff_t bytes, int device, void* stream);

// Functions of gpu_worker/child/sandbox/sandbox.h and supervise.h. enter and confine return the layers in force as
// bits, or -1 with a sentence. fork returns the values of fork(); if it leaves a sentence in process B, B must end.
struct kq_sandbox_options {
  std::uint32_t uid;
  std::uint32_t wanted;  // layers as bits
  std::uint64_t host_bytes;
  const char* view;
  std::uint32_t device_count;
};
KQ_RUNTIME_API int kq_sandbox_fork(const kq_sandbox_options* options, std::uint32_t* layers, char* error,
                                   std::size_t error_bytes);
KQ_RUNTIME_API std::int64_t kq_sandbox_enter(const kq_sandbox_options* options, std::uint32_t layers, char* error,
                                             std::size_t error_bytes);
KQ_RUNTIME_API std::int64_t kq_sandbox_confine(const kq_sandbox_options* options, std::uint32_t layers, char* error,
                                               std::size_t error_bytes);
// Writes the names of the layers, "uid,user,pid", cut to the size of the buffer.
KQ_RUNTIME_API void kq_sandbox_words(std::uint32_t layers, char* words, std::size_t words_bytes);
KQ_RUNTIME_API int kq_become_subreaper();
KQ_RUNTIME_API void kq_supervise(int lifeline, int job);
// Forbids other processes to read this process's memory or descriptors through /proc, and to trace it.
KQ_RUNTIME_API int kq_hide();

// Starts the audit (gpu_worker/child/runtime/audit.h): from here on each event of CUPTI is written to `fd` as one line.
// The library keeps the descriptor.
KQ_RUNTIME_API void kq_audit_begin(int fd);
// To be called before each call of the submission: writes a line that says whether CUPTI still reports events.
KQ_RUNTIME_API void kq_audit_poll();
// Begins and ends a watched call, of which the kernels are reported. The end waits for the GPU.
KQ_RUNTIME_API void kq_audit_begin_watch();
KQ_RUNTIME_API void kq_audit_end_watch();
// Stops the reports of launches.
KQ_RUNTIME_API void kq_audit_stop_launch_reports();
