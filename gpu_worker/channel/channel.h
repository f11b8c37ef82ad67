// The shared page between the judge and one child: commands one way, untrusted answers the other.
//
// Theory of operation. The judge makes one page (a memfd) and one window (a memfd, or device memory shared as a POSIX
// descriptor) per child and hands both over a socket pair with SCM_RIGHTS: one byte 'P' with the page, one byte 'W'
// with the window. The child never writes to that socket. From then on everything is a command in the page:
//
//   judge                                            child (stub, python harness)
//   fills command, seed, tables
//   go = n, futex wake      ---------------------->  sees go == n (spins spin_ns, then futex), copies the command,
//   works, says `launched`, synchronises sees done == n          <----------------------  fills status, failure,
//   message, tables; done = n, futex wake
//
// Every word the child writes is hostile: the judge copies it out once, bounds it, and believes only what a liar could
// not gain from: that the child failed. Sizes, times and correctness never come from here. The page's layout is
// fixed-size integers only, mirrored by gpu_worker/harness/children/page.py; channel_test.cc and harness tests hold both to the
// same offsets.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kq::channel {

inline constexpr std::uint32_t kMagic = 0x6B710007;  // "kq", layout 7
inline constexpr std::uint32_t kInputsMax = 64;
inline constexpr std::uint32_t kOutputsMax = 64;
inline constexpr std::uint32_t kStatesMax = 2048;  // parameters and buffers of a model
inline constexpr std::uint32_t kDimsMax = 8;
inline constexpr std::uint32_t kAnswersMax = 8;  // of one command
inline constexpr std::uint32_t kTextMax = 4096;
inline constexpr std::uint64_t kAlign = 256;  // of every tensor in a window

enum class Command : std::uint32_t {
  none = 0,
  attach = 1,     // receive the window from the socket ('W'), map it in place of an earlier one; tables hold the final
                  // offsets. The first one that has an arena (arena_bytes is not 0) stays mapped for good: there torch
                  // makes what calls allocate, so that an output need not be copied to be seen by the judge The first
                  // command of a submission; comes after `load` for a reference
  null_call = 2,  // seed; GPU: writes touch_bytes of the window, or of its own memory where there is none, at least a
                  // word, then synchronises; CPU: only answers. What a call costs when nothing is called: the switch of
                  // the GPU to this process is part of it, and reading its clock
  load = 3,  // reference: import, construct under `seed`, draw inputs, call once, fill the tables (sizes, no offsets)
             // submission: import, construct under `seed`, take the state out of the window where names and shapes
             // match A reference may be told to load again under another seed
  put_state = 4,    // reference: copy the model's state into the window
  make_inputs = 5,  // reference: seed, get_inputs(), cast, copy into the window; fill the input table again: shapes and
                    // dtypes as at `load`, values of integers, reals and booleans as drawn (the judge carries these
                    // over to the submission's table)
  call =
      6,  // seed, call on the inputs in the window and the plain values in the input table, bring every output to its
          // place in the window unless it lies in the arena and the model does not keep it, synchronise, fill the
          // output table with what came out (kind, dtype, shape, plain value, and place and offset of one in the arena;
          // the judge does not read the name). An output that does not fit its place is not brought, only described
  stage = 7,  // what a call needs and is not part of it, sent before every call and null call: wrap the tensors of the
              // tables. Nothing of it runs on a GPU, which would have to switch to the child and back
  stage_burst = 8,  // likewise for a burst, in any of `slots` slots of the window: tables describe slot 0, slot k lies
                    // k * slot_bytes behind
  burst = 9,  // seed, `calls` calls without synchronising between them. Each is made on the slot that `turn` names once
              // the one before has returned, without seeding again: what draws numbers is not called in bursts; then,
              // when `turn` names none, all outputs are described as those of a call are: the i-th call's from row i *
              // output_count / calls on
  compile = 10,  // reference, once attached: makes its model ready under torch.compile, with a call on inputs of its
                 // own. After another `load` what is compiled is kept, and takes over that model's state
  call_compiled = 11,  // as `call`, of the compiled model
  answer = 12,  // reference: in each of the first `answer_count` slots of the window as `make_inputs`, and then as a call
                // on a copy of them that nobody times: the window's stay as drawn. An input whose place is said to be
                // the arena may stay where it was drawn there, and place and offset then say so; else it is brought as
                // the others, and its place is the window. Each under seeds of its own. The input table is that of all,
                // whose numbers are the same; the output table is as in a burst. Outputs of more than one are brought
                // to their places in the window
};

constexpr bool is_staging(Command command) {
  return command == Command::stage || command == Command::stage_burst;
}

