// The shared memory page in which the judge gives commands to one child and the child answers.
//
// Theory of operation. For each child the judge makes one page (a memfd) and one window (a memfd, or GPU memory shared
// as a POSIX descriptor). It sends both over a socket pair with SCM_RIGHTS: one byte 'P' with the page, one byte 'W'
// with the window. A child without a GPU sends one byte back, by whose
// credentials the judge knows its process (gpu_worker/judge/child/process.h). From then on all communication is in the
// page:
//
//   judge                                          child (child runtime and Python harness)
//   writes command, seed and tables
//   go = number, futex wake   ------------------>  sees go == number (spins for spin_ns, then waits on the futex) and
//                                                  copies the command
//                                                  does the work, sets `launched`, synchronises
//                                                  writes status, failure, text and tables
//   sees done == number       <------------------  done = number, futex wake
//
// Every word that a child writes is hostile. The judge copies it once, checks its range, and accepts only what cannot
// help a liar: that the child failed. It never takes sizes, times or correctness from here. The page consists of
// integers of fixed size; gpu_worker/harness/children/page.py has the same layout, and channel_test.cc and the harness
// tests check that the offsets are equal.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kq::channel {

inline constexpr std::uint32_t kMagic = 0x6B71000A;  // "kq" and layout 10
inline constexpr std::uint32_t kInputsMax = 64;
inline constexpr std::uint32_t kOutputsMax = 64;
inline constexpr std::uint32_t kStatesMax = 2048;  // parameters and buffers of a model
inline constexpr std::uint32_t kDimsMax = 8;
inline constexpr std::uint32_t kAnswersMax = 8;  // slots of one `answer` command
inline constexpr std::uint32_t kWorkloadsMax = 128;
inline constexpr std::uint32_t kTextMax = 4096;
inline constexpr std::uint32_t kTreeMax = 32 << 10;  // bytes of the text that describes a tree of values
inline constexpr std::uint64_t kAlign = 256;         // alignment of every tensor in a window

// What the judge may ask of a child. "Reference" and "submission" say which child gets a command; others go to both.
enum class Command : std::uint32_t {
  none = 0,
  // Receive the window from the socket ('W') and map it in place of an earlier one; the tables hold the final offsets.
  // The first window with an arena (arena_bytes > 0) stays mapped for good: torch allocates a call's memory there, so
  // that the judge sees outputs without a copy. A submission's first command; a reference gets `load` before it.
  attach = 1,
  // Measure the overhead of a call: seed; on a GPU, write touch_bytes of the window, or of the child's own memory if it
  // has no window (at least one word), and synchronise; on a CPU, only answer. The overhead includes the GPU's switch
  // to this process and reading its clock.
  null_call = 2,
  // Reference: import, construct the workload `workload` under `seed`, draw inputs, call once, fill the tables (sizes
  // without offsets) and the table of workloads. Submission: import, construct under `seed`, and copy the state out of
  // the window where names and shapes match; the text of its answer names parameters and buffers without a partner.
  // Both may be told to load again, under another seed or another workload.
  load = 3,
  put_state = 4,  // Reference: copy the model's state into the window.
  // Reference: seed, get_inputs(), cast and copy into the window. Fill the input table again: shapes and dtypes as at
  // `load`, integers, reals and booleans as drawn; the judge copies these values to the submission's table.
  make_inputs = 5,
  // Seed, call on the inputs in the window and the plain values in the input table, and copy every output to its place
  // in the window unless it is in the arena and the model does not keep it. Synchronise and fill the output table with
  // what came out: kind, dtype, shape, plain value, place, and the offset of an output in the arena; the judge does not
  // read the name. An output that does not fit its place is described but not copied.
  call = 6,
  // Prepare the next call, without being part of it: wrap the tensors of the tables. Sent before every call and null
  // call. Uses no GPU, which would have to switch to the child and back.
  stage = 7,
  // The same for a burst, whose calls may use any of `slots` slots of the window: the tables describe slot 0, and slot
  // k is k * slot_bytes behind it.
  stage_burst = 8,
  // Seed and make `calls` calls without synchronising between them. Each call uses the slot that `turn` names after the
  // one before has returned, and does not seed again, because a model that draws numbers gets no bursts. When `turn`
  // names no slot, describe all outputs as those of a call: the i-th call's begin at row i * output_count / calls.
  burst = 9,
  // Reference, after `attach`: make the model ready under torch.compile, with a call on inputs of its own. After
  // another `load` the compiled code is kept and takes over the new model's state.
  compile = 10,
  call_compiled = 11,  // As `call`, with the compiled model.
  // Reference: in each of the first `answer_count` slots of the window do `make_inputs` and then `call` on a copy of
  // the inputs, so that the inputs in the window stay as drawn. An input whose place is the arena may stay where it was
  // drawn there, and its place and offset say so; other inputs are copied, and their place is the window. Each slot has
  // seeds of its own. The input table is the same for all slots; the output table is as in a burst. With more than one
  // slot outputs are copied to their places in the window.
  answer = 12,
  // Reference, after `load`: receive memory from the socket ('W', window_bytes), which is the host's or the device's as
  // the order says, and from the inputs in it compute the outputs as `truth` asks, seeded by answers[0].calls, on
  // copies of the model and of the inputs. The tables hold the offsets in that memory; an output is written in the
  // dtype of its row. Window, arena, model and the outputs of the last call stay as they are. The memory is unmapped
  // before the answer.
  truth = 13,
  // Reference: receive host memory as `truth` does, and give copies of the inputs, of the expected outputs and of a
  // submission's outputs to check() of the problem. The table of outputs holds the rows of the expected outputs and
  // then those of the submission's. The text of the answer is what check() returned; empty: the outputs are right.
  check = 14,
  // Submission, after `load` of a problem with has_forbidden: call twice more on the inputs in the window, and find out
  // whether the submission uses what the problem forbids (gpu_worker/harness/problem/forbidden_calls.py). Nothing reads
  // the outputs. The text of the answer says what it uses: "calls aten::mm (new.py:12)"; empty: nothing was found.
  inspect = 15,
};

