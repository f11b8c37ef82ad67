#include "guard/rules.h"

#include <algorithm>

namespace kq::guard {
namespace {

using enum FactKind;
using Name = std::string_view;

constexpr std::uint32_t kUses = kinds({call, base, value});  // something that is made, or handed to who makes it
constexpr std::uint32_t kAnywhere = kinds({call, base, value, text, symbol});

// --- streams

constexpr Name kStreamMakers[] = {"torch.cuda.Stream",
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
constexpr Clause kStreamCreate[] = {{.kinds = kAnywhere, .names = kStreamMakers}};

constexpr Name kForeignStreams[] = {"torch.cuda.ExternalStream",   "torch.cuda.get_stream_from_external",
                                    "cupy.cuda.ExternalStream",    "cupy.cuda.stream.ExternalStream",
                                    "numba.cuda.external_stream",  "*getStreamFromExternal",
                                    "cuda.core*Stream.from_handle"};
constexpr Name kCurrentHandles[] = {"torch.cuda.current_stream().cuda_stream",
                                    "torch.cuda.default_stream().cuda_stream"};
constexpr Clause kStreamExternal[] = {{.kinds = kUses, .names = kForeignStreams, .fine_with = kCurrentHandles}};

constexpr Name kContexts[] = {
    "torch.cuda.stream",        "torch.cuda.set_stream",        "torch.cuda.StreamContext",
    "torch._C._cuda_setStream", "torch.accelerator.set_stream", "torch._C._accelerator_setStream"};
constexpr Name kGuards[] = {"*CUDAStreamGuard", "*CUDAMultiStreamGuard", "*setCurrentCUDAStream", "*c10::StreamGuard"};
constexpr Name kCurrentStreams[] = {"torch.cuda.current_stream()", "torch.cuda.default_stream()",
                                    "torch.accelerator.current_stream()", "None"};
constexpr Name kCurrentHere[] = {"*getCurrentCUDAStream*", "*getDefaultCUDAStream*", "*getCurrentStream*", ""};
constexpr Name kStreamGetters[] = {"*.get_current_stream", "*.get_raw_stream", "*_cuda_getCurrentRawStream",
                                   "*_cuda_getCurrentStream"};
constexpr Clause kStreamContext[] = {{.kinds = kUses, .names = kContexts, .fine_with = kCurrentStreams},
                                     {.kinds = kinds({set}), .names = kStreamGetters},
                                     {.kinds = kinds({call}), .names = kGuards, .fine_with = kCurrentHere}};

constexpr Name kPerThread[] = {
    "*cudaStreamPerThread*", "*CU_STREAM_PER_THREAD*",    "*_ptsz", "*_ptds", "numba.cuda.per_thread_default_stream",
    "cupy.cuda.Stream.ptds", "*per_thread_default_stream"};
constexpr Name kStreamCast[] = {"stream_number"};
constexpr Name kHandles[] = {"*.CUstream", "*.cudaStream_t"};
constexpr Name kHandleNumbers[] = {"2", "3", "4", "5"};
constexpr Clause kStreamPerThread[] = {{.kinds = kAnywhere | kinds({read}), .names = kPerThread},
                                       {.kinds = kinds({call}), .names = kStreamCast},
                                       {.kinds = kinds({call}), .names = kHandles, .with = kHandleNumbers}};

constexpr Name kGraphs[] = {"torch.cuda.CUDAGraph",
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
constexpr Name kCompileMode[] = {"torch.compile(mode)", "torch._dynamo.optimize(mode)"};
constexpr Name kGraphModes[] = {"reduce-overhead", "max-autotune"};
constexpr Name kCompileOptions[] = {"torch.compile(options)"};
constexpr Name kGraphOptions[] = {"*cudagraphs=True", "*cudagraph_trees=True"};
constexpr Name kGraphSettings[] = {"torch._inductor.config.triton.cudagraph*",
                                   "torch._inductor.config.triton.cudagraphs"};
constexpr Name kOff[] = {"False", "None", "0"};
constexpr Clause kGraph[] = {{.kinds = kAnywhere, .names = kGraphs},
                             {.kinds = kinds({option}), .names = kCompileMode, .with = kGraphModes},
                             {.kinds = kinds({option}), .names = kCompileOptions, .with = kGraphOptions},
                             {.kinds = kinds({set}), .names = kGraphSettings, .fine_with = kOff}};

// --- work that is not done when the call returns

constexpr Name kCallbacks[] = {"*cudaLaunchHostFunc*",  "*cuLaunchHostFunc*",     "*cudaStreamAddCallback*",
                               "*cuStreamAddCallback*", "*hipStreamAddCallback*", "*.launch_host_func",
                               "cupy*.add_callback"};
constexpr Clause kHostCallback[] = {{.kinds = kAnywhere, .names = kCallbacks}};

constexpr Name kThreads[] = {"threading.Thread",
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
constexpr Clause kHostThread[] = {{.kinds = kUses, .names = kThreads}};

constexpr Name kLoose[] = {"*cudaStreamFireAndForget*", "*cudaStreamTailLaunch*", "*cudaStreamGraphFireAndForget*",
                           "*cudaStreamGraphTailLaunch*"};
constexpr Name kDeviceRuntime[] = {"cudaLaunchDevice*", "cudaGetParameterBuffer*", "__cudaCDP*"};
constexpr Clause kDeviceLaunch[] = {{.kinds = kAnywhere, .names = kLoose},
                                    {.kinds = kinds({symbol, value, call}), .names = kDeviceRuntime}};

// --- the clock, the caller, the tools

constexpr Name kClocks[] = {"torch.cuda.Event*",
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
constexpr Clause kPatchesClock[] = {{.kinds = kinds({set}), .names = kClocks}};

constexpr Name kCallers[] = {"*f_globals*",     "*f_locals*",     "*.f_builtins*",  "*.__globals__*",
                             "*.__builtins__*", "__builtins__*",  "builtins.*",     "__main__.*",
                             "*.__code__",      "*.__closure__*", "*.cell_contents"};
constexpr Name kInjectors[] = {"ctypes.pythonapi.PyCell_Set",
                               "ctypes.pythonapi.PyDict_SetItem*",
                               "ctypes.pythonapi.PyFrame_LocalsToFast",
                               "PyImport_AddModule",
                               "PyEval_GetBuiltins",
                               "PyEval_GetGlobals",
                               "PyFrame_GetBack",
                               "PyThreadState_GetFrame",
                               "forbiddenfruit.*"};
// importlib's own recipe for code that a file made itself registers it. Nobody else imports names that begin so; and
// what is put there is no module that is known here, or it would have another name for everything in it.
constexpr Name kModules[] = {"sys.modules.*"};
constexpr Name kOwnModules[] = {"sys.modules.generated*", "sys.modules._generated*", "sys.modules.kernel",
                                "sys.modules.kernels",    "sys.modules.kernel_*",    "sys.modules.kernels_*",
                                "sys.modules._kernel*",   "sys.modules.custom_*",    "sys.modules.my_*",
                                "sys.modules.tmp*"};
constexpr Name kMadeModules[] = {"?", "importlib.util.module_from_spec()", "types.ModuleType()"};
constexpr Clause kRewritesCaller[] = {{.kinds = kinds({set}), .names = kCallers},
                                      {.kinds = kinds({set}), .names = kModules, .except = kOwnModules},
                                      {.kinds = kinds({set}), .names = kOwnModules, .fine_with = kMadeModules},
                                      {.kinds = kUses, .names = kInjectors}};

constexpr Name kTensorBases[] = {"torch.Tensor",
                                 "torch._C._TensorBase",
                                 "torch._C.TensorBase",
                                 "torch.FloatTensor",
                                 "torch.overrides.TorchFunctionMode",
                                 "torch.overrides.BaseTorchFunctionMode",
                                 "torch.utils._python_dispatch.TorchDispatchMode"};
constexpr Name kTensorMakers[] = {"torch.Tensor._make_subclass",
                                  "torch.Tensor._make_wrapper_subclass",
                                  "torch.Tensor.__new__",
                                  "torch._C._TensorBase.*",
                                  "torch.Tensor._make_*",
                                  "torch._C._dispatch_*",
                                  "torch._C._push_on_torch_*",
                                  "torch.overrides.TorchFunctionMode",
                                  "torch.utils._python_dispatch.TorchDispatchMode"};
constexpr Name kCasts[] = {"*.as_subclass"};
constexpr Name kPlainTensor[] = {
    "torch.Tensor"};  // which takes a class away; as long as nobody says that it is another
constexpr Name kClassOf[] = {"*.__class__", "torch.Tensor"};
constexpr Clause kTensorSubclass[] = {{.kinds = kinds({base}), .names = kTensorBases},
                                      {.kinds = kUses, .names = kTensorMakers},
                                      {.kinds = kUses, .names = kCasts, .fine_with = kPlainTensor},
                                      {.kinds = kinds({set}), .names = kClassOf}};

constexpr Name kRunners[] = {"exec", "eval", "compile"};
constexpr Name kDecoders[] = {"*b64decode*",  "*b32decode*", "*b16decode*", "*85decode*", "*decodebytes*",
                              "*decompress*", "*unhexlify*", "*fromhex*",   "*a2b_*",     "*codecs.*",
                              "*marshal.*",   "*pickle.*",   "*decrypt*",   "*long text*"};
constexpr Name kBytecode[] = {"marshal.loads", "marshal.load", "types.CodeType", "importlib._bootstrap*"};
constexpr Name kOwnBytecode[] = {"*.co_code"};
constexpr Clause kExecPayload[] = {{.kinds = kinds({call}), .names = kRunners, .with = kDecoders},
                                   {.kinds = kUses, .names = kBytecode},
                                   {.kinds = kinds({call, set}), .names = kOwnBytecode}};

// What exec_payload is about is told once.
constexpr Name kPlainTexts[] = {"text",        "",           "*b64decode*",   "*b32decode*",
                                "*b16decode*", "*85decode*", "*decodebytes*", "*decompress*",
                                "*unhexlify*", "*fromhex*",  "*a2b_*",        "*codecs.*",
                                "*marshal.*",  "*pickle.*",  "*decrypt*",     "*long text*"};
constexpr Name kRunnersOfFiles[] = {"runpy.run_path",
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
constexpr Name kImporters[] = {"importlib.import_module", "__import__", "importlib.__import__"};
constexpr Name kUnknown[] = {"?"};
constexpr Clause kExecComputed[] = {{.kinds = kinds({call}), .names = kRunners, .fine_with = kPlainTexts},
                                    {.kinds = kinds({value}), .names = kRunners},
                                    {.kinds = kinds({call}), .names = kRunnersOfFiles},
                                    {.kinds = kinds({call}), .names = kImporters, .with = kUnknown}};

constexpr Name kComputed[] = {"torch.cuda.?*",         "torch._C.?*",     "torch.?.?*", "*CDLL().?*",   "cupy.cuda.?*",
                              "torch.cuda.__dict__*",  "torch.__dict__*", "time.?*",    "threading.?*", "_thread.?*",
                              "concurrent.futures.?*", "asyncio.?*"};
constexpr Name kListers[] = {"dir", "inspect.getmembers"};
constexpr Name kListed[] = {"torch", "torch.cuda*", "torch._C*", "time"};
constexpr Clause kComputedName[] = {{.kinds = kinds({call, value, read}), .names = kComputed},
                                    {.kinds = kinds({call}), .names = kListers, .with = kListed}};

constexpr Name kEncodings[] = {"source.encoding", "source.identifier", "source.macros", "source.trigraphs",
                               "source.bytecode", "source.archive",    "source.bytes"};
constexpr Clause kDisguised[] = {{.kinds = kinds({note}), .names = kEncodings}};

constexpr Name kPerThreadOptions[] = {"*"};
constexpr Name kPerThreadFlags[] = {"*default-stream*per-thread*", "*PER_THREAD_DEFAULT_STREAM*",
                                    "*default_stream*per_thread*"};
constexpr Clause kPerThreadFlag[] = {{.kinds = kinds({option}), .names = kPerThreadOptions, .with = kPerThreadFlags}};

constexpr Name kFlagOptions[] = {
    "*load_inline(extra_*", "*cpp_extension.load(extra_*", "*cpp_extension.*Extension(extra_*",
    "*.RawKernel(options)", "*.RawModule(options)",        "*.SourceModule(options)",
    "*.SourceModule(nvcc)"};
constexpr Name kBadFlags[] = {"-fplugin*",
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
constexpr Name kShellOptions[] = {"*load_inline(extra_cuda_cflags)", "*load_inline(extra_include_paths)",
                                  "*cpp_extension.load(extra_cuda_cflags)", "*cpp_extension.load(extra_include_paths)"};
constexpr Name kShellCommands[] = {"*$(*", "*`*"};  // nvcc gives what it is told to a shell
constexpr Clause kCompilerFlag[] = {{.kinds = kinds({option}), .names = kFlagOptions, .with = kBadFlags},
                                    {.kinds = kinds({option}), .names = kShellOptions, .with = kShellCommands}};

constexpr Name kToolVariables[] = {"os.environ.NVCC_*FLAGS",     "os.environ.LD_PRELOAD",
                                   "os.environ.LD_AUDIT",        "os.environ.CUDA_INJECTION*",
                                   "os.environ.NVTX_INJECTION*", "os.environ.CUDA_API_PER*"};
constexpr Name kPutenv[] = {"os.putenv", "setenv", "putenv", "*.setenv"};
constexpr Name kPutVariables[] = {"\"NVCC_*", "\"LD_PRELOAD*", "\"LD_AUDIT*", "\"CUDA_INJECTION*"};
constexpr Clause kToolEnvironment[] = {{.kinds = kinds({set}), .names = kToolVariables},
                                       {.kinds = kinds({call}), .names = kPutenv, .with = kPutVariables}};

constexpr Name kPersisting[] = {"*cudaLimitPersistingL2CacheSize", "*CU_LIMIT_PERSISTING_L2_CACHE_SIZE",
                                "*cudaAccessPropertyPersisting", "*CU_ACCESS_PROPERTY_PERSISTING"};
constexpr Name kSetLimit[] = {"*cudaDeviceSetLimit", "*cuCtxSetLimit"};
constexpr Name kLimitSix[] = {"(cudaLimit)6,*", "(cudaLimit)0x6,*", "(cudaLimit)0x06,*", "static_cast<cudaLimit>(6*",
                              "(CUlimit)6,*",   "cudaLimit(6*"};
constexpr Clause kPersistingL2[] = {{.kinds = kAnywhere | kinds({read}), .names = kPersisting},
                                    {.kinds = kinds({call}), .names = kSetLimit, .with = kLimitSix}};

constexpr Name kCupti[] = {"cupti*", "*.cupti*", "libcupti*"};
constexpr Clause kProfilerTamper[] = {{.kinds = kAnywhere, .names = kCupti}};

// --- what was built

constexpr Name kHidden[] = {"elf.static_cudart", "elf.packed", "elf.writable_code", "elf.no_imports", "elf.malformed"};
constexpr Clause kHiddenImports[] = {{.kinds = kinds({note}), .names = kHidden}};

// --- worth a look

constexpr Name kLibraries[] = {"ctypes.CDLL",
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
constexpr Name kBinaryNote[] = {"source.binary"};
constexpr Clause kDynamicLibrary[] = {{.kinds = kAnywhere | kinds({option}), .names = kLibraries},
                                      {.kinds = kinds({note}), .names = kBinaryNote}};

constexpr Name kPoolSymbols[] = {"_ZN3c104cuda17getStreamFromPool*", "_ZN3c104cuda20setCurrentCUDAStream*",
                                 "_ZN3c104cuda21getStreamFromExternal*", "_ZNSt6thread15_M_start_thread*",
                                 "pthread_create"};
constexpr Clause kPoolStream[] = {{.kinds = kinds({symbol}), .names = kPoolSymbols}};

constexpr Name kTorch[] = {"torch.*"};
constexpr Name kSettings[] = {"torch.backends.*",    "torch.*config.*",     "torch.*.config",
                              "torch.cuda*",         "torch.Event*",        "torch.set_*",
                              "torch._C*",           "torch.profiler.*",    "torch.utils.benchmark.*",
                              "torch.accelerator.*", "torch.*().*",         "torch.*.__class__",
                              "torch.*.__code__",    "torch.*__globals__*", "torch.autograd.*().*",
                              "torch.*.allow_*"};
constexpr Name kDispatch[] = {"torch.library.Library", "torch.library.impl", "torch.library.register_kernel"};
constexpr Name kAten[] = {"\"aten*"};
constexpr Clause kPatchesTorch[] = {{.kinds = kinds({set}), .names = kTorch, .except = kSettings},
                                    {.kinds = kinds({call}), .names = kDispatch, .with = kAten}};

constexpr Name kProbes[] = {"sys._getframe",    "inspect.currentframe",   "inspect.stack",    "inspect.getouterframes",
                            "inspect.trace",    "inspect.getinnerframes", "gc.get_objects",   "gc.get_referrers",
                            "gc.get_referents", "sys.settrace",           "sys.setprofile",   "sys._current_frames",
                            "sys.addaudithook", "traceback.walk_stack",   "sys.monitoring.*", "threading.settrace"};
constexpr Name kFrameReads[] = {"*.f_back",   "*.f_globals", "*.f_locals",    "*.tb_frame",
                                "*.gi_frame", "*.cr_frame",  "*.__globals__", "*.__subclasses__"};
constexpr Name kHarness[] = {"__main__", "harness", "harness.*", "reference", "eval"};
constexpr Clause kProbesHarness[] = {{.kinds = kUses, .names = kProbes},
                                     {.kinds = kinds({read}), .names = kFrameReads},
                                     {.kinds = kinds({import_}), .names = kHarness}};

constexpr Name kProcesses[] = {"os.fork*",
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
constexpr Clause kProcess[] = {{.kinds = kinds({call, symbol}), .names = kProcesses}};

constexpr Name kNetworks[] = {"socket.*",
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
constexpr Clause kNetwork[] = {{.kinds = kinds({call, symbol}), .names = kNetworks}};

constexpr Name kOpeners[] = {"open",        "io.open",   "os.open",      "os.listdir", "os.scandir", "os.walk",
                             "os.readlink", "glob.glob", "pathlib.Path", "fopen",      "open64"};
constexpr Name kSystemPlaces[] = {"\"/proc*", "\"/sys/*", "\"/dev/*", "\"/etc/*", "\"/root*", "\"/home*"};
constexpr Clause kReadsSystem[] = {{.kinds = kinds({call}), .names = kOpeners, .with = kSystemPlaces}};

constexpr Name kVariables[] = {"os.environ.?",       "os.environ.CUDA_VISIBLE_DEVICES",
                               "os.environ.PYTHON*", "os.environ.LD_LIBRARY_PATH",
                               "os.environ.CC",      "os.environ.CXX",
                               "os.environ.KQ_*",    "os.environ.CUDA_DISABLE*",
                               "os.environ.NVIDIA_*"};
constexpr Clause kEnvironment[] = {{.kinds = kinds({set}), .names = kVariables},
                                   {.kinds = kinds({call}), .names = kPutenv, .fine_with = kPutVariables}};

constexpr Name kMapped[] = {"*cudaHostGetDevicePointer",   "*cudaHostAllocMapped", "*cudaHostRegister",
                            "*cuMemHostGetDevicePointer*", "*cudaMallocManaged",   "*cuMemAllocManaged",
                            "*cuMemHostRegister*"};
constexpr Clause kMappedMemory[] = {{.kinds = kAnywhere, .names = kMapped}};

constexpr Name kProtections[] = {"mprotect",         "pkey_mprotect",     "mremap",
                                 "process_vm_readv", "process_vm_writev", "*.mprotect"};
constexpr Clause kMemoryProtection[] = {{.kinds = kAnywhere, .names = kProtections}};

constexpr Name kDevice[] = {"*cudaDeviceReset",
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
constexpr Name kIpcTypes[] = {"*cudaIpc*_t", "*CUipc*"};
constexpr Clause kDeviceState[] = {{.kinds = kinds({call, text, symbol}), .names = kDevice, .except = kIpcTypes}};

constexpr Name kProfilers[] = {"torch.profiler.*", "torch.autograd.profiler.*", "torch.cuda.profiler.*",
                               "*cudaProfilerStart"};
constexpr Clause kProfiler[] = {{.kinds = kinds({call}), .names = kProfilers}};

constexpr Name kHoles[] = {"source.computed", "source.parts"};
constexpr Name kHoledNames[] = {"cu*$*", "*$*Stream*", "*Stream*$*"};
constexpr Clause kComputedSource[] = {{.kinds = kinds({note}), .names = kHoles},
                                      {.kinds = kinds({call, value}), .names = kHoledNames}};

constexpr Name kLines[] = {"source.line"};
constexpr Clause kLineDirective[] = {{.kinds = kinds({note}), .names = kLines}};

constexpr Name kRelocatable[] = {"*load_inline(extra_*", "*cpp_extension.load(extra_*"};
constexpr Name kRelocatableFlags[] = {"-rdc=true", "--relocatable-device-code*", "-dc", "*cudadevrt*"};
constexpr Clause kDeviceRuntimeFlag[] = {{.kinds = kinds({option}), .names = kRelocatable, .with = kRelocatableFlags}};

constexpr std::string_view kUseCurrent =
    "launch on the current stream: torch.cuda.current_stream() may be read and handed on";
constexpr std::string_view kFinishFirst = "do the work before the call returns, on the current stream";
constexpr std::string_view kNothingToDo = "nothing has to change: it is told so that somebody may look";
constexpr auto reject = Severity::reject;
constexpr auto review = Severity::review;

constexpr Rule kRules[] = {
    {"cuda_stream_create", reject, "stream", kStreamCreate, "creates a CUDA stream", kUseCurrent,
     "Work on a stream of its own runs beside the one that is timed: the call returns before it is done. Which library "
     "makes the stream makes no "
     "difference, nor whether the work is joined again."},
    {"cuda_stream_external", reject, "stream", kStreamExternal, "wraps a CUDA stream made elsewhere", kUseCurrent,
     "A handle from elsewhere is a stream of one's own under another name."},
    {"cuda_stream_context", reject, "stream", kStreamContext, "changes the current CUDA stream",
     "leave the current stream as it is: it is the one that is measured",
     "What is launched inside the context runs beside the stream that is timed. Making the current stream current once "
     "more is fine."},
    {"stream_per_thread", reject, "stream", kStreamPerThread, "uses a stream by a special handle", kUseCurrent,
     "The per-thread default stream and handles written as numbers are other streams than the one that is timed. 0 and "
     "the legacy default stream "
     "are fine."},
    {"cuda_graph", reject, "stream", kGraph, "captures or replays a CUDA graph",
     "call the kernels directly; torch.compile has mode \"max-autotune-no-cudagraphs\"",
     "A capture needs a stream of its own, and a replay works on the inputs of the capture. torch.compile captures in "
     "the modes reduce-overhead and "
     "max-autotune."},
    {"per_thread_flag", reject, "policy", kPerThreadFlag, "asks for per-thread default streams",
     "leave the default stream as it is",
     "With --default-stream per-thread, or the macro of that meaning, every launch on stream 0 goes to another stream "
     "than the one that is timed."},
    {"host_callback", reject, "async", kHostCallback, "defers work to a host function of the stream", kFinishFirst,
     "A host function runs when the stream gets there, which may be after the call was timed."},
    {"host_thread", reject, "async", kHostThread, "starts a thread", kFinishFirst,
     "A thread of one's own may work, or launch work, after the call was timed. Locks, events and thread-local values "
     "are fine, and so are the "
     "threads that torch has."},
    {"device_launch", reject, "async", kDeviceLaunch, "launches kernels from the device that nothing waits for",
     "launch every kernel from the host",
     "A child that is launched to be forgotten may outlive its parent and the call."},
    {"patches_clock", reject, "policy", kPatchesClock, "replaces what measures time",
     "leave clocks, events and synchronisation as they are",
     "The time of a kernel is taken by another process, so this gains nothing; it shows an intention that is not "
     "welcome."},
    {"rewrites_caller", reject, "policy", kRewritesCaller, "changes the code or the names of who calls it",
     "change only what belongs to the file itself",
     "Builtins, other modules and the frames of callers are not the submission's."},
    {"tensor_subclass", reject, "policy", kTensorSubclass, "makes tensors of a class of its own",
     "return plain torch.Tensor objects",
     "A tensor of one's own class, or a dispatch mode, can put off work until somebody looks at the result."},
    {"exec_payload", reject, "policy", kExecPayload, "runs a program that is hidden in a text",
     "write the code as code",
     "What exec runs after decoding, or in a text that is very long, cannot be read by who reviews the file. A short "
     "constant text is read as if "
     "it stood in the file."},
    {"disguised_source", reject, "policy", kDisguised, "is written so that it reads otherwise than it runs",
     "submit texts in UTF-8, with plain letters where a name has plain letters",
     "Another encoding can turn a comment into code, full-width letters are the same name to Python and another one to "
     "a reader, macros that grow "
     "beyond any measure are there to tire whoever reads them, trigraphs are another text to a standard that has them, "
     "and bytecode, archives and other files with NUL bytes nobody reads."},
    {"compiler_flag", reject, "policy", kCompilerFlag, "hands the compiler a flag that is not allowed",
     "choose code generation only: -O3, -arch, --use_fast_math, -D...",
     "Flags that load plugins, name other compilers, read other files, link the CUDA runtime statically or hold "
     "commands for the shell that nvcc gives "
     "them to change what runs, or hide it."},
    {"tool_environment", reject, "policy", kToolEnvironment, "sets a variable that changes the compiler or the loader",
     "leave it to the evaluator", "These variables put flags into nvcc or libraries into processes."},
    {"persisting_l2", reject, "policy", kPersistingL2, "keeps data in the L2 cache between calls",
     "let the cache be cold: that is what is measured",
     "Lines that are set aside survive the flush between trials, so that a kernel appears faster than the memory it "
     "reads."},
    {"profiler_tamper", reject, "tamper", kProfilerTamper, "uses CUPTI", "leave the profiler to the evaluator",
     "The audit of streams subscribes to CUPTI, of which there can be one subscriber."},
    {"hidden_imports", reject, "policy", kHiddenImports, "was built so that its use of CUDA cannot be seen",
     "link the CUDA runtime as a shared library, and do not pack the result",
     "The import table of a library tells which functions of CUDA it uses. A CUDA runtime that is linked in, packed "
     "code and a broken table hide that."},
    {"exec_computed", review, "policy", kExecComputed, "runs code that is only known when it runs", kNothingToDo,
     "The text that exec or eval gets, or the module that is imported, could not be told without running the source."},
    {"computed_name", review, "policy", kComputedName, "looks up a name that is only known when it runs", kNothingToDo,
     "An attribute of torch.cuda or of a library whose name could not be told may be a stream."},
    {"computed_source", review, "policy", kComputedSource, "compiles a source that is only known when it runs",
     kNothingToDo,
     "Parts of a C++ source that are put in when it runs, or that are behind very many headers or branches, could not "
     "be read."},
    {"dynamic_library", review, "policy", kDynamicLibrary, "loads a library or looks up functions in one", kNothingToDo,
     "Functions that are looked up by name are in no import table. Names of streams among them are found where they "
     "are constant."},
    {"pool_stream", review, "policy", kPoolStream, "links functions of torch that hand out streams or threads",
     kNothingToDo,
     "The header of CUDAGuard alone links these, so that a library that has them need not use them. The audit tells."},
    {"patches_torch", review, "policy", kPatchesTorch, "replaces functions of torch", kNothingToDo,
     "Results are compared by another process, so that a replaced comparison gains nothing. Settings under "
     "torch.backends and configs are fine."},
    {"probes_harness", review, "policy", kProbesHarness, "looks at who calls it", kNothingToDo,
     "Frames, the garbage collector's list and the harness's modules hold nothing that helps: expected outputs are in "
     "another process."},
    {"process", review, "policy", kProcess, "starts, ends or signals processes", kNothingToDo,
     "The sandbox decides what comes of it."},
    {"network", review, "policy", kNetwork, "uses the network", kNothingToDo, "There is none in the sandbox."},
    {"reads_system", review, "policy", kReadsSystem, "opens files of the system", kNothingToDo,
     "The sandbox shows few of them, and none of another job."},
    {"environment", review, "policy", kEnvironment, "changes the environment", kNothingToDo,
     "It is gone with the process."},
    {"mapped_memory", review, "policy", kMappedMemory, "maps host memory into the device", kNothingToDo,
     "Memory that both can write is what a kernel that never ends would be fed through. The judge notices one by its "
     "clock."},
    {"memory_protection", review, "policy", kMemoryProtection, "changes the protection of memory", kNothingToDo,
     "Code that patches other code needs this. The clock is in another process."},
    {"device_state", review, "policy", kDeviceState, "changes the device, or opens memory of other processes",
     kNothingToDo, "The sandbox decides what comes of it."},
    {"profiler", review, "policy", kProfiler, "profiles itself", kNothingToDo, "A profiler costs the submission time."},
    {"line_directive", review, "policy", kLineDirective, "says its lines are of another place", kNothingToDo,
     "#line makes compilers and this guard name other files and lines than those of the text; generated code has it "
     "for good reasons."},
    {"device_runtime", review, "policy", kDeviceRuntimeFlag, "links the device runtime", kNothingToDo,
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

// "?" is a question mark alone, '*' any characters. Each piece between stars is taken where it first fits, as a later
// place leaves less for those behind it: nothing is tried twice, however long the name.
bool matches(std::string_view name, std::string_view pattern) {
  const std::size_t first = pattern.find('*');
  if (first == std::string_view::npos) return name == pattern;
  const std::size_t last = pattern.rfind('*');
  const std::string_view head = pattern.substr(0, first), tail = pattern.substr(last + 1);
  if (name.size() < head.size() + tail.size() || !name.starts_with(head) || !name.ends_with(tail)) return false;
  name = name.substr(head.size(), name.size() - head.size() - tail.size());
  pattern = pattern.substr(first, last - first);
  while (!pattern.empty()) {
    pattern.remove_prefix(1);
    const std::string_view piece = pattern.substr(0, pattern.find('*'));
    const std::size_t at = name.find(piece);
    if (at == std::string_view::npos) return false;
    name.remove_prefix(at + piece.size());
    pattern.remove_prefix(piece.size());
  }
  return true;
}

bool matches_any(std::string_view name, Patterns patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](std::string_view pattern) { return matches(name, pattern); });
}

}  // namespace kq::guard
