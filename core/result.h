// The result of one attempt: the verdict, and the data about how it came about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/device.h"
#include "core/verdict.h"

namespace kq {

// Raw samples of the judge's clock, in the order in which the calls were made.
struct Samples {
  std::vector<std::int64_t> submission_ns;
  std::vector<std::int64_t> reference_ns;

  friend bool operator==(const Samples&, const Samples&) = default;
};

// The wall times of the stages of an attempt, and whether the build cache had the artifact.
struct StageTimes {
  std::int64_t build_ms = 0;
  bool build_cached = false;
  std::int64_t run_ms = 0;  // from the first fork to the last reap
  // The part of run_ms from the start of the first trial to the end of the last trial or burst, summed over both rounds
  // where the job was measured twice; 0: there was no trial.
  std::int64_t trials_us = 0;

  friend bool operator==(const StageTimes&, const StageTimes&) = default;
};

// The versions of the software on the worker. Every string may be empty where the version is unknown.
struct Software {
  std::string kq;
  std::string python;
  std::string torch;
  std::string triton;
  std::string cuda;            // the version of NVRTC or of the driver
  std::string evaluator = {};  // kEvaluatorVersion
  std::string packages = {};   // SHA-256 over names and versions of all installed Python packages, in hex

  friend bool operator==(const Software&, const Software&) = default;
};

// The compilers of the job's device or host code, as text for people; empty where nothing was compiled.
struct Toolchain {
  std::string compiler = {};  // "nvcc 13.0.88, g++ 12.2.0, mold"; "NVRTC 13.0"
  // The flags that influence the generated code, including the submission's own: "-O3 --use_fast_math -arch=sm_90a".
  std::string flags = {};

  friend bool operator==(const Toolchain&, const Toolchain&) = default;
};

// The machine of the worker. Every string may be empty where the value is unknown or does not exist.
struct Host {
  std::string name = {};
  std::string cpu = {};           // "AMD EPYC 9654 96-Core Processor"
  std::uint32_t cores = 0;        // the number of cores that the worker may use
  std::string governor = {};      // the frequency governor of the processor: "performance"
  std::string kernel = {};        // "6.8.0-45-generic"
  std::string distro = {};        // "Debian GNU/Linux 12 (bookworm)"
  std::string libc = {};          // "glibc 2.36"
  std::string driver = {};        // the version of NVIDIA's driver: "580.65.06"
  std::string container = {};     // "docker", "podman", "kubernetes", ...
  std::string scheduler = {};     // "slurm", "kubernetes"
  std::string scheduled_as = {};  // the scheduler's job number or pod name

  friend bool operator==(const Host&, const Host&) = default;
};

// A process with a context on a GPU.
struct GpuProcess {
  std::uint32_t pid = 0;
  std::uint64_t memory_mib = 0;  // 0: the driver does not report it

  friend bool operator==(const GpuProcess&, const GpuProcess&) = default;
};

inline constexpr std::size_t kForeignProcessesMax = 8;

// The state of a GPU right after an attempt's trials, as its driver reports it. A value that the driver does not report
// is 0 or empty.
struct Conditions {
  std::uint32_t sm_clock_mhz = 0;
  std::uint32_t memory_clock_mhz = 0;
  std::uint32_t temperature_c = 0;
  double power_w = 0;
  // The reasons why clocks are reduced, comma separated: "none", "sw_power_cap,hw_thermal_slowdown".
  std::string throttle = {};
  // At most kForeignProcessesMax other processes that use the GPU. There is no value where the process numbers that the
  // driver reports cannot be compared with those of the worker.
  std::optional<std::vector<GpuProcess>> foreign = std::nullopt;

  friend bool operator==(const Conditions&, const Conditions&) = default;
};

// One figure of a profiler, such as "speed_of_light.sm_throughput_pct". docs/user/profiling.md lists them.
struct ProfileMetric {
  std::string name;
  double value = 0;

  friend bool operator==(const ProfileMetric&, const ProfileMetric&) = default;
};

struct KernelProfile {
  std::string kernel;
  std::vector<ProfileMetric> metrics;

  friend bool operator==(const KernelProfile&, const KernelProfile&) = default;
};

inline constexpr std::size_t kProfiledKernelsMax = 10;  // the first kernels of one call
inline constexpr std::size_t kProfileMetricsMax = 200;  // metrics of one kernel

// The result of the profiling pass that a submission asked for. The pass is not part of the measured times and does not
// change the verdict.
struct Profile {
  std::string tool = {};       // "ncu 2025.3.1.0"
  std::string directory = {};  // the directory of the profile's files on the worker's machine; empty: there are none
  std::string message = {};    // why data is missing; otherwise empty
  std::int64_t ms = 0;         // the duration of the pass, which is not part of run_ms
  std::vector<KernelProfile> kernels = {};