// Where and in which precision Command::truth computes. Integers stay as they are.
enum class TruthKind : std::uint32_t { float64_on_device = 0, float64_on_host = 1, float32_on_device = 2 };
// To which precision inputs and parameters are rounded before Command::truth casts them.
enum class Rounding : std::uint32_t { none = 0, tf32 = 1, fp16 = 2, bf16 = 3 };

struct TruthOrder {
  TruthKind kind = TruthKind::float64_on_device;
  Rounding rounding = Rounding::none;
  std::uint32_t is_device_memory = 0;  // 1: the memory that comes with the command is the device's
};

constexpr bool is_staging(Command command) {
  return command == Command::stage || command == Command::stage_burst;
}

// Makes the value of `turn`: the number of the call, from 1 on, and its slot. After the last call the slot is kNoSlot.
inline constexpr std::uint32_t kNoSlot = 0xFFFF;
constexpr std::uint32_t turn_of(std::uint32_t number, std::uint32_t slot) {
  return number << 16 | slot;
}

enum class Status : std::uint32_t { ok = 0, failed = 1 };

// Why a command failed, as the child reports it.
enum class Failure : std::uint32_t {
  none = 0,
  load_failed = 1,
  runtime_error = 2,
  out_of_host_memory = 3,
  out_of_gpu_memory = 4,
  gpu_fault = 5,
  unsupported_here = 6,
  problem_invalid = 7,  // accepted from the reference only
  wrong_form = 8,       // a submission's outputs are other containers or constants than the reference's
};

// What an input or output is; `none` is Python's None. A state is always a tensor.
enum class Kind : std::uint32_t { none = 0, tensor = 1, integer = 2, real = 3, boolean = 4 };

// Where a tensor lies. `process`: an output of `call` that its process keeps in memory of its own (keeps_outputs).
enum class Place : std::uint32_t { window = 0, arena = 1, process = 2 };

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
  complex128 = 12,
  float8_e4m3fn = 13,
  float8_e5m2 = 14,
  float8_e4m3fnuz = 15,
  float8_e5m2fnuz = 16,
  float8_e8m0fnu = 17,
  uint16 = 18,
  uint32 = 19,
  uint64 = 20,
  complex32 = 21
};

// Returns the bytes of one element, or 0 for an unknown dtype.
constexpr std::uint64_t element_bytes(Dtype dtype) {
  switch (dtype) {
    case Dtype::none:
      return 0;
    case Dtype::float64:
    case Dtype::int64:
    case Dtype::complex64:
    case Dtype::uint64:
      return 8;
    case Dtype::float32:
    case Dtype::int32:
    case Dtype::uint32:
    case Dtype::complex32:
      return 4;
    case Dtype::float16:
    case Dtype::bfloat16:
    case Dtype::int16:
    case Dtype::uint16:
      return 2;
    case Dtype::int8:
    case Dtype::uint8:
    case Dtype::float8_e4m3fn:
    case Dtype::float8_e5m2:
    case Dtype::float8_e4m3fnuz:
    case Dtype::float8_e5m2fnuz:
    case Dtype::float8_e8m0fnu:
    case Dtype::boolean:
      return 1;
    case Dtype::complex128:
      return 16;
  }
  return 0;
}

