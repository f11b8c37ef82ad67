// Tests builds with the zygote of a device lane and real, sandboxed build children.
#include "gpu_worker/compile/builder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "gpu_worker/compile/object.h"
#include "gpu_worker/compile/test_builds.h"
#include "sys/cores.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

class BuilderTest : public ::testing::Test, protected TestBuilds {
 protected:
  static void SetUpTestSuite() {
    const auto ready = set_up();
    ASSERT_TRUE(ready) << ready.error().message;
  }
  static void TearDownTestSuite() { tear_down(); }
};

TEST_F(BuilderTest, a_python_kernel_is_built_once_and_then_cached) {
  const auto first = build_python("class ModelNew: pass\n");
  ASSERT_EQ(verdict_of(first), "built");
  EXPECT_FALSE(first->cached);
  const auto second = build_python("class ModelNew: pass\n");
  ASSERT_EQ(verdict_of(second), "built");
  EXPECT_TRUE(second->cached);
  EXPECT_EQ(first->dir, second->dir);
}

TEST_F(BuilderTest, a_damaged_cache_entry_is_built_again) {
  const auto first = build_python("class ModelNew: x = 1\n");
  ASSERT_EQ(verdict_of(first), "built");
  fs::resize_file(first->dir + "/status", 0);
  const auto second = build_python("class ModelNew: x = 1\n");
  ASSERT_EQ(verdict_of(second), "built");
  EXPECT_FALSE(second->cached);
}

TEST_F(BuilderTest, a_syntax_error_is_named_with_its_line) {
  const auto built = build_python("class ModelNew:\n  def f(:\n");
  ASSERT_EQ(verdict_of(built), "build_failed");
  EXPECT_NE(evidence(built).message.find("k.py:2"), std::string::npos) << evidence(built).message;
  EXPECT_EQ(evidence(built).place, "k.py:2");
}

TEST_F(BuilderTest, a_python_stream_is_rejected_with_rule_and_place_every_time) {
  const std::string source = "from torch.cuda import Stream as S\n\nclass ModelNew:\n  s = S()\n";
  for (int i = 0; i < 2; ++i) {
    const auto built = build_python(source);
    ASSERT_EQ(verdict_of(built), "rejected");
    EXPECT_EQ(evidence(built).rule, "cuda_stream_create");
    EXPECT_EQ(evidence(built).place, "k.py:4");
    EXPECT_EQ(evidence(built).reason, "stream");
  }
}

TEST_F(BuilderTest, a_cuda_stream_is_rejected_before_anything_is_compiled) {
  const auto built = build_cuda("void f() { cudaStreamCreate(0); }");
  ASSERT_EQ(verdict_of(built), "rejected");
  EXPECT_EQ(evidence(built).place, "k.cu:1");
}

// Waits for all pre-forked children and returns the inodes of their directories.
std::set<ino_t> waiting_in(const fs::path& scratch) {
  std::set<ino_t> found;
  for (int i = 0; i < 6'000 && found.size() < kPreforkedBuildsMax; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    found.clear();
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(scratch, none)) {
      struct stat seen {};
      if (entry.path().filename().string().starts_with("ready") && ::stat(entry.path().c_str(), &seen) == 0)
        found.insert(seen.st_ino);
    }
  }
  return found;
}

TEST_F(BuilderTest, children_are_forked_ahead_after_the_first_kernel) {
  const fs::path scratch = root_ / "waiting";
  Builder builder({.scratch = scratch, .uid = ::geteuid() == 0 ? 61200u : 0u, .no_gpu_arch = "sm_90"},
                  BuildCache(root_ / "cache"), [](DeviceKind) { return Expected<std::shared_ptr<Zygote>>(zygote_); });
  const auto lease_with = [&](const std::string& statement) {
    const std::string source = "extern \"C\" __global__ void copy(const float* x, float* out) { " + statement + " }";
    return lease_of(Backend::cuda, {{"k.cu", source}, {"k.json", std::string(kContract)}});
  };
  ASSERT_EQ(verdict_of(builder.build(lease_with("out[0] = x[1];"))), "compiled_only");
  const auto before = waiting_in(scratch);
  ASSERT_EQ(before.size(), kPreforkedBuildsMax);
  const auto built = builder.build(lease_with("out[0] = x[2];"));
  ASSERT_EQ(verdict_of(built), "compiled_only");
  EXPECT_TRUE(fs::exists(built->dir + "/module.cubin"));
  const auto after = waiting_in(scratch);
  EXPECT_EQ(after.size(), kPreforkedBuildsMax);
  EXPECT_NE(after, before) << "one of them built the kernel and was replaced";
  const auto failed = builder.build(lease_with("out[0] = y;"));
  ASSERT_EQ(verdict_of(failed), "build_failed");
  EXPECT_NE(evidence(failed).message.find("k.cu:1"), std::string::npos) << evidence(failed).message;
}

