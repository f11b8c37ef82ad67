// What the rules look for: names, arguments and the clauses made of them. rules.cc holds the table of rules, which
// refers to the clauses.
//
// Names are patterns (guard/patterns.h) over the names of facts (guard/facts.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "guard/facts.h"
#include "guard/rules.h"

namespace kq::guard::clauses {

using enum FactKind;
using Name = std::string_view;

inline constexpr std::uint32_t kUses =
    kinds({call, base, value});  // something is created, or handed on to code that may create it
inline constexpr std::uint32_t kAnywhere = kinds({call, base, value, text, symbol});

// --- streams

inline constexpr Name kStreamMakers[] = {"torch.cuda.Stream",
                                         "torch.Stream",
                                         "torch._C._CudaStreamBase",
                                         "torch._C.Stream",
                                         "torch.cuda._CudaStreamBase",
                                         "torch.cuda.*_stream().__class__*",
                                         "torch.accelerator.current_stream().__class__*",
                                         "torch.cuda.Stream.__new__",
                                         "torch.xpu.Stream",
                                         "cupy.cuda.Stream",
                                         "cupy.cuda.stream.Stream",
                                         "cupy.cuda.stream.BaseStream",
                                         "numba.cuda.stream",
                                         "numba.cuda.cudadrv.driver.Stream",
                                         "pycuda.driver.Stream",
                                         "cuda.core*create_stream",
                                         "torch.cuda.current_device().Stream",
                                         "*cu*StreamCreate*",
                                         "*hipStreamCreate*",
                                         "*getStreamFromPool"};
inline constexpr Clause kStreamCreate[] = {{.kinds = kAnywhere, .names = kStreamMakers}};

inline constexpr Name kForeignStreams[] = {"torch.cuda.ExternalStream",   "torch.cuda.get_stream_from_external",
                                           "cupy.cuda.ExternalStream",    "cupy.cuda.stream.ExternalStream",
                                           "numba.cuda.external_stream",  "*getStreamFromExternal",
                                           "cuda.core*Stream.from_handle"};
inline constexpr Name kCurrentHandles[] = {"torch.cuda.current_stream().cuda_stream",
                                           "torch.cuda.default_stream().cuda_stream"};
inline constexpr Clause kStreamExternal[] = {{.kinds = kUses, .names = kForeignStreams, .fine_with = kCurrentHandles}};

inline constexpr Name kContexts[] = {
    "torch.cuda.stream",        "torch.cuda.set_stream",        "torch.cuda.StreamContext",
    "torch._C._cuda_setStream", "torch.accelerator.set_stream", "torch._C._accelerator_setStream"};
inline constexpr Name kGuards[] = {"*CUDAStreamGuard", "*CUDAMultiStreamGuard", "*setCurrentCUDAStream",
                                   "*c10::StreamGuard"};
inline constexpr Name kCurrentStreams[] = {"torch.cuda.current_stream()", "torch.cuda.default_stream()",
                                           "torch.accelerator.current_stream()", "None"};
inline constexpr Name kCurrentHere[] = {"*getCurrentCUDAStream*", "*getDefaultCUDAStream*", "*getCurrentStream*", ""};
inline constexpr Name kStreamGetters[] = {"*.get_current_stream", "*.get_raw_stream", "*_cuda_getCurrentRawStream",
                                          "*_cuda_getCurrentStream"};
inline constexpr Clause kStreamContext[] = {{.kinds = kUses, .names = kContexts, .fine_with = kCurrentStreams},
                                            {.kinds = kinds({set}), .names = kStreamGetters},
                                            {.kinds = kinds({call}), .names = kGuards, .fine_with = kCurrentHere}};

inline constexpr Name kPerThread[] = {
    "*cudaStreamPerThread*", "*CU_STREAM_PER_THREAD*",    "*_ptsz", "*_ptds", "numba.cuda.per_thread_default_stream",
    "cupy.cuda.Stream.ptds", "*per_thread_default_stream"};
inline constexpr Name kStreamCast[] = {"stream_number"};
inline constexpr Name kHandles[] = {"*.CUstream", "*.cudaStream_t"};
inline constexpr Name kHandleNumbers[] = {"2", "3", "4", "5"};
inline constexpr Clause kStreamPerThread[] = {{.kinds = kAnywhere | kinds({read}), .names = kPerThread},
                                              {.kinds = kinds({call}), .names = kStreamCast},
                                              {.kinds = kinds({call}), .names = kHandles, .with = kHandleNumbers}};

inline constexpr Name kGraphs[] = {"torch.cuda.CUDAGraph",
                                   "torch._C._CUDAGraph",
                                   "torch.cuda.graph",
                                   "torch.cuda.make_graphed_callables",
                                   "*.capture_begin",
                                   "*cudaStreamBeginCapture*",
                                   "*cuStreamBeginCapture*",
                                   "*cudaGraphLaunch*",
                                   "*cuGraphLaunch*",
                                   "*cudaGraphInstantiate*",
                                   "*cuGraphInstantiate*",
                                   "*cudaGraphCreate",
                                   "*cuGraphCreate",
                                   "at::cuda::CUDAGraph",
                                   "triton.testing.do_bench_cudagraph",
                                   "cupy.cuda.Graph",
                                   "cupy*.begin_capture"};
inline constexpr Name kCompileMode[] = {"torch.compile(mode)", "torch._dynamo.optimize(mode)"};
inline constexpr Name kGraphModes[] = {"reduce-overhead", "max-autotune"};
inline constexpr Name kCompileOptions[] = {"torch.compile(options)"};
inline constexpr Name kGraphOptions[] = {"*cudagraphs=True", "*cudagraph_trees=True"};
inline constexpr Name kGraphSettings[] = {"torch._inductor.config.triton.cudagraph*",
                                          "torch._inductor.config.triton.cudagraphs"};
inline constexpr Name kOff[] = {"False", "None", "0"};
inline constexpr Clause kGraph[] = {{.kinds = kAnywhere, .names = kGraphs},
                                    {.kinds = kinds({option}), .names = kCompileMode, .with = kGraphModes},
                                    {.kinds = kinds({option}), .names = kCompileOptions, .with = kGraphOptions},
                                    {.kinds = kinds({set}), .names = kGraphSettings, .fine_with = kOff}};

// --- work that may go on after the call has returned

inline constexpr Name kCallbacks[] = {"*cudaLaunchHostFunc*",  "*cuLaunchHostFunc*",     "*cudaStreamAddCallback*",
                                      "*cuStreamAddCallback*", "*hipStreamAddCallback*", "*.launch_host_func",
                                      "cupy*.add_callback"};
inline constexpr Clause kHostCallback[] = {{.kinds = kAnywhere, .names = kCallbacks}};

inline constexpr Name kThreads[] = {"threading.Thread",
                                    "threading.Timer",
                                    "threading._start_new_thread",
                                    "threading._start_joinable_thread",
                                    "_thread.start_new_thread",
                                    "_thread.start_new",
                                    "_thread.start_joinable_thread",
                                    "thread.start_new_thread",
                                    "concurrent.futures.ThreadPoolExecutor",
                                    "concurrent.futures.thread.ThreadPoolExecutor",
                                    "multiprocessing.pool.ThreadPool",
                                    "multiprocessing.dummy.*",
                                    "asyncio.to_thread",
                                    "*.run_in_executor",
                                    "*.threading.Thread",
                                    "*.threading.Timer",
                                    "*.threading._start_new_thread",
                                    "*._thread.start_new_thread",
                                    "asyncio.threads.to_thread",
                                    "logging.handlers.QueueListener",
                                    "socketserver.Threading*",
                                    "std::thread",
                                    "std::jthread",
                                    "std::async",
                                    "pthread_create",
                                    "*.pthread_create",
                                    "thrd_create",
                                    "boost::thread",
                                    "__gthread_create",
                                    "timer_create",
                                    "SIGEV_THREAD",
                                    "at::launch",
                                    "c10::TaskThreadPool",
                                    "c10::ThreadPool",
                                    "tbb::task_group",
                                    "tbb::task_arena"};
inline constexpr Clause kHostThread[] = {{.kinds = kUses, .names = kThreads}};

inline constexpr Name kLoose[] = {"*cudaStreamFireAndForget*", "*cudaStreamTailLaunch*",
                                  "*cudaStreamGraphFireAndForget*", "*cudaStreamGraphTailLaunch*"};
inline constexpr Name kDeviceRuntime[] = {"cudaLaunchDevice*", "cudaGetParameterBuffer*", "__cudaCDP*"};
inline constexpr Clause kDeviceLaunch[] = {{.kinds = kAnywhere, .names = kLoose},
                                           {.kinds = kinds({symbol, value, call}), .names = kDeviceRuntime}};

// --- tampering with the clock, the caller or the tools

inline constexpr Name kClocks[] = {"torch.cuda.Event*",
                                   "torch.Event*",
                                   "torch.cuda.synchronize",
                                   "torch.cuda.?*",
                                   "torch.cuda.current_stream",
                                   "torch.cuda.default_stream",
                                   "torch.cuda.Stream*",
                                   "torch._C._cuda_synchronize",
                                   "torch._C._CudaEventBase*",
                                   "torch._C.?*",
                                   "torch.accelerator.synchronize",
                                   "torch.utils.benchmark.*",
                                   "torch.cuda",
                                   "torch*.elapsed_time",
                                   "time.*",
                                   "timeit.*",
                                   "triton.testing.*",
                                   "torch.profiler.*"};
inline constexpr Clause kPatchesClock[] = {{.kinds = kinds({set}), .names = kClocks}};

inline constexpr Name kCallers[] = {"*f_globals*",     "*f_locals*",     "*.f_builtins*",  "*.__globals__*",
                                    "*.__builtins__*", "__builtins__*",  "builtins.*",     "__main__.*",
                                    "*.__code__",      "*.__closure__*", "*.cell_contents"};
inline constexpr Name kInjectors[] = {"ctypes.pythonapi.PyCell_Set",
                                      "ctypes.pythonapi.PyDict_SetItem*",
                                      "ctypes.pythonapi.PyFrame_LocalsToFast",
                                      "PyImport_AddModule",
                                      "PyEval_GetBuiltins",
                                      "PyEval_GetGlobals",
                                      "PyFrame_GetBack",
                                      "PyThreadState_GetFrame",
                                      "forbiddenfruit.*"};
// Code that generates modules registers them in sys.modules, as importlib's documentation shows. Other code does not
// import modules of these names. A known module must not be registered under such a name, because that would give new
// names to everything in it.
inline constexpr Name kModules[] = {"sys.modules.*"};
inline constexpr Name kOwnModules[] = {"sys.modules.generated*", "sys.modules._generated*", "sys.modules.kernel",
                                       "sys.modules.kernels",    "sys.modules.kernel_*",    "sys.modules.kernels_*",
                                       "sys.modules._kernel*",   "sys.modules.custom_*",    "sys.modules.my_*",
                                       "sys.modules.tmp*"};
// The recipe of Python's manual registers a module that it made under a name of its own. Facts give these arguments
// only where the name belongs to no module of Python or of an installed package.
inline constexpr Name kNewModules[] = {"importlib.util.module_from_spec()", "types.ModuleType()"};
inline constexpr Name kMadeModules[] = {"?", "importlib.util.module_from_spec()", "types.ModuleType()"};
inline constexpr Clause kRewritesCaller[] = {
    {.kinds = kinds({set}), .names = kCallers},
    {.kinds = kinds({set}), .names = kModules, .except = kOwnModules, .fine_with = kNewModules},
    {.kinds = kinds({set}), .names = kOwnModules, .fine_with = kMadeModules},
    {.kinds = kUses, .names = kInjectors}};

inline constexpr Name kTensorBases[] = {"torch.Tensor",
                                        "torch._C._TensorBase",
                                        "torch._C.TensorBase",
                                        "torch.FloatTensor",
                                        "torch.overrides.TorchFunctionMode",
                                        "torch.overrides.BaseTorchFunctionMode",
                                        "torch.utils._python_dispatch.TorchDispatchMode"};
inline constexpr Name kTensorMakers[] = {"torch.Tensor._make_subclass",
                                         "torch.Tensor._make_wrapper_subclass",
                                         "torch.Tensor.__new__",
                                         "torch._C._TensorBase.*",
                                         "torch.Tensor._make_*",
                                         "torch._C._dispatch_*",
                                         "torch._C._push_on_torch_*",
                                         "torch.overrides.TorchFunctionMode",
                                         "torch.utils._python_dispatch.TorchDispatchMode"};
inline constexpr Name kCasts[] = {"*.as_subclass"};
inline constexpr Name kPlainTensor[] = {"torch.Tensor"};  // the cast that removes a subclass; harmless as long as
// torch.Tensor itself is not replaced
inline constexpr Name kClassOf[] = {"*.__class__", "torch.Tensor"};
inline constexpr Clause kTensorSubclass[] = {{.kinds = kinds({base}), .names = kTensorBases},
                                             {.kinds = kUses, .names = kTensorMakers},
                                             {.kinds = kUses, .names = kCasts, .fine_with = kPlainTensor},
                                             {.kinds = kinds({set}), .names = kClassOf}};

inline constexpr Name kRunners[] = {"exec", "eval", "compile"};
inline constexpr Name kDecoders[] = {"*b64decode*",  "*b32decode*", "*b16decode*", "*85decode*", "*decodebytes*",
                                     "*decompress*", "*unhexlify*", "*fromhex*",   "*a2b_*",     "*codecs.*",
                                     "*marshal.*",   "*pickle.*",   "*decrypt*",   "*long text*"};
inline constexpr Name kBytecode[] = {"marshal.loads", "marshal.load", "types.CodeType", "importlib._bootstrap*"};
inline constexpr Name kOwnBytecode[] = {"*.co_code"};
inline constexpr Clause kExecPayload[] = {{.kinds = kinds({call}), .names = kRunners, .with = kDecoders},
                                          {.kinds = kUses, .names = kBytecode},
                                          {.kinds = kinds({call, set}), .names = kOwnBytecode}};

// The arguments of exec_payload are left out here, so that a finding is reported once.
inline constexpr Name kPlainTexts[] = {"text",        "",           "*b64decode*",   "*b32decode*",
                                       "*b16decode*", "*85decode*", "*decodebytes*", "*decompress*",
                                       "*unhexlify*", "*fromhex*",  "*a2b_*",        "*codecs.*",
                                       "*marshal.*",  "*pickle.*",  "*decrypt*",     "*long text*"};
inline constexpr Name kRunnersOfFiles[] = {"runpy.run_path",
                                           "runpy.run_module",
                                           "code.Interactive*",
                                           "importlib.reload",
                                           "pickle.load*",
                                           "dill.load*",
                                           "cloudpickle.load*",
                                           "importlib.machinery.*Loader",
                                           "importlib.util.spec_from_file_location",
                                           "zipimport.zipimporter",
                                           "imp.load_*"};
inline constexpr Name kImporters[] = {"importlib.import_module", "__import__", "importlib.__import__"};
inline constexpr Name kUnknown[] = {"?"};
inline constexpr Clause kExecComputed[] = {{.kinds = kinds({call}), .names = kRunners, .fine_with = kPlainTexts},
                                           {.kinds = kinds({value}), .names = kRunners},
                                           {.kinds = kinds({call}), .names = kRunnersOfFiles},
                                           {.kinds = kinds({call}), .names = kImporters, .with = kUnknown}};

inline constexpr Name kComputed[] = {
    "torch.cuda.?*",   "torch._C.?*", "torch.?.?*",   "*CDLL().?*", "cupy.cuda.?*",          "torch.cuda.__dict__*",
    "torch.__dict__*", "time.?*",     "threading.?*", "_thread.?*", "concurrent.futures.?*", "asyncio.?*"};
inline constexpr Name kListers[] = {"dir", "inspect.getmembers"};
inline constexpr Name kListed[] = {"torch", "torch.cuda*", "torch._C*", "time"};
inline constexpr Clause kComputedName[] = {{.kinds = kinds({call, value, read}), .names = kComputed},
                                           {.kinds = kinds({call}), .names = kListers, .with = kListed}};

inline constexpr Name kEncodings[] = {"source.encoding", "source.identifier", "source.macros", "source.trigraphs",
                                      "source.bytecode", "source.archive",    "source.bytes"};
inline constexpr Clause kDisguised[] = {{.kinds = kinds({note}), .names = kEncodings}};

inline constexpr Name kPerThreadOptions[] = {"*"};
inline constexpr Name kPerThreadFlags[] = {"*default-stream*per-thread*", "*PER_THREAD_DEFAULT_STREAM*",
                                           "*default_stream*per_thread*"};
inline constexpr Clause kPerThreadFlag[] = {
    {.kinds = kinds({option}), .names = kPerThreadOptions, .with = kPerThreadFlags}};

inline constexpr Name kFlagOptions[] = {
    "*load_inline(extra_*", "*cpp_extension.load(extra_*", "*cpp_extension.*Extension(extra_*",
    "*.RawKernel(options)", "*.RawModule(options)",        "*.SourceModule(options)",
    "*.SourceModule(nvcc)"};
inline constexpr Name kBadFlags[] = {"-fplugin*",
                                     "* -fplugin*",
                                     "*,-fplugin*",
                                     "-ccbin*",
                                     "--compiler-bindir*",
                                     "-specs*",
                                     "-wrapper*",
                                     "-B*",
                                     "@*",
                                     "-cudart*static*",
                                     "--cudart*static*",
                                     "-static-libcudart*",
                                     "*libcudart_static*",
                                     "--options-file*",
                                     "-optf*",
                                     "-imacros*",
                                     "-include *",
                                     "-load*",
                                     "*-Xclang*-load*",
                                     "--input-drive-prefix*",
                                     "-fuse-ld=/*",
                                     "-time*"};
inline constexpr Name kShellOptions[] = {"*load_inline(extra_cuda_cflags)", "*load_inline(extra_include_paths)",
                                         "*cpp_extension.load(extra_cuda_cflags)",
                                         "*cpp_extension.load(extra_include_paths)"};
inline constexpr Name kShellCommands[] = {"*$(*", "*`*"};  // nvcc passes its arguments to a shell
inline constexpr Clause kCompilerFlag[] = {{.kinds = kinds({option}), .names = kFlagOptions, .with = kBadFlags},
                                           {.kinds = kinds({option}), .names = kShellOptions, .with = kShellCommands}};

inline constexpr Name kToolVariables[] = {"os.environ.NVCC_*FLAGS",     "os.environ.LD_PRELOAD",
                                          "os.environ.LD_AUDIT",        "os.environ.CUDA_INJECTION*",
                                          "os.environ.NVTX_INJECTION*", "os.environ.CUDA_API_PER*"};
inline constexpr Name kPutenv[] = {"os.putenv", "setenv", "putenv", "*.setenv"};
inline constexpr Name kPutVariables[] = {"\"NVCC_*", "\"LD_PRELOAD*", "\"LD_AUDIT*", "\"CUDA_INJECTION*"};
inline constexpr Clause kToolEnvironment[] = {{.kinds = kinds({set}), .names = kToolVariables},
                                              {.kinds = kinds({call}), .names = kPutenv, .with = kPutVariables}};

inline constexpr Name kPersisting[] = {"*cudaLimitPersistingL2CacheSize", "*CU_LIMIT_PERSISTING_L2_CACHE_SIZE",
                                       "*cudaAccessPropertyPersisting", "*CU_ACCESS_PROPERTY_PERSISTING"};
inline constexpr Name kSetLimit[] = {"*cudaDeviceSetLimit", "*cuCtxSetLimit"};
inline constexpr Name kLimitSix[] = {"(cudaLimit)6,*",    "(cudaLimit)0x6,*",
                                     "(cudaLimit)0x06,*", "static_cast<cudaLimit>(6*",
                                     "(CUlimit)6,*",      "cudaLimit(6*"};
inline constexpr Clause kPersistingL2[] = {{.kinds = kAnywhere | kinds({read}), .names = kPersisting},
                                           {.kinds = kinds({call}), .names = kSetLimit, .with = kLimitSix}};

inline constexpr Name kCupti[] = {"cupti*", "*.cupti*", "libcupti*"};
inline constexpr Clause kProfilerTamper[] = {{.kinds = kAnywhere, .names = kCupti}};

// --- built libraries

inline constexpr Name kHidden[] = {"elf.static_cudart", "elf.packed", "elf.writable_code", "elf.no_imports",
                                   "elf.malformed"};
inline constexpr Clause kHiddenImports[] = {{.kinds = kinds({note}), .names = kHidden}};

// --- for review

inline constexpr Name kLibraries[] = {"ctypes.CDLL",
                                      "ctypes.PyDLL",
                                      "ctypes.cdll*",
                                      "ctypes.pydll*",
                                      "ctypes.pythonapi*",
                                      "ctypes.util.find_library",
                                      "ctypes.CFUNCTYPE",
                                      "cffi.FFI*dlopen",
                                      "*.dlopen",
                                      "torch.ops.load_library",
                                      "torch.classes.load_library",
                                      "torch.cuda.cudart",
                                      "dlopen",
                                      "dlmopen",
                                      "dlsym",
                                      "dlvsym",
                                      "*cuGetProcAddress*",
                                      "*cudaGetDriverEntryPoint*",
                                      "*cuModuleLoad*",
                                      "*cuLibraryLoad*",
                                      "*cudaLibraryLoad*",
                                      "*.RawModule(path)"};
inline constexpr Name kBinaryNote[] = {"source.binary"};
inline constexpr Clause kDynamicLibrary[] = {{.kinds = kAnywhere | kinds({option}), .names = kLibraries},
                                             {.kinds = kinds({note}), .names = kBinaryNote}};

inline constexpr Name kPoolSymbols[] = {"_ZN3c104cuda17getStreamFromPool*", "_ZN3c104cuda20setCurrentCUDAStream*",
                                        "_ZN3c104cuda21getStreamFromExternal*", "_ZNSt6thread15_M_start_thread*",
                                        "pthread_create"};
inline constexpr Clause kPoolStream[] = {{.kinds = kinds({symbol}), .names = kPoolSymbols}};

inline constexpr Name kTorch[] = {"torch.*"};
inline constexpr Name kSettings[] = {"torch.backends.*",    "torch.*config.*",     "torch.*.config",
                                     "torch.cuda*",         "torch.Event*",        "torch.set_*",
                                     "torch._C*",           "torch.profiler.*",    "torch.utils.benchmark.*",
                                     "torch.accelerator.*", "torch.*().*",         "torch.*.__class__",
                                     "torch.*.__code__",    "torch.*__globals__*", "torch.autograd.*().*",
                                     "torch.*.allow_*"};
inline constexpr Name kDispatch[] = {"torch.library.Library", "torch.library.impl", "torch.library.register_kernel"};
inline constexpr Name kAten[] = {"\"aten*"};
inline constexpr Clause kPatchesTorch[] = {{.kinds = kinds({set}), .names = kTorch, .except = kSettings},
                                           {.kinds = kinds({call}), .names = kDispatch, .with = kAten}};

inline constexpr Name kProbes[] = {
    "sys._getframe",    "inspect.currentframe",   "inspect.stack",    "inspect.getouterframes",
    "inspect.trace",    "inspect.getinnerframes", "gc.get_objects",   "gc.get_referrers",
    "gc.get_referents", "sys.settrace",           "sys.setprofile",   "sys._current_frames",
    "sys.addaudithook", "traceback.walk_stack",   "sys.monitoring.*", "threading.settrace"};
inline constexpr Name kFrameReads[] = {"*.f_back",   "*.f_globals", "*.f_locals",    "*.tb_frame",
                                       "*.gi_frame", "*.cr_frame",  "*.__globals__", "*.__subclasses__"};
inline constexpr Name kHarness[] = {"__main__", "harness", "harness.*", "reference", "eval"};
inline constexpr Clause kProbesHarness[] = {{.kinds = kUses, .names = kProbes},
                                            {.kinds = kinds({read}), .names = kFrameReads},
                                            {.kinds = kinds({import_}), .names = kHarness}};

inline constexpr Name kProcesses[] = {"os.fork*",
                                      "os.exec*",
                                      "os.system",
                                      "os.popen",
                                      "os.kill",
                                      "os.killpg",
                                      "os.spawn*",
                                      "os.posix_spawn*",
                                      "os._exit",
                                      "os.abort",
                                      "os.setsid",
                                      "os.dup2",
                                      "subprocess.*",
                                      "multiprocessing.Process",
                                      "multiprocessing.Pool",
                                      "multiprocessing.pool.Pool",
                                      "multiprocessing.get_context*",
                                      "torch.multiprocessing.*",
                                      "concurrent.futures.ProcessPoolExecutor",
                                      "concurrent.futures.process.ProcessPoolExecutor",
                                      "signal.signal",
                                      "signal.setitimer",
                                      "signal.pthread_kill",
                                      "signal.raise_signal",
                                      "atexit.register",
                                      "pty.*",
                                      "resource.setrlimit",
                                      "fork",
                                      "vfork",
                                      "execv*",
                                      "execl*",
                                      "system",
                                      "popen",
                                      "posix_spawn*",
                                      "ptrace",
                                      "_exit",
                                      "syscall"};
inline constexpr Clause kProcess[] = {{.kinds = kinds({call, symbol}), .names = kProcesses}};

inline constexpr Name kNetworks[] = {"socket.*",
                                     "urllib.request.*",
                                     "requests.*",
                                     "http.client.*",
                                     "http.server.*",
                                     "httpx.*",
                                     "aiohttp.*",
                                     "ftplib.*",
                                     "smtplib.*",
                                     "asyncio.open_connection",
                                     "asyncio.start_server",
                                     "socket",
                                     "getaddrinfo",
                                     "huggingface_hub.*",
                                     "torch.hub.*",
                                     "io_uring_*"};
inline constexpr Clause kNetwork[] = {{.kinds = kinds({call, symbol}), .names = kNetworks}};

inline constexpr Name kOpeners[] = {"open",        "io.open",   "os.open",      "os.listdir", "os.scandir", "os.walk",
                                    "os.readlink", "glob.glob", "pathlib.Path", "fopen",      "open64"};
inline constexpr Name kSystemPlaces[] = {"\"/proc*", "\"/sys/*", "\"/dev/*", "\"/etc/*", "\"/root*", "\"/home*"};
inline constexpr Clause kReadsSystem[] = {{.kinds = kinds({call}), .names = kOpeners, .with = kSystemPlaces}};

inline constexpr Name kVariables[] = {"os.environ.?",       "os.environ.CUDA_VISIBLE_DEVICES",
                                      "os.environ.PYTHON*", "os.environ.LD_LIBRARY_PATH",
                                      "os.environ.CC",      "os.environ.CXX",
                                      "os.environ.KQ_*",    "os.environ.CUDA_DISABLE*",
                                      "os.environ.NVIDIA_*"};
inline constexpr Clause kEnvironment[] = {{.kinds = kinds({set}), .names = kVariables},
                                          {.kinds = kinds({call}), .names = kPutenv, .fine_with = kPutVariables}};

inline constexpr Name kMapped[] = {"*cudaHostGetDevicePointer",   "*cudaHostAllocMapped", "*cudaHostRegister",
                                   "*cuMemHostGetDevicePointer*", "*cudaMallocManaged",   "*cuMemAllocManaged",
                                   "*cuMemHostRegister*"};
inline constexpr Clause kMappedMemory[] = {{.kinds = kAnywhere, .names = kMapped}};

inline constexpr Name kProtections[] = {"mprotect",         "pkey_mprotect",     "mremap",
                                        "process_vm_readv", "process_vm_writev", "*.mprotect"};
inline constexpr Clause kMemoryProtection[] = {{.kinds = kAnywhere, .names = kProtections}};

inline constexpr Name kDevice[] = {"*cudaDeviceReset",
                                   "*cudaDeviceSetLimit",
                                   "*cuCtxSetLimit",
                                   "*cuCtxCreate*",
                                   "*cuDevicePrimaryCtxReset*",
                                   "*nvmlDeviceSet*",
                                   "*nvmlInit*",
                                   "*cudaIpc*",
                                   "*cuIpc*",
                                   "*cuMemImportFromShareableHandle*",
                                   "*cudaDeviceEnablePeerAccess",
                                   "torch.cuda.memory._set*",
                                   "*.change_current_allocator"};
inline constexpr Name kIpcTypes[] = {"*cudaIpc*_t", "*CUipc*"};
inline constexpr Clause kDeviceState[] = {
    {.kinds = kinds({call, text, symbol}), .names = kDevice, .except = kIpcTypes}};

inline constexpr Name kProfilers[] = {"torch.profiler.*", "torch.autograd.profiler.*", "torch.cuda.profiler.*",
                                      "*cudaProfilerStart"};
inline constexpr Clause kProfiler[] = {{.kinds = kinds({call}), .names = kProfilers}};

inline constexpr Name kHoles[] = {"source.computed", "source.parts"};
inline constexpr Name kHoledNames[] = {"cu*$*", "*$*Stream*", "*Stream*$*"};
inline constexpr Clause kComputedSource[] = {{.kinds = kinds({note}), .names = kHoles},
                                             {.kinds = kinds({call, value}), .names = kHoledNames}};

inline constexpr Name kLines[] = {"source.line"};
inline constexpr Clause kLineDirective[] = {{.kinds = kinds({note}), .names = kLines}};

inline constexpr Name kRelocatable[] = {"*load_inline(extra_*", "*cpp_extension.load(extra_*"};
inline constexpr Name kRelocatableFlags[] = {"-rdc=true", "--relocatable-device-code*", "-dc", "*cudadevrt*"};
inline constexpr Clause kDeviceRuntimeFlag[] = {
    {.kinds = kinds({option}), .names = kRelocatable, .with = kRelocatableFlags}};

}  // namespace kq::guard::clauses