  friend bool operator==(const Profile&, const Profile&) = default;
};

// A call of load_inline or load that does not compile, so that torch raises.
struct FailedExtension {
  std::string name;   // of the extension
  std::string error;  // the first error with its place: "add.py:31: identifier "n" is undefined (cuda_sources line 12)"

  friend bool operator==(const FailedExtension&, const FailedExtension&) = default;
};

// The calls of load_inline and load that a submission makes.
struct Extensions {
  std::uint32_t calls = 0;
  std::uint32_t compiled = 0;
  std::vector<FailedExtension> failed = {};  // in the order of the calls
  bool fell_back = false;  // the submission catches the error of a failed call, and goes on without the extension

  friend bool operator==(const Extensions&, const Extensions&) = default;
};

inline constexpr std::size_t kFailedExtensionsMax = 16;

// Whose a kernel is: the submission's own, that of a library such as cuBLAS, or that of torch, which includes what
// torch.compile makes.
enum class KernelOwner { submission, library, torch };
constexpr std::array<std::string_view, 3> enum_names(KernelOwner) {
  return {"submission", "library", "torch"};
}

// A kernel that the GPU ran in calls of the submission that CUPTI watched.
struct RanKernel {
  std::string name;  // demangled, at most kKernelNameBytesMax
  KernelOwner owner = KernelOwner::submission;
  std::uint64_t count = 0;  // launches in all watched calls
  std::int64_t ns = 0;      // the time of these launches on the GPU

  friend bool operator==(const RanKernel&, const RanKernel&) = default;
};

inline constexpr std::size_t kRanKernelsMax = 32;
inline constexpr std::size_t kKernelNameBytesMax = 160;

// The kernels that the GPU ran for a submission, as CUPTI reports them for untimed calls at random places among the
// trials.
struct KernelsRan {
  std::uint32_t calls = 0;              // calls that CUPTI watched
  std::vector<RanKernel> kernels = {};  // at most kRanKernelsMax, those with the most time first
  std::uint32_t left_out = 0;           // further kernels, which count in own_share only
  // The part of the time on the GPU that the submission's own kernels took, from 0 to 1. There is no value where no
  // kernel ran.
  std::optional<double> own_share = std::nullopt;
  // Whether the submission's files have kernels, but none of its own kernels ran.
  bool is_decoy = false;
  bool are_own_wanted = false;  // whether the problem asks for kernels of the submission's own

  friend bool operator==(const KernelsRan&, const KernelsRan&) = default;
};

// What the guard found in a submission for review, which changes no verdict.
struct ReviewFinding {
  std::string rule;   // the name of a rule in guard/rules.cc: "patches_torch"
  std::string place;  // of the first finding of this rule: "relu.py:12"

  friend bool operator==(const ReviewFinding&, const ReviewFinding&) = default;
};

inline constexpr std::size_t kReviewFindingsMax = 32;

// The outcome of one workload of a job.
struct CaseResult {
  std::string workload;  // its name
  double weight = 1;     // of its time in the job's time; 0: it was checked and not timed
  Verdict verdict;
  Samples samples;  // present where the verdict is measured

  friend bool operator==(const CaseResult&, const CaseResult&) = default;
};

// What the judge has found about a problem: something that its outputs or inputs cannot tell from a right kernel.
struct ProblemWarning {
  std::string name;     // "inputs", "zeros", "constant" or "first_input"
  std::string message;  // one sentence, which names the workload where the problem has several

  friend bool operator==(const ProblemWarning&, const ProblemWarning&) = default;
};

// The judge's findings about a problem, before it has judged the first submission against it. A worker keeps them.
struct ProblemCertificate {
  std::vector<ProblemWarning> warnings = {};
  std::optional<Evidence> invalid = std::nullopt;  // why every job of the problem ends as problem_invalid

  friend bool operator==(const ProblemCertificate&, const ProblemCertificate&) = default;
};

// The names of warnings that say that a kernel passes which returns one constant.
inline constexpr std::string_view kZerosPass = "zeros";
inline constexpr std::string_view kConstantPasses = "constant";
// Returns whether the certificate says that a constant is right.
inline bool constant_passes(const ProblemCertificate& certificate) {
  for (const ProblemWarning& warning : certificate.warnings) {
    if (warning.name == kZerosPass || warning.name == kConstantPasses) return true;
  }
  return false;
}

inline constexpr std::size_t kProblemWarningsMax = 16;  // of all workloads

struct Result {
  Verdict verdict;
  DeviceInfo device;
  std::string worker;  // the host name and process number of the worker, for people
  StageTimes times;
  Software software;
  std::string sandbox;  // the active layers of the sandbox, comma separated: "uid,user,pid,mount,ipc,net,rlimits"
  std::string log;      // head and tail of the submission's output: untrusted text of at most kLogBytesMax
  Samples samples;
  Toolchain toolchain = {};
  Host host = {};
  std::optional<Conditions> conditions = std::nullopt;  // present where the worker monitors the GPU
  std::optional<Profile> profile = std::nullopt;        // present for a passed submission that asked for it
  std::optional<Extensions> extensions = std::nullopt;  // present for a submission that calls load_inline or load
  // The workloads that ran, where the problem has several or the job selects some; otherwise empty. The job's own
  // figures are then the weighted geometric means over these, and its samples are empty.
  std::vector<CaseResult> cases = {};
  std::vector<ProblemWarning> problem_warnings = {};  // of the problem's certificate
  // Present for a passed or suspect submission that ran on a GPU while CUPTI watched it.
  std::optional<KernelsRan> kernels_ran = std::nullopt;
  // The guard's findings for review, one for each rule, at most kReviewFindingsMax.
  std::vector<ReviewFinding> findings = {};

