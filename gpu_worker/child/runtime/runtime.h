// libkqstub.so: what a child cannot do, or not fast enough, in Python. A plain C interface, called through ctypes.
//
// It depends on libc and libstdc++ alone; CUDA is opened with dlopen where it is. No call allocates between `go` and
// `done`. Functions that can fail return 0, or -1 with one sentence in `error`. ctypes lets go of the interpreter lock
// around each call.
#pragma once

#include <cstddef>
#include <cstdint>

#define KQ_STUB_API extern "C" __attribute__((visibility("default")))

// Offset or size of a field of channel::Page or channel::TensorDesc, by "Page.go" or "sizeof Page"; -1 for an unknown
// name. What gpu_worker/harness/page.py is held to.
KQ_STUB_API std::int64_t kq_layout(const char* name);

// Waits until `go` differs from `go_seen` (1), or the time is over (0). Spins page->spin_ns, then sleeps on the futex.
KQ_STUB_API int kq_wait_go(void* page, std::uint32_t go_seen, std::int64_t timeout_ns);
// The command's own work begins, and with it the child's own clock, but for what is staged.
KQ_STUB_API void kq_begin(void* page);
// All that command `number` has to launch is queued: says so, waits until it is done, and notes its own time since
// kq_begin in the page. -1 when CUDA fails. What is staged has nothing to wait for.
KQ_STUB_API int kq_finish(void* page, std::uint32_t number);
// kq_finish, and then says done; when CUDA fails nothing is said.
KQ_STUB_API int kq_complete(void* page, std::uint32_t done);
// In a burst, after so many of its calls have returned: the slot of the next one, or -1 when that was the last.
KQ_STUB_API int kq_next_slot(void* page, std::uint32_t returned);
// From here on the judge may read the answer.
KQ_STUB_API void kq_post_done(void* page, std::uint32_t done);

// Maps shared memory for reading and writing; null when that fails. The descriptor stays the caller's, and can be
// closed: a job that held it could cut the memory short under the judge's feet.
KQ_STUB_API void* kq_map_shared(int fd, std::size_t bytes);
KQ_STUB_API void kq_unmap_shared(void* address, std::size_t bytes);

// gpu_worker/child/runtime/arenas.h; take and give_back have the types of PyObjectArenaAllocator. What is opened is
// never freed.
KQ_STUB_API void* kq_arenas_open(std::size_t bytes);
KQ_STUB_API void* kq_arenas_take(void* arenas, std::size_t bytes);
KQ_STUB_API void kq_arenas_give_back(void* arenas, void* address, std::size_t bytes);
KQ_STUB_API void kq_arenas_close(void* arenas);

// Maps device memory shared as a POSIX descriptor, for reading and writing in the current CUDA context. `bytes` is
// rounded up to the driver's granularity. The descriptor stays the caller's.
KQ_STUB_API int kq_map_cuda_window(int fd, std::uint64_t bytes, std::uint64_t* pointer, char* error,
                                   std::size_t error_bytes);
KQ_STUB_API int kq_unmap_cuda_window(std::uint64_t pointer, std::uint64_t bytes, char* error, std::size_t error_bytes);

// From here on the child's own clock is CUDA's: events on the default stream of the current context. The first one is
// recorded right at `go`, before Python runs, behind a word of the stub's own.
KQ_STUB_API int kq_clock_use_cuda(char* error, std::size_t error_bytes);

// Device memory that torch's pluggable allocator hands out: from the arena while there is room, else the driver's. The
// signatures are those torch expects (torch.cuda.memory.CUDAPluggableAllocator).
KQ_STUB_API void kq_arena_use(std::uint64_t pointer, std::uint64_t bytes);
KQ_STUB_API void* kq_arena_malloc(std::ptrdiff_t bytes, int device, void* stream);
KQ_STUB_API void kq_arena_free(void* pointer, std::ptrdiff_t bytes, int device, void* stream);

// gpu_worker/child/sandbox/sandbox.h and supervise.h. The steps return the layers in force as bits, or -1 with a
// sentence; fork returns as fork() does, and a sentence in B means that B must end.
struct kq_sandbox_options {
  std::uint32_t uid;
  std::uint32_t wanted;  // layers as bits
  std::uint64_t host_bytes;
  const char* view;
};
KQ_STUB_API int kq_sandbox_fork(const kq_sandbox_options* options, std::uint32_t* layers, char* error,
                                std::size_t error_bytes);
KQ_STUB_API std::int64_t kq_sandbox_enter(const kq_sandbox_options* options, std::uint32_t layers, char* error,
                                          std::size_t error_bytes);
KQ_STUB_API std::int64_t kq_sandbox_confine(const kq_sandbox_options* options, std::uint32_t layers, char* error,
                                            std::size_t error_bytes);
// "uid,user,pid"; what does not fit is cut.
KQ_STUB_API void kq_sandbox_words(std::uint32_t layers, char* words, std::size_t words_bytes);
KQ_STUB_API int kq_adopt_orphans();
KQ_STUB_API void kq_supervise(int lifeline, int job);
// Nobody may read our memory or descriptors through /proc, nor trace us.
KQ_STUB_API int kq_hide();

// gpu_worker/child/runtime/audit.h: from here on what CUPTI announces is written to `fd`, one line each. The descriptor
// stays ours.
KQ_STUB_API void kq_audit_begin(int fd);
// Before a call: whether it still would be.
KQ_STUB_API void kq_audit_listen();
// No launch is, from here on.
KQ_STUB_API void kq_audit_leave_launches();
