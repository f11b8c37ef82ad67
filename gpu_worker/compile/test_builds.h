// For tests: builds with the zygote of the test lane and real, sandboxed build children.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu_worker/compile/builder.h"
#include "gpu_worker/lane/test_lane.h"

namespace kq::worker {

// A contract of a CUDA kernel that copies 64 numbers.
inline constexpr std::string_view kContract = R"({"kernel_name": "copy", "args": [
  {"name": "x", "type": "tensor", "role": "input"},
  {"name": "out", "type": "tensor", "role": "output", "tensor_spec": {"shape": [64], "dtype": "float32"}}],
  "launch": {"grid": {"x": 1}, "block": {"x": 64}}})";

// Returns a submission with an extension that is never loaded. It includes no headers of torch or Python, which take
// long to compile.
inline std::string extension(const std::string& body, const std::string& more = "") {
  return "from torch.utils.cpp_extension import load_inline\nSOURCE = r'''\n#include <cstddef>\n" + body +
         "\nextern const char name[] = NAME;\n"
         "extern \"C\" void* PyInit_small() { return nullptr; }\n'''\n"
         "small = load_inline('small', SOURCE, no_implicit_headers=True, extra_cflags=['-DNAME=\"small\"']" +
         more + ")\n";
}

// Builds in a folder of its own, with a cache that all tests of a program share.
class TestBuilds {
 protected:
  // Starts the test lane where it does not run yet. A suite calls this before its first test.
  static Expected<void> set_up() {
    KQ_TRY_VALUE(auto* const tests, TestLane::get());
    root_ = TestLane::root() / "builder";
    KQ_TRY_VALUE(zygote_, tests->lane().zygote());
    return {};
  }
  static void tear_down() { zygote_.reset(); }

  static Lease lease_of(Backend backend, const std::vector<std::pair<std::string, std::string>>& files) {
    Lease lease;
    lease.submission.label = "test";
    lease.submission.backend = backend;
    lease.submission.problem.name = "p";
    lease.submission.problem.file = "p.py";
    lease.submission.problem.hash = sha256("p");
    lease.blobs = {{sha256("p"), "p"}};
    for (const auto& [name, bytes] : files) {
      lease.submission.files.push_back({name, sha256(bytes)});
      lease.blobs.push_back({sha256(bytes), bytes});
    }
    return lease;
  }
  static Expected<Built> build(const Lease& lease, std::stop_token stop = {}) {
    Builder builder({.scratch = root_ / "scratch", .uid = ::geteuid() == 0 ? 61200u : 0u, .no_gpu_arch = "sm_90"},
                    BuildCache(root_ / "cache"), [](DeviceKind) { return Expected<std::shared_ptr<Zygote>>(zygote_); });
    return builder.build(lease, std::move(stop));
  }
  static Expected<Built> build_python(const std::string& source) {
    return build(lease_of(Backend::torch, {{"k.py", source}}));
  }
  static Expected<Built> build_cuda(const std::string& source) {
    return build(lease_of(Backend::cuda, {{"k.cu", source}, {"k.json", std::string(kContract)}}));
  }
  static std::string verdict_of(const Expected<Built>& built) {
    if (!built) return "error: " + built.error().message;
    return built->verdict ? std::string(to_string(name_of(*built->verdict))) : "built";
  }
  static Evidence evidence(const Expected<Built>& built) { return *evidence_of(*built->verdict); }

  static inline std::filesystem::path root_;
  static inline std::shared_ptr<Zygote> zygote_;
};

}  // namespace kq::worker