TEST_F(BuilderTest, a_stopped_build_ends_at_once) {
  const std::string endless =
      "template <int n, int at> struct Tree { static const int v = Tree<n - 1, 2 * at>::v + Tree<n - 1, 2 * at + "
      "1>::v; };\n"
      "template <int at> struct Tree<0, at> { static const int v = at % 3; };\n"
      "extern \"C\" __global__ void copy(const float* x, float* out) { out[0] = Tree<28, 1>::v; }";
  std::stop_source stop;
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    stop.request_stop();
  });
  const auto start = std::chrono::steady_clock::now();
  // Without the stop, the build would end at its limit of two minutes.
  const auto built =
      build(lease_of(Backend::cuda, {{"k.cu", endless}, {"k.json", std::string(kContract)}}), stop.get_token());
  const auto took = std::chrono::steady_clock::now() - start;
  stopper.join();
  if (verdict_of(built) == "unsupported_here") GTEST_SKIP() << "skipped: no CUDA toolkit: " << evidence(built).message;
  EXPECT_EQ(verdict_of(built), "error: stopped");
  EXPECT_LT(took, std::chrono::seconds(60));
}

// Returns options of a builder whose builds may take so much memory.
BuilderOptions with_memory(const std::string& root, std::uint64_t host_bytes, std::uint64_t alone_host_bytes) {
  return {.scratch = root + "/scratch",
          .uid = ::geteuid() == 0 ? 61200u : 0u,
          .no_gpu_arch = "sm_90",
          .host_bytes = host_bytes,
          .alone_host_bytes = alone_host_bytes};
}

// Returns a kernel whose compilation instantiates a template about 2^depth times.
std::vector<std::pair<std::string, std::string>> tree_of_templates(int depth) {
  const std::string source =
      "template <int n, int at> struct Tree { static const int v = Tree<n - 1, 2 * at>::v + Tree<n - 1, 2 * at + "
      "1>::v; };\n"
      "template <int at> struct Tree<0, at> { static const int v = at % 3; };\n"
      "extern \"C\" __global__ void copy(const float* x, float* out) { out[0] = Tree<" +
      std::to_string(depth) + ", 1>::v; }";
  return {{"k.cu", source}, {"k.json", std::string(kContract)}};
}

TEST_F(BuilderTest, a_build_that_takes_more_memory_than_there_is_is_too_large) {
  Builder builder(with_memory(root_, 192u << 20, 256u << 20), BuildCache(root_ / "cache"),
                  [](DeviceKind) { return Expected<std::shared_ptr<Zygote>>(zygote_); });
  const auto built = builder.build(lease_of(Backend::cuda, tree_of_templates(24)));
  if (verdict_of(built) == "unsupported_here") GTEST_SKIP() << "skipped: no CUDA toolkit: " << evidence(built).message;
  ASSERT_EQ(verdict_of(built), "too_large") << evidence(built).message;
  EXPECT_EQ(evidence(built).reason, "build");
  EXPECT_EQ(evidence(built).stage, Stage::build);
  EXPECT_EQ(evidence(built).message, "the build needs more memory than this worker can give it, 1536 MiB");
}

TEST_F(BuilderTest, a_build_that_needs_more_memory_is_built_again_alone) {
  const auto lease = lease_of(Backend::cuda, tree_of_templates(12));
  const auto zygote = [](DeviceKind) { return Expected<std::shared_ptr<Zygote>>(zygote_); };
  Builder small(with_memory(root_, 36u << 20, 0), BuildCache(root_ / "small"), zygote);
  const auto refused = small.build(lease);
  if (verdict_of(refused) == "unsupported_here")
    GTEST_SKIP() << "skipped: no CUDA toolkit: " << evidence(refused).message;
  EXPECT_EQ(verdict_of(refused), "too_large") << evidence(refused).message;
  Builder builder(with_memory(root_, 36u << 20, 4ull << 30), BuildCache(root_ / "cache"), zygote);
  const auto built = builder.build(lease);
  EXPECT_EQ(verdict_of(built), "compiled_only") << evidence(built).message;
}