// What `turn` holds: which call, from 1 on, and its slot. One behind the last call has kNoSlot.
inline constexpr std::uint32_t kNoSlot = 0xFFFF;
constexpr std::uint32_t turn_of(std::uint32_t number, std::uint32_t slot) {
  return number << 16 | slot;
}

enum class Status : std::uint32_t { ok = 0, failed = 1 };

// What a child may claim against itself.
enum class Failure : std::uint32_t {
  none = 0,
  load_failed = 1,
  runtime_error = 2,
  out_of_host_memory = 3,
  out_of_gpu_memory = 4,
  gpu_fault = 5,
  unsupported_here = 6,
  problem_invalid = 7,  // believed from the reference child only
};

// Of an argument or output; none is Python's None. A state is always a tensor.
enum class Kind : std::uint32_t { none = 0, tensor = 1, integer = 2, real = 3, boolean = 4 };

enum class Place : std::uint32_t { window = 0, arena = 1 };

enum class Dtype : std::uint32_t {
  none = 0,
  float64 = 1,
  float32 = 2,
  float16 = 3,
  bfloat16 = 4,
  int64 = 5,
  int32 = 6,
  int16 = 7,
  int8 = 8,
  uint8 = 9,
  boolean = 10,
  complex64 = 11,
  complex128 = 12
};

// Bytes of one element; 0 for an unknown dtype.
constexpr std::uint64_t element_bytes(Dtype dtype) {
  switch (dtype) {
    case Dtype::none:
      return 0;
    case Dtype::float64:
    case Dtype::int64:
    case Dtype::complex64:
      return 8;
    case Dtype::float32:
    case Dtype::int32:
      return 4;
    case Dtype::float16:
    case Dtype::bfloat16:
    case Dtype::int16:
      return 2;
    case Dtype::int8:
    case Dtype::uint8:
    case Dtype::boolean:
      return 1;
    case Dtype::complex128:
      return 16;
  }
  return 0;
}

// One argument, output or parameter. Contiguous in its window for now: strides are row-major.
struct TensorDesc {
  char name[80];  // NUL-terminated: forward()'s parameter, "out0", or the state_dict key; longer names are cut
  Kind kind;
  Dtype dtype;
  std::uint32_t ndim;
  Place place;  // of an output; of an input in `answer`
  std::int64_t shape[kDimsMax];
  std::uint64_t
      offset;  // in the window, a multiple of kAlign, set by the judge; from the arena's begin on, set by the child
  std::uint64_t bytes;   // product of shape times the element
  std::int64_t integer;  // value of kind integer or boolean
  double real;           // value of kind real
};
static_assert(sizeof(TensorDesc) == 192);

// Of the inputs, and of both sides' calls on them. A submission learns the second with `go`, and the first never.
struct Seeds {
  std::uint64_t inputs = 0;
  std::uint64_t calls = 0;
};

struct Page {
  std::uint32_t magic;
  std::uint32_t page_bytes;  // sizeof(Page)

  // Written by the judge.
  std::uint32_t go;  // futex word
  Command command;
  std::uint64_t seed;          // of this command; 0 while a call is staged
  std::uint64_t answer_count;     // of `answer`
  std::uint64_t spin_ns;       // how long the child spins on `go` before it sleeps
  std::uint64_t window_bytes;  // with all that is in it
  std::uint64_t arena_bytes;   // the window's last ones; 0: there is none
  std::uint64_t
      touch_bytes;  // what a null call writes on a GPU: as a call does, it leaves the caches to others than the judge

  // Written by the child.
  std::uint32_t done;  // futex word
  Status status;
  Failure failure;
  std::uint32_t text_bytes;
  std::int64_t
      event_ns;  // the child's own time of the call (CUDA events; on the CPU its monotonic clock): a hint; 0: none

  // Of a burst, and slots of answers too. Written by the judge, but for `returned`: how many calls of it have.
  std::uint64_t slot_bytes;
  std::uint32_t slots;
  std::uint32_t calls;
  std::uint32_t turn;
  std::uint32_t returned;

  char text[kTextMax];  // why it failed, for people

  // Written by either side, in turn.
  std::uint32_t input_count;
  std::uint32_t output_count;
  std::uint32_t state_count;
  std::uint32_t
      launched;  // by the child alone: the number of the command (`go`) of which all that goes to a GPU is queued there
  TensorDesc inputs[kInputsMax];
  TensorDesc outputs[kOutputsMax];
  TensorDesc states[kStatesMax];
  Seeds answers[kAnswersMax];  // of `answer`, by slot; written by the judge
};
static_assert(offsetof(Page, go) == 8);
static_assert(offsetof(Page, done) == 64);
static_assert(offsetof(Page, input_count) == 112 + kTextMax);
static_assert(offsetof(Page, inputs) == 128 + kTextMax);

}  // namespace kq::channel
