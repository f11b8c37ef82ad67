#include "guard/rules.h"

#include <algorithm>
#include <iterator>

#include "guard/clauses.h"

namespace kq::guard {
namespace {

constexpr std::string_view kUseCurrent =
    "launch on the current stream: torch.cuda.current_stream() may be read and handed on";
constexpr std::string_view kFinishFirst = "do the work before the call returns, on the current stream";
constexpr std::string_view kNothingToDo = "nothing has to change: the finding is only reported for review";
constexpr auto reject = Severity::reject;
constexpr auto review = Severity::review;

constexpr Rule kRules[] = {
    {"cuda_stream_create", reject, "stream", clauses::kStreamCreate, "creates a CUDA stream", kUseCurrent,
     "Work on a separate stream runs beside the one that is timed: the call returns before it is done. Which library "
     "makes the stream makes no "
     "difference, nor whether the work is joined again."},
    {"cuda_stream_external", reject, "stream", clauses::kStreamExternal, "wraps a CUDA stream made elsewhere",
     kUseCurrent, "A handle from elsewhere may be any other stream."},
    {"cuda_stream_context", reject, "stream", clauses::kStreamContext, "changes the current CUDA stream",
     "leave the current stream as it is: it is the one that is measured",
     "What is launched inside the context runs beside the stream that is timed. Making the current stream current once "
     "more is fine."},
    {"stream_per_thread", reject, "stream", clauses::kStreamPerThread, "uses a stream by a special handle", kUseCurrent,
     "The per-thread default stream and handles written as numbers are other streams than the one that is timed. 0 and "
     "the legacy default stream "
     "are fine."},
    {"cuda_graph", reject, "stream", clauses::kGraph, "captures or replays a CUDA graph",
     "call the kernels directly; torch.compile has mode \"max-autotune-no-cudagraphs\"",
     "A capture needs a separate stream, and a replay works on the inputs of the capture. torch.compile captures in "
     "the modes reduce-overhead and "
     "max-autotune."},
    {"per_thread_flag", reject, "policy", clauses::kPerThreadFlag, "asks for per-thread default streams",
     "leave the default stream as it is",
     "With --default-stream per-thread, or the macro of that meaning, every launch on stream 0 goes to another stream "
     "than the one that is timed."},
    {"host_callback", reject, "async", clauses::kHostCallback, "defers work to a host function of the stream",
     kFinishFirst, "A host function runs when the stream gets there, which may be after the call was timed."},
    {"host_thread", reject, "async", clauses::kHostThread, "starts a thread", kFinishFirst,
     "A thread may work, or launch work, after the call was timed. Locks, events and thread-local values "
     "are fine, and so are the "
     "threads that torch has."},
    {"device_launch", reject, "async", clauses::kDeviceLaunch,
     "launches kernels from the device that nothing waits for", "launch every kernel from the host",
     "A child that is launched to be forgotten may outlive its parent and the call."},
    {"patches_clock", reject, "policy", clauses::kPatchesClock, "replaces what measures time",
     "leave clocks, events and synchronisation as they are",
     "The time of a kernel is taken by another process, so this gains nothing, but it shows an "
     "attempt to cheat."},
    {"rewrites_caller", reject, "policy", clauses::kRewritesCaller, "changes the code or the names of who calls it",
     "change only what belongs to the file itself",
     "Builtins, other modules and the frames of callers are not the submission's."},
    {"tensor_subclass", reject, "policy", clauses::kTensorSubclass, "makes tensors of a class of its own",
     "return plain torch.Tensor objects",
     "A tensor subclass, or a dispatch mode, can defer work until the result is read."},
    {"exec_payload", reject, "policy", clauses::kExecPayload, "runs a program that is hidden in a text",
     "write the code as code",
     "What exec runs after decoding, or in a text that is very long, cannot be read by a reviewer of the file. A short "
     "constant text is read as if "
     "it stood in the file."},
    {"disguised_source", reject, "policy", clauses::kDisguised, "is written so that it reads otherwise than it runs",
     "submit texts in UTF-8, with plain letters where a name has plain letters",
     "Another encoding can turn a comment into code, full-width letters are the same name to Python and another one to "
     "a reader, macros that grow "
     "beyond the limits hide what they make, trigraphs are another text to a standard that has them, "
     "and bytecode, archives and other files with NUL bytes cannot be read."},
    {"compiler_flag", reject, "policy", clauses::kCompilerFlag, "hands the compiler a flag that is not allowed",
     "choose code generation only: -O3, -arch, --use_fast_math, -D...",
     "Flags that load plugins, name other compilers, read other files, link the CUDA runtime statically or hold "
     "commands for the shell that nvcc gives "
     "them to change what runs, or hide it."},
    {"tool_environment", reject, "policy", clauses::kToolEnvironment,
     "sets a variable that changes the compiler or the loader", "leave it to the evaluator",
     "These variables add flags to nvcc or libraries to processes."},
    {"persisting_l2", reject, "policy", clauses::kPersistingL2, "keeps data in the L2 cache between calls",
     "let the cache be cold: that is what is measured",
     "Lines that are set aside survive the flush between trials, so that a kernel appears faster than the memory it "
     "reads."},
    {"profiler_tamper", reject, "tamper", clauses::kProfilerTamper, "uses CUPTI", "leave the profiler to the evaluator",
     "The audit of streams subscribes to CUPTI, which allows only one subscriber."},
    {"hidden_imports", reject, "policy", clauses::kHiddenImports, "was built so that its use of CUDA cannot be seen",
     "link the CUDA runtime as a shared library, and do not pack the result",
     "The import table of a library tells which functions of CUDA it uses. A CUDA runtime that is linked in, packed "
     "code and a broken table hide that."},
    {"exec_computed", review, "policy", clauses::kExecComputed, "runs code that is only known when it runs",
     kNothingToDo,
     "The text that exec or eval gets, or the module that is imported, is not known without running the source."},
    {"computed_name", review, "policy", clauses::kComputedName, "looks up a name that is only known when it runs",
     kNothingToDo, "An attribute of torch.cuda or of a library whose name is not known may be a stream."},
    {"computed_source", review, "policy", clauses::kComputedSource, "compiles a source that is only known when it runs",
     kNothingToDo,
     "Parts of a C++ source that are put in when it runs, or that are behind very many headers or branches, could not "
     "be read."},
    {"dynamic_library", review, "policy", clauses::kDynamicLibrary, "loads a library or looks up functions in one",
     kNothingToDo,
     "Functions that are looked up by name are in no import table. Names of streams among them are found where they "
     "are constant."},
    {"pool_stream", review, "policy", clauses::kPoolStream, "links functions of torch that hand out streams or threads",
     kNothingToDo,
     "The header of CUDAGuard alone links these, so that a library that links them need not use them. The audit "
     "reports their use."},
    {"patches_torch", review, "policy", clauses::kPatchesTorch, "replaces functions of torch", kNothingToDo,
     "Results are compared by another process, so that a replaced comparison gains nothing. Settings under "
     "torch.backends and configs are fine."},
    {"probes_harness", review, "policy", clauses::kProbesHarness, "looks at who calls it", kNothingToDo,
     "Frames, the garbage collector's list and the harness's modules hold nothing that helps: expected outputs are in "
     "another process."},
    {"process", review, "policy", clauses::kProcess, "starts, ends or signals processes", kNothingToDo,
     "The sandbox decides what is possible."},
    {"network", review, "policy", clauses::kNetwork, "uses the network", kNothingToDo, "The sandbox has no network."},
    {"reads_system", review, "policy", clauses::kReadsSystem, "opens files of the system", kNothingToDo,
     "The sandbox shows few of them, and none of another job."},
    {"environment", review, "policy", clauses::kEnvironment, "changes the environment", kNothingToDo,
     "The change ends with the process."},
    {"mapped_memory", review, "policy", clauses::kMappedMemory, "maps host memory into the device", kNothingToDo,
     "A kernel that never ends could take its work through memory that host and device share. The judge's clock "
     "detects "
     "such a kernel."},
    {"memory_protection", review, "policy", clauses::kMemoryProtection, "changes the protection of memory",
     kNothingToDo, "Code that patches other code needs this. The clock is in another process."},
    {"device_state", review, "policy", clauses::kDeviceState, "changes the device, or opens memory of other processes",
     kNothingToDo, "The sandbox decides what is possible."},
    {"profiler", review, "policy", clauses::kProfiler, "profiles itself", kNothingToDo,
     "A profiler costs the submission time."},
    {"line_directive", review, "policy", clauses::kLineDirective, "says its lines are of another place", kNothingToDo,
     "#line makes compilers and this guard name other files and lines than those of the text; generated code has it "
     "for good reasons."},
    {"device_runtime", review, "policy", clauses::kDeviceRuntimeFlag, "links the device runtime", kNothingToDo,
     "Kernels that launch kernels need it."},
};

}  // namespace

std::span<const Rule> rules() {
  return kRules;
}

const Rule* find_rule(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& rule) { return rule.name == name; });
  return found == std::end(kRules) ? nullptr : found;
}

}  // namespace kq::guard