TEST_F(BuilderTest, a_cuda_kernel_compiles_without_a_gpu) {
  const std::string source =
      "extern \"C\" __global__ void copy(const float* x, float* out) { out[threadIdx.x] = x[threadIdx.x]; }";
  const auto built = build_cuda(source);
  if (verdict_of(built) == "unsupported_here") GTEST_SKIP() << "skipped: no CUDA toolkit: " << evidence(built).message;
  ASSERT_EQ(verdict_of(built), "compiled_only") << evidence(built).message;
  EXPECT_TRUE(fs::exists(built->dir + "/module.cubin"));
  EXPECT_TRUE(build_cuda(source)->cached);
}

TEST_F(BuilderTest, a_cuda_kernel_that_does_not_compile_says_where) {
  const auto built = build_cuda("extern \"C\" __global__ void copy(float* x) {\n  x[0] = y;\n}");
  if (verdict_of(built) == "unsupported_here") GTEST_SKIP() << "skipped: no CUDA toolkit: " << evidence(built).message;
  ASSERT_EQ(verdict_of(built), "build_failed");
  EXPECT_NE(evidence(built).message.find("k.cu"), std::string::npos) << evidence(built).message;
}

// Uses a zygote for GPU builds, which needs no GPU.
TEST_F(BuilderTest, triton_kernels_are_compiled_ahead_for_a_gpu) {
  constexpr std::string_view kProblem =
      "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\ndef "
      "get_inputs():\n    return [torch.rand(64)]\n";
  constexpr std::string_view kKernel =
      "import torch, triton, triton.language as tl\n@triton.jit\ndef add(x, out, N: tl.constexpr):\n    i = "
      "tl.arange(0, N)\n"
      "    tl.store(out + i, tl.load(x + i) + 1)\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        "
      "out = torch.empty_like(x)\n"
      "        add[(1,)](x, out, N=64)\n        return out\n";
  ZygoteOptions options = TestLane::options().zygote;
  options.device = DeviceKind::cuda;
  auto started = Zygote::start(options);
  ASSERT_TRUE(started) << started.error().message;
  const std::shared_ptr<Zygote> zygote = std::move(*started);
  const auto build_for = [&](DeviceKind device, const std::string& source, std::uint32_t limit_ms = 120'000) {
    Lease lease = lease_of(Backend::triton, {{"k.py", source}});
    lease.submission.problem.hash = sha256(kProblem);
    lease.blobs.push_back({sha256(kProblem), std::string(kProblem)});
    lease.device.kind = device;
    lease.device.arch = device == DeviceKind::cuda ? "sm_90" : "";
    Builder builder({.scratch = root_ / "scratch",
                     .uid = ::geteuid() == 0 ? 61200u : 0u,
                     .no_gpu_arch = "sm_90",
                     .ahead_limit_ms = limit_ms},
                    BuildCache(root_ / "cache"), [&](DeviceKind) {
                      return Expected<std::shared_ptr<Zygote>>(device == DeviceKind::cuda ? zygote : zygote_);
                    });
    return builder.build(lease);
  };
  const auto is_ahead = [](const Expected<Built>& built) { return fs::exists(built->dir + "/kq_triton.zip"); };

  const auto built = build_for(DeviceKind::cuda, std::string(kKernel));
  ASSERT_EQ(verdict_of(built), "built") << evidence(built).message;
  EXPECT_TRUE(is_ahead(built));
  EXPECT_EQ(built->toolchain.compiler.find("triton "), 0u) << built->toolchain.compiler;
  EXPECT_NE(built->toolchain.compiler.find(", ptxas "), std::string::npos) << built->toolchain.compiler;
  EXPECT_EQ(built->toolchain.flags, "compiled ahead");
  EXPECT_TRUE(build_for(DeviceKind::cuda, std::string(kKernel))->cached);

  const auto endless = build_for(DeviceKind::cuda, std::string(kKernel) + "while True: pass\n", 300);
  ASSERT_EQ(verdict_of(endless), "built") << "the run reports what is wrong with it";
  EXPECT_FALSE(is_ahead(endless));
  EXPECT_EQ(endless->toolchain.flags, "");

  const auto interpreted = build_for(DeviceKind::cpu, std::string(kKernel));
  ASSERT_EQ(verdict_of(interpreted), "built");
  EXPECT_FALSE(interpreted->cached || is_ahead(interpreted));
  EXPECT_EQ(interpreted->toolchain, Toolchain());
}

