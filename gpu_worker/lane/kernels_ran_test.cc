#include "gpu_worker/lane/kernels_ran.h"

#include <gtest/gtest.h>

namespace kq::worker {
namespace {

const std::string kSite = "/opt/venv/lib/python3.12/site-packages/";
const std::string kCuda = "/lib/x86_64-linux-gnu/libcuda.so.1|" + kSite + "nvidia/cu13/lib/libcudart.so.13|";

TEST(owner_of, follows_the_library_that_launched) {
  const auto owner = [](const std::string& modules, const char* name = "k") { return owner_of(modules, name); };
  EXPECT_EQ(owner(kCuda + kSite + "torch/lib/libtorch_cuda.so"), KernelOwner::torch);
  EXPECT_EQ(owner(kCuda + kSite + "nvidia/cu13/lib/libcublasLt.so.13|" + kSite + "torch/lib/libtorch_cuda.so"),
            KernelOwner::library);
  EXPECT_EQ(owner(kCuda + kSite + "flash_attn_2_cuda.so"), KernelOwner::library);
  EXPECT_EQ(owner(kCuda + "/kq/work/torch_extensions/add/add.so|/usr/bin/python3"), KernelOwner::submission);
  EXPECT_EQ(owner("/lib/libcuda.so.1|/kq/work/triton/ab/__triton_launcher.cpython-312.so"), KernelOwner::submission);
  EXPECT_EQ(owner("/lib/libcuda.so.1|/usr/lib/libffi.so.8|/usr/bin/python3.12"), KernelOwner::submission);
  EXPECT_EQ(owner("/lib/libcuda.so.1|?"), KernelOwner::submission);
  EXPECT_EQ(owner(kSite + "cupy/cuda/function.cpython-312.so", "relu"), KernelOwner::submission) << "a RawKernel";
  EXPECT_EQ(owner(kSite + "cupy/cuda/function.cpython-312.so", "cupy_add__float32"), KernelOwner::library);
}

TEST(owner_of, what_torch_compile_makes_is_torchs) {
  const std::string launcher = "/lib/libcuda.so.1|/kq/work/triton/ab/__triton_launcher.so";
  EXPECT_EQ(owner_of(launcher, "triton_poi_fused_relu_0"), KernelOwner::torch);
  EXPECT_EQ(owner_of(launcher, "relu_kernel"), KernelOwner::submission);
  const std::string torchs = "/lib/libcuda.so.1|" + kSite + "torch/lib/libtorch_python.so";
  EXPECT_EQ(owner_of(torchs, "triton_red_fused_sum_1"), KernelOwner::torch);
  EXPECT_EQ(owner_of(torchs, "relu_kernel"), KernelOwner::submission) << "a kernel of the file in compiled code";
}

TEST(owner_of, without_a_launch_the_name_decides) {
  EXPECT_EQ(owner_of("-", "void at::native::vectorized_elementwise_kernel<4>(int)"), KernelOwner::torch);
  EXPECT_EQ(owner_of("-", "sm80_xmma_gemm_f32f32_nt"), KernelOwner::library);
  EXPECT_EQ(owner_of("-", "relu(float*)"), KernelOwner::submission);
}

TEST(read_kernels, sums_the_watched_calls) {
  const auto ran = read_kernels(
      "on\tx\nheard\nkernel\t1\t300\t" + kCuda + "/kq/work/x.so\trelu(float*)\nkernel\t2\t100\t" + kCuda + kSite +
      "torch/lib/libtorch_cuda.so\tat::native::copy()\nwatched\t2\t0\nheard\nkernel\t1\t500\t/kq/work/"
      "x.so\trelu(float*)\n"
      "watched\t1\t100\n");
  ASSERT_TRUE(ran);
  EXPECT_EQ(ran->calls, 2u);
  EXPECT_EQ(ran->kernels, (std::vector<RanKernel>{
                              {.name = "relu(float*)", .owner = KernelOwner::submission, .count = 2, .ns = 800},
                              {.name = "at::native::copy()", .owner = KernelOwner::torch, .count = 2, .ns = 100}}));
  EXPECT_DOUBLE_EQ(*ran->own_share, 0.8);
  EXPECT_EQ(ran->left_out, 0u);
}

TEST(read_kernels, a_call_that_ran_nothing_was_watched) {
  const auto ran = read_kernels("watched\t0\t0\n");
  ASSERT_TRUE(ran);
  EXPECT_TRUE(ran->kernels.empty());
  EXPECT_FALSE(ran->own_share);
}

TEST(read_kernels, without_a_watched_call_nothing_is_known) {
  EXPECT_FALSE(read_kernels("on\tx\nheard\n"));
  EXPECT_FALSE(read_kernels("kernel\t1\t300\t-\trelu\n")) << "the call did not end";
}

TEST(read_kernels, bears_hostile_lines_and_is_bounded) {
  for (const char* text : {"kernel", "kernel\t\t", "kernel\t-1\t5\t-\tk\nwatched\t1\t0", "watched\tx\t0", "watched\t1",
                           "kernel\t99999999999999999999999\t1\t-\tk", "\n\n\t\t\n"})
    (void)read_kernels(text);
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += "kernel\t1\t1\t-\tk" + std::to_string(i) + "\x1b[31m\n";
  const auto ran = read_kernels("watched\t0\t0\n" + many + "watched\t1\t0\n");
  ASSERT_TRUE(ran);
  EXPECT_LE(ran->kernels.size(), kRanKernelsMax);
  const auto shown = read_kernels("kernel\t1\t1\t-\tk\x1b[31m" + std::string(9'000, 'x') + "\nwatched\t1\t0\n");
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->kernels.at(0).name.size(), kKernelNameBytesMax);
  EXPECT_EQ(shown->kernels.at(0).name.substr(0, 6), "k?[31m");
}

TEST(has_kernels, reads_the_text_without_comments) {
  EXPECT_TRUE(has_kernels("k.py", "import triton\n@triton.jit\ndef f(): pass\n"));
  EXPECT_TRUE(has_kernels("k.py", "src = '''\n__global__ void f() {}\n'''\n"));
  EXPECT_TRUE(has_kernels("k.cu", "__global__ void f() {}\n"));
  EXPECT_FALSE(has_kernels("k.py", "import torch  # no triton.jit here\nx = torch.relu\n"));
  EXPECT_FALSE(has_kernels("k.cu", "// __global__\nint f();\n"));
}

}  // namespace
}  // namespace kq::worker