// One input, output or state. Outputs and states are contiguous, with row-major strides. An input keeps the strides
// that the problem gave it: then is_strided is 1, and `bytes` reaches from its first to behind its last element.
//   float32[2, 3] by strides [1, 2]: 24 bytes, transposed      float32[4, 8] by strides [0, 1]: 32 bytes, expanded
struct TensorDesc {
  char name[80];  // NUL-terminated, cut: a parameter of forward(), "out0", or a key of state_dict
  Kind kind;
  Dtype dtype;
  std::uint32_t ndim;
  Place place;  // of outputs, and of inputs in `answer`
  std::int64_t shape[kDimsMax];
  std::uint64_t offset;  // in the window: set by the judge, a multiple of kAlign; in the arena: set by the child;
                         // in the process: the address, set by the child
  std::uint64_t bytes;   // element_bytes() times the product of the shape, unless is_strided
  std::int64_t integer;  // value of kind integer or boolean
  double real;           // value of kind real
  std::uint32_t is_strided;
  std::uint32_t reserved;
  std::int64_t strides[kDimsMax];  // in elements, at least 0; read where is_strided is 1
};
static_assert(sizeof(TensorDesc) == 264);

// One of the problem's workloads, as the reference describes it.
struct WorkloadDesc {
  char name[80];  // NUL-terminated, cut
  double weight;  // of its time in the job's time; 0: it is checked and not timed
};
static_assert(sizeof(WorkloadDesc) == 88);

// The tolerance that the problem names for one output. Where `matched` is 0 it names none.
struct ToleranceDesc {
  double rtol;     // negative: that of the output's dtype
  double atol;     // likewise
  double matched;  // the share of elements that must be within the tolerance, up to 1
};
static_assert(sizeof(ToleranceDesc) == 24);

// The seeds of one slot: for drawing the inputs, and for the calls of reference and submission. A submission gets the
// second one with `go`, and never the first.
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
  std::uint64_t seed;          // for this command; 0 while a call is staged
  std::uint64_t answer_count;  // for `answer`
  std::uint64_t spin_ns;       // how long the child spins on `go` before it sleeps
  std::uint64_t window_bytes;  // including the arena
  std::uint64_t arena_bytes;   // the last bytes of the window; 0: there is no arena
  std::uint64_t touch_bytes;   // what a null call writes on a GPU, so that it displaces the caches as a call does

  // Written by the child.
  std::uint32_t done;  // futex word
  Status status;
  Failure failure;
  std::uint32_t text_bytes;
  std::int64_t event_ns;  // the child's own time of the call, by CUDA events or the monotonic clock; 0: none

  // For bursts and `answer`. Written by the judge, except `returned`: how many calls of the burst have returned.
  std::uint64_t slot_bytes;
  std::uint32_t slots;
  std::uint32_t calls;
  std::uint32_t turn;
  std::uint32_t returned;

  char text[kTextMax];  // the error text

  // Written by judge and child in turn.
  std::uint32_t input_count;
  std::uint32_t output_count;
  std::uint32_t state_count;
  std::uint32_t launched;  // by the child: the number (`go`) of the command whose GPU work is completely queued
  TensorDesc inputs[kInputsMax];
  TensorDesc outputs[kOutputsMax];
  TensorDesc states[kStatesMax];
  Seeds answers[kAnswersMax];    // for `answer`, by slot; written by the judge
  std::uint32_t workload;        // for `load`: the index of the workload; written by the judge
  std::uint32_t workload_count;  // the length of `workloads`; written by a reference that has loaded
  WorkloadDesc workloads[kWorkloadsMax];
  ToleranceDesc tolerances[kOutputsMax];  // of the outputs; written by a reference that has loaded

  // How the rows of inputs and outputs make up the arguments and the result of a call, as text that
  // gpu_worker/harness/values/value_tree.py writes and reads. A reference writes both at `load`, and the judge copies
  // them unread to the submission's page before its `load`. 0 bytes: every row is an argument, or a tensor of the
  // result.
  std::uint32_t input_tree_bytes;
  std::uint32_t output_tree_bytes;
  char input_tree[kTreeMax];
  char output_tree[kTreeMax];
  TruthOrder truth;             // for `truth`; written by the judge
  std::uint32_t has_check;      // 1: the problem has a function check(); written by a reference that has loaded
  std::uint32_t has_forbidden;  // 1: it has FORBIDDEN; likewise, and written by the judge for a submission
  // 1: the judge reads the child's memory while the child is stopped, so outputs of `call` and `call_compiled` may stay
  // where the call has left them; written by the judge.
  std::uint32_t keeps_outputs;
  // For `call` to a submission, written by the judge: 1: the child finds out which kernels run, and which of the
  // problem's forbidden operators. The judge never times such a call.
  std::uint32_t is_watched;
  std::uint32_t wants_own_kernels;  // 1: the problem has OWN_KERNELS or FORBIDDEN; written by a reference
};
static_assert(offsetof(Page, go) == 8);
static_assert(offsetof(Page, done) == 64);
static_assert(offsetof(Page, input_count) == 112 + kTextMax);
static_assert(offsetof(Page, inputs) == 128 + kTextMax);

}  // namespace kq::channel