TEST_F(BuilderTest, a_call_of_load_inline_is_compiled_once_for_all_submissions) {
  const auto built = build_python(extension("int number = 1;"));
  ASSERT_EQ(verdict_of(built), "built") << evidence(built).message;
  EXPECT_FALSE(built->cached);
  EXPECT_TRUE(fs::exists(built->dir + "/kq_extension_0.so"));
  EXPECT_TRUE(fs::exists(built->dir + "/kq_extensions.json"));
  EXPECT_EQ(built->toolchain.compiler.find("g++ "), 0u) << built->toolchain.compiler;
  EXPECT_NE(built->toolchain.flags.find("-DNAME"), std::string::npos) << built->toolchain.flags;

  const auto again = build_python(extension("int number = 1;"));
  ASSERT_EQ(verdict_of(again), "built");
  EXPECT_TRUE(again->cached);
  EXPECT_EQ(again->toolchain, built->toolchain);
  const auto other = build_python("# another submission with the same call\n" + extension("int number = 1;"));
  ASSERT_EQ(verdict_of(other), "built");
  EXPECT_TRUE(other->cached);
}

// Compiling the headers of torch takes 20 s or more, so this test does not always run.
TEST_F(BuilderTest, torch_headers_are_precompiled_once_and_other_builds_do_not_wait) {
  if (std::getenv("KQ_HEADERS") == nullptr)
    GTEST_SKIP() << "skipped: takes a minute; KQ_HEADERS=yes runs it, as CI does";
  const BuildCache cache(root_ / "cache");
  Builder builder({.scratch = root_ / "scratch", .uid = ::geteuid() == 0 ? 61200u : 0u, .no_gpu_arch = "sm_90"}, cache,
                  [](DeviceKind) { return Expected<std::shared_ptr<Zygote>>(zygote_); });
  const auto verdict_of_number = [&](std::size_t number) {
    const std::string source =
        "from torch.utils.cpp_extension import load_inline\nSOURCE = 'torch::Tensor add(torch::Tensor x) { return x "
        "+ " +
        std::to_string(number) + "; }'\nmodule = load_inline('added', SOURCE, functions=['add'])\n";
    return verdict_of(builder.build(lease_of(Backend::torch_cuda, {{"k.py", source}}), {}, {.slot = number}));
  };
  std::vector<std::string> verdicts(2);
  {
    std::vector<std::jthread> both;
    for (std::size_t i = 0; i < verdicts.size(); ++i) both.emplace_back([&, i] { verdicts[i] = verdict_of_number(i); });
  }
  EXPECT_EQ(verdicts, std::vector<std::string>(2, "built"));
  const auto headers = [&] {
    std::set<std::string> names;
    for (const CacheEntry& entry : cache.list()) {
      const fs::path name = entry.name;
      if (entry.name.starts_with("headers/")) names.insert(name.filename());
    }
    return names;
  };
  builder.wait_for_headers();
  const std::set<std::string> made = headers();
  EXPECT_EQ(made, (std::set<std::string>{"bodies-O1", "extension-O1"}));
  EXPECT_EQ(verdict_of_number(2), "built");
  builder.wait_for_headers();
  EXPECT_EQ(headers(), made);
}

// A file may run any code while its calls are recorded.
TEST_F(BuilderTest, a_build_that_fills_the_disk_ends) {
  // The program sleeps for longer than any limit of a build, whose verdict would be timed_out.
  const auto built =
      build_python("import time\nfor i in range(" + std::to_string(kBuildDiskMax.entries + 1) +
                   "):\n    open(f'/kq/out/{i}', 'w').close()\ntime.sleep(100_000)\n" + extension("int number = 4;"));
  ASSERT_EQ(verdict_of(built), "out_of_memory");
  EXPECT_EQ(evidence(built).reason, "disk");
  EXPECT_EQ(evidence(built).message, "the build wrote more than it may: 2048 MiB in 20000 files");
}

