// These tests check the text of the kernels. tests/gpu/judge_gpu_test.cc runs them on a GPU.
#include "gpu_worker/judge/device/cuda_kernels.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace kq::judge::cuda {
namespace {

TEST(Ptx, has_every_kernel_and_no_placeholder) {
  const std::string text = ptx();
  for (const char* kernel :
       {"kq_probe(", "kq_stamp(", "kq_spin(", "kq_publish(", "kq_word(", "kq_differ_quads(", "kq_differ_words(",
        "kq_differ_bytes(", "kq_agree_float64(", "kq_agree_float32(", "kq_agree_float16(", "kq_agree_bfloat16(",
        "kq_agree_float64_quads(", "kq_agree_float32_quads(", "kq_agree_float16_quads(", "kq_agree_bfloat16_quads(",
        "kq_measure_float8_e4m3fn(", "kq_truth_float32_float8_e5m2("}) {
    EXPECT_NE(text.find(kernel), std::string::npos) << kernel;
  }
  for (const char* gap :
       {"NAME", "WORD", "SIZE", "LOAD", "EACH", "NUMBERS", "_PART", "SIDE", "HERE", "BOTH", "FIRST", "SECOND"})
    EXPECT_EQ(text.find(gap), std::string::npos) << gap;
}

TEST(Ptx, is_accepted_by_the_assembler) {
  if (std::system("command -v ptxas >/dev/null 2>&1") != 0) GTEST_SKIP() << "skipped: no ptxas here";
  const auto file = std::filesystem::temp_directory_path() / ("kq-judge-" + std::to_string(::getpid()) + ".ptx");
  std::ofstream(file) << ptx();
  EXPECT_EQ(std::system(("ptxas -arch=sm_90 -o /dev/null " + file.string()).c_str()), 0);
  std::filesystem::remove(file);
}

TEST(FloatFormat, is_that_of_the_parts_of_floating_point_numbers) {
  using channel::Dtype;
  EXPECT_EQ(float_format(Dtype::complex64)->part_bytes, 4u);
  EXPECT_EQ(float_format(Dtype::bfloat16)->part_bytes, 2u);
  EXPECT_EQ(float_format(Dtype::complex32)->part_bytes, 2u);
  EXPECT_EQ(float_format(Dtype::float8_e4m3fn)->part_bytes, 1u);
  EXPECT_FALSE(float_format(Dtype::float8_e8m0fnu));
  EXPECT_FALSE(float_format(Dtype::int64));
  EXPECT_FALSE(float_format(Dtype::boolean));
  EXPECT_FALSE(float_format(Dtype::none));
}

}  // namespace
}  // namespace kq::judge::cuda
