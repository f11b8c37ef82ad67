// What a worker sends back for one attempt: the verdict and the evidence behind it.
#pragma once

#include <cstdint>
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
  std::int64_t run_ms = 0;  // from the first fork to the last reap

  friend bool operator==(const StageTimes&, const StageTimes&) = default;
};

// Which versions judged; every string may be empty where unknown.
struct Software {
  std::string kq;
  std::string python;
  std::string torch;
  std::string triton;
  std::string cuda;  // of NVRTC or the driver

  friend bool operator==(const Software&, const Software&) = default;
};

// What compiled the job's device or host code, in words for people; empty where nothing was compiled.
struct Toolchain {
  std::string compiler = {};  // "nvcc 13.0.88, g++ 12.2.0, mold"; "NVRTC 13.0"
  std::string flags = {};     // "-O3 --use_fast_math -arch=sm_90a": those that shape the code, with the submission's own

  friend bool operator==(const Toolchain&, const Toolchain&) = default;
};

struct Result {
  Verdict verdict;
  DeviceInfo device;
  std::string worker;   // host name and process number, for people
  StageTimes times;
  Software software;
  std::string sandbox;  // the layers in force, comma separated: "uid,user,pid,mount,ipc,net,rlimits"
  std::string log;      // head and tail of what the submission printed; untrusted text, at most kLogBytesMax
  Samples samples;
  Toolchain toolchain = {};

  friend bool operator==(const Result&, const Result&) = default;
};

template <class V> void fields(V& v, Samples& x) { v("submission_ns", x.submission_ns); v("reference_ns", x.reference_ns); }
template <class V> void fields(V& v, StageTimes& x) {
  v("build_ms", x.build_ms); v("build_cached", x.build_cached); v("run_ms", x.run_ms);
}
template <class V> void fields(V& v, Software& x) {
  v("kq", x.kq); v("python", x.python); v("torch", x.torch); v("triton", x.triton); v("cuda", x.cuda);
}
template <class V> void fields(V& v, Toolchain& x) { v("compiler", x.compiler); v("flags", x.flags); }
template <class V> void fields(V& v, Result& x) {
  v("verdict", x.verdict); v("device", x.device); v("worker", x.worker); v("times", x.times); v("software", x.software);
  v("sandbox", x.sandbox); v("log", x.log); v("samples", x.samples);
  v("toolchain", x.toolchain);
}

}  // namespace kq