TEST_F(BuilderTest, a_damaged_module_in_the_cache_is_built_again) {
  const auto text_of = [](const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const auto built = build_python(extension("int number = 20;"));
  ASSERT_EQ(verdict_of(built), "built") << evidence(built).message;
  const std::string right = text_of(built->dir + "/kq_extension_0.so");
  // Changes one byte of both copies of the module: the call's entry and the submission's entry.
  std::size_t damaged = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root_ / "cache")) {
    if (!entry.is_regular_file() || text_of(entry.path()) != right) continue;
    fs::permissions(entry.path(), fs::perms::owner_write, fs::perm_options::add);
    std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(right.size() / 2));
    file.put(static_cast<char>(right[right.size() / 2] ^ 1));
    ++damaged;
  }
  EXPECT_EQ(damaged, 2u);
  const auto again = build_python(extension("int number = 20;"));
  ASSERT_EQ(verdict_of(again), "built");
  EXPECT_FALSE(again->cached);
  EXPECT_EQ(text_of(again->dir + "/kq_extension_0.so"), right);
}

TEST_F(BuilderTest, a_template_bomb_in_an_extension_times_out) {
  const std::string bomb =
      "template <int n, int at> struct Tree { static const int v = Tree<n - 1, 2 * at>::v + Tree<n - 1, 2 * at + "
      "1>::v; };\n"
      "template <int at> struct Tree<0, at> { static const int v = at % 3; };\nint number = Tree<28, 1>::v;";
  Builder builder({.scratch = root_ / "scratch",
                   .uid = ::geteuid() == 0 ? 61200u : 0u,
                   .no_gpu_arch = "sm_90",
                   .compile_limit_ms = 700},
                  BuildCache(root_ / "cache"), [](DeviceKind) { return Expected<std::shared_ptr<Zygote>>(zygote_); });
  const auto built = builder.build(lease_of(Backend::torch_cuda, {{"k.py", extension(bomb)}}));
  ASSERT_EQ(verdict_of(built), "timed_out") << (built && built->verdict ? evidence(built).message : "");
  EXPECT_EQ(evidence(built).stage, Stage::build);
  EXPECT_EQ(verdict_of(build_python(extension("int number = 21;"))), "built");
}

TEST_F(BuilderTest, concurrent_builds_of_one_extension_compile_it_once) {
  Builder builder({.scratch = root_ / "scratch", .uid = ::geteuid() == 0 ? 61200u : 0u, .no_gpu_arch = "sm_90"},
                  BuildCache(root_ / "cache"), [](DeviceKind) { return Expected<std::shared_ptr<Zygote>>(zygote_); });
  std::vector<Expected<Built>> built(3, our_fault("not yet"));
  {
    std::vector<std::jthread> threads;
    for (std::size_t slot = 0; slot < built.size(); ++slot) {
      threads.emplace_back([&, slot] {
        const std::string comment = slot == 2 ? "# another file\n" : "";
        built[slot] = builder.build(lease_of(Backend::torch_cuda, {{"k.py", comment + extension("int number = 8;")}}),
                                    {}, {.slot = slot});
      });
    }
  }
  std::size_t compiled = 0;
  for (const auto& each : built) {
    ASSERT_EQ(verdict_of(each), "built");
    compiled += each->cached ? 0u : 1u;
  }
  EXPECT_EQ(compiled, 1u);
}

TEST_F(BuilderTest, an_error_in_inline_source_has_the_line_of_the_file) {
  const auto built = build_python(extension("int number = nonsense;"));
  ASSERT_EQ(verdict_of(built), "build_failed");
  EXPECT_EQ(evidence(built).message.find("k.py:4: ‘nonsense’ was not declared in this scope (cpp_sources line 3)\n"),
            0u)
      << evidence(built).message;
  EXPECT_EQ(evidence(built).place, "k.py:4");
  EXPECT_EQ(built->toolchain.compiler.find("g++ "), 0u) << built->toolchain.compiler;
}

