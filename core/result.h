// What a worker sends back for one attempt: the verdict and the evidence behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/verdict.h"

namespace kq {

// Raw samples of the judge's clock, in schedule order.
struct Samples {
  std::vector<std::int64_t> submission_ns;
  std::vector<std::int64_t> reference_ns;

  friend bool operator==(const Samples&, const Samples&) = default;
};

// How long the stages of an attempt took on the wall, and what the build lane found.
struct StageTimes {
  std::int64_t build_ms = 0;
  bool build_cached = false;
  std::int64_t run_ms = 0;     // from the first fork to the last reap
  std::int64_t trials_us = 0;  // of that, from the first trial to the end of the last, bursts with it, and of a job
                               // that was judged twice both; 0: there was none

  friend bool operator==(const StageTimes&, const StageTimes&) = default;
};

// Which versions judged; every string may be empty where unknown.
struct Software {
  std::string kq;
  std::string python;
  std::string torch;
  std::string triton;
  std::string cuda;            // of NVRTC or the driver
  std::string evaluator = {};  // kEvaluatorVersion
  std::string packages = {};   // SHA-256 over names and versions of all Python packages there, in hex

  friend bool operator==(const Software&, const Software&) = default;
};

// What compiled the job's device or host code, in words for people; empty where nothing was compiled.
struct Toolchain {
  std::string compiler = {};  // "nvcc 13.0.88, g++ 12.2.0, mold"; "NVRTC 13.0"
  std::string flags = {};  // "-O3 --use_fast_math -arch=sm_90a": those that shape the code, with the submission's own

  friend bool operator==(const Toolchain&, const Toolchain&) = default;
};

// The machine and how its worker came to run there; every string may be empty where unknown or where there is none.
struct Host {
  std::string name = {};
  std::string cpu = {};           // "AMD EPYC 9654 96-Core Processor"
  std::uint32_t cores = 0;        // that the worker may run on
  std::string governor = {};      // of the processor's clock: "performance"
  std::string kernel = {};        // "6.8.0-45-generic"
  std::string distro = {};        // "Debian GNU/Linux 12 (bookworm)"
  std::string libc = {};          // "glibc 2.36"
  std::string driver = {};        // of NVIDIA's GPUs: "580.65.06"
  std::string container = {};     // "docker", "podman", "kubernetes", ...
  std::string scheduler = {};     // "slurm", "kubernetes"
  std::string scheduled_as = {};  // its number of the job, or its name of the pod

  friend bool operator==(const Host&, const Host&) = default;
};

// A process with a context on a GPU.
struct GpuProcess {
  std::uint32_t pid = 0;
  std::uint64_t memory_mib = 0;  // 0: the driver does not tell

  friend bool operator==(const GpuProcess&, const GpuProcess&) = default;
};

inline constexpr std::size_t kForeignProcessesMax = 8;

// How a GPU ran right after an attempt's trials, as its driver says: what is 0 or empty it does not tell.
struct Conditions {
  std::uint32_t sm_clock_mhz = 0;
  std::uint32_t memory_clock_mhz = 0;
  std::uint32_t temperature_c = 0;
  double power_w = 0;
  std::string throttle = {};  // what holds the clocks down, comma separated: "none", "sw_power_cap,hw_thermal_slowdown"
  // Whoever else uses it, kForeignProcessesMax of them; no value where the driver's process numbers cannot be told from
  // others.
  std::optional<std::vector<GpuProcess>> foreign = std::nullopt;

  friend bool operator==(const Conditions&, const Conditions&) = default;
};

// One figure of a profiler: "speed_of_light.sm_throughput_pct" (docs/user/profiling.md has them all).
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

inline constexpr std::size_t kProfiledKernelsMax = 10;  // of one call: the first ones
inline constexpr std::size_t kProfileMetricsMax = 200;  // of one kernel

// What came of the pass that a submission asked for. None of it is timed, and none of it changes the verdict.
struct Profile {
  std::string tool = {};       // "ncu 2025.3.1.0"
  std::string directory = {};  // of its files, on the worker's machine; empty: there are none
  std::string message = {};    // why there is less than was asked for; else empty
  std::int64_t ms = 0;         // that it took, beside run_ms
  std::vector<KernelProfile> kernels = {};

  friend bool operator==(const Profile&, const Profile&) = default;
};

struct Result {
  Verdict verdict;
  DeviceInfo device;
  std::string worker;  // host name and process number, for people
  StageTimes times;
  Software software;
  std::string sandbox;  // the layers in force, comma separated: "uid,user,pid,mount,ipc,net,rlimits"
  std::string log;      // head and tail of what the submission printed; untrusted text, at most kLogBytesMax
  Samples samples;
  Toolchain toolchain = {};
  Host host = {};
  std::optional<Conditions> conditions = std::nullopt;  // of a GPU that is watched
  std::optional<Profile> profile = std::nullopt;        // of a passed one that asked for it

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
}

}  // namespace kq