  friend bool operator==(const Result&, const Result&) = default;
};

template <class V>
void fields(V& v, Samples& x) {
  v("submission_ns", x.submission_ns);
  v("reference_ns", x.reference_ns);
}
template <class V>
void fields(V& v, StageTimes& x) {
  v("build_ms", x.build_ms);
  v("build_cached", x.build_cached);
  v("run_ms", x.run_ms);
  v("trials_us", x.trials_us);
}
template <class V>
void fields(V& v, Software& x) {
  v("kq", x.kq);
  v("python", x.python);
  v("torch", x.torch);
  v("triton", x.triton);
  v("cuda", x.cuda);
  v("evaluator", x.evaluator);
  v("packages", x.packages);
}
template <class V>
void fields(V& v, Toolchain& x) {
  v("compiler", x.compiler);
  v("flags", x.flags);
}
template <class V>
void fields(V& v, Host& x) {
  v("name", x.name);
  v("cpu", x.cpu);
  v("cores", x.cores);
  v("governor", x.governor);
  v("kernel", x.kernel);
  v("distro", x.distro);
  v("libc", x.libc);
  v("driver", x.driver);
  v("container", x.container);
  v("scheduler", x.scheduler);
  v("scheduled_as", x.scheduled_as);
}
template <class V>
void fields(V& v, GpuProcess& x) {
  v("pid", x.pid);
  v("memory_mib", x.memory_mib);
}
template <class V>
void fields(V& v, Conditions& x) {
  v("sm_clock_mhz", x.sm_clock_mhz);
  v("memory_clock_mhz", x.memory_clock_mhz);
  v("temperature_c", x.temperature_c);
  v("power_w", x.power_w);
  v("throttle", x.throttle);
  v("foreign", x.foreign);
}
template <class V>
void fields(V& v, ProfileMetric& x) {
  v("name", x.name);
  v("value", x.value);
}
template <class V>
void fields(V& v, KernelProfile& x) {
  v("kernel", x.kernel);
  v("metrics", x.metrics);
}
template <class V>
void fields(V& v, Profile& x) {
  v("tool", x.tool);
  v("directory", x.directory);
  v("message", x.message);
  v("ms", x.ms);
  v("kernels", x.kernels);
}
template <class V>
void fields(V& v, FailedExtension& x) {
  v("name", x.name);
  v("error", x.error);
}
template <class V>
void fields(V& v, Extensions& x) {
  v("calls", x.calls);
  v("compiled", x.compiled);
  v("failed", x.failed);
  v("fell_back", x.fell_back);
}
template <class V>
void fields(V& v, RanKernel& x) {
  v("name", x.name);
  v("owner", x.owner);
  v("count", x.count);
  v("ns", x.ns);
}
template <class V>
void fields(V& v, KernelsRan& x) {
  v("calls", x.calls);
  v("kernels", x.kernels);
  v("left_out", x.left_out);
  v("own_share", x.own_share);
  v("decoy", x.is_decoy);
  v("own_wanted", x.are_own_wanted);
}
template <class V>
void fields(V& v, ReviewFinding& x) {
  v("rule", x.rule);
  v("place", x.place);
}
template <class V>
void fields(V& v, CaseResult& x) {
  v("workload", x.workload);
  v("weight", x.weight);
  v("verdict", x.verdict);
  v("samples", x.samples);
}
template <class V>
void fields(V& v, ProblemWarning& x) {
  v("name", x.name);
  v("message", x.message);
}
template <class V>
void fields(V& v, ProblemCertificate& x) {
  v("warnings", x.warnings);
  v("invalid", x.invalid);
}
template <class V>
void fields(V& v, Result& x) {
  v("verdict", x.verdict);
  v("device", x.device);
  v("worker", x.worker);
  v("times", x.times);
  v("software", x.software);
  v("sandbox", x.sandbox);
  v("log", x.log);
  v("samples", x.samples);
  v("toolchain", x.toolchain);
  v("host", x.host);
  v("conditions", x.conditions);
  v("profile", x.profile);
  v("extensions", x.extensions);
  v("cases", x.cases);
  v("problem_warnings", x.problem_warnings);
  v("kernels_ran", x.kernels_ran);
  v("findings", x.findings);
}

}  // namespace kq