// The call does not compile, and is made on the processor of the builder only.
TEST_F(BuilderTest, builds_run_on_the_processors_of_the_builder) {
  if (sys::usable_cores() < 2) GTEST_SKIP() << "skipped: this machine has one processor, on which every build runs";
  const int core = sys::cores_beside_lanes(1, 0).back();
  Builder builder(
      {.scratch = root_ / "scratch", .uid = ::geteuid() == 0 ? 61200u : 0u, .no_gpu_arch = "sm_90", .cores = {core}},
      BuildCache(root_ / "cache"), [](DeviceKind) { return Expected<std::shared_ptr<Zygote>>(zygote_); });
  const std::string source =
      "import os\nfrom torch.utils.cpp_extension import load_inline\n"
      "if os.sched_getaffinity(0) == {" +
      std::to_string(core) + "}:\n    load_inline('small', 'int number = unheard_of;', no_implicit_headers=True)\n";
  const auto lease = lease_of(Backend::torch, {{"k.py", source}});
  EXPECT_EQ(verdict_of(builder.build(lease)), "build_failed");
  EXPECT_EQ(verdict_of(builder.build(lease, {}, {.may_use_all_cores = true})), "built");
}

TEST_F(BuilderTest, a_call_that_does_not_compile_is_compiled_once) {
  const std::string caught =
      "from torch.utils.cpp_extension import load_inline\n"
      "try:\n    load_inline('small', 'int number = unheard_of;', no_implicit_headers=True)\n"
      "except RuntimeError:\n    pass\n";
  const auto built = build_python(caught);
  ASSERT_EQ(verdict_of(built), "built") << evidence(built).message;
  EXPECT_FALSE(built->cached);
  const auto other = build_python(caught + "# another submission with the same call in the same line\n");
  ASSERT_EQ(verdict_of(other), "built");
  EXPECT_TRUE(other->cached);
  EXPECT_EQ(other->toolchain, built->toolchain);
  // The message has lines of the submission's file, so that a call in another line has a message of its own.
  const auto lower = build_python("# one line more\n" + extension("int number = nonsense;"));
  ASSERT_EQ(verdict_of(lower), "build_failed");
  EXPECT_EQ(evidence(lower).place, "k.py:5");
}

TEST_F(BuilderTest, inline_source_is_judged_as_the_run_makes_it) {
  const auto built = build_python(
      "import json\n" + extension("''' + json.loads('\"void f() { cuda\\\\u0053treamCreate(0); }\"') + r'''"));
  ASSERT_EQ(verdict_of(built), "rejected") << (built && built->verdict ? evidence(built).message : "");
  EXPECT_EQ(evidence(built).reason, "stream");
  EXPECT_EQ(evidence(built).place, "k.py:9, cpp_sources:3");
}

TEST_F(BuilderTest, a_flag_that_names_other_programs_is_refused) {
  const auto built = build_python(extension("int number = 2;", ", extra_ldflags=['@' + '/etc/passwd']"));
  ASSERT_EQ(verdict_of(built), "rejected");
  EXPECT_EQ(evidence(built).rule, "compiler_flag");
  const auto odd = build_python(extension("int number = 2;", ", extra_ldflags=['-Wl,-T,x.ld']"));
  ASSERT_EQ(verdict_of(odd), "build_failed");
  EXPECT_NE(evidence(odd).message.find("-Wl,-T,x.ld"), std::string::npos) << evidence(odd).message;
}

TEST_F(BuilderTest, the_guard_stops_at_the_jobs_time_limit) {
  Lease lease = lease_of(Backend::torch, {{"k.py", "class ModelNew: pass\n"}});
  std::string slow = "#define P(x) " + std::string(390, 'u') + "##x\n";
  for (int i = 0; i < 40'000; ++i) slow += "P(" + std::to_string(i) + ") ";
  for (int i = 0; i < 15; ++i) lease.submission.files.push_back({"own" + std::to_string(i) + ".cuh", sha256(slow)});
  lease.blobs.push_back({sha256(slow), slow});
  lease.submission.time_limit_ms = 100;
  const auto built = build(lease);
  ASSERT_EQ(verdict_of(built), "timed_out");
  EXPECT_EQ(evidence(built).stage, Stage::build);
  EXPECT_EQ(evidence(built).message, "the build took longer than 100 ms");
  std::stop_source stop;
  lease.submission.time_limit_ms = 0;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_FALSE(build(lease, stop.get_token()));
}

}  // namespace
}  // namespace kq::worker
