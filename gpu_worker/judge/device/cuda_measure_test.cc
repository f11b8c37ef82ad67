// These tests check the text of the kernels. tests/gpu/measure_gpu_test.cc runs them on a GPU.
#include "gpu_worker/judge/device/cuda_measure.h"

#include <gtest/gtest.h>

namespace kq::judge::cuda {
namespace {

TEST(MeasuringKernels, every_format_has_one_for_the_errors_and_one_for_each_truth) {
  const std::vector<NumberLoad> loads{{"float64", "ld.global.f64 %value, [%at];", 8},
                                      {"float32", "ld.global.f32 %single, [%at]; cvt.f64.f32 %value, %single;", 4},
                                      {"float16", "ld.global.b16 %half, [%at];", 2}};
  std::vector<std::string> names;
  for (const KernelText& kernel : measuring_kernels(loads)) {
    names.push_back(kernel.name);
    EXPECT_NE(kernel.text.find(".visible .entry " + kernel.name + "("), std::string::npos);
    for (const char* gap : {"NAME", "REGISTERS", "EACH", "GET_", "OWN_", "SIZE", "LOAD", "FROM", "TO", "BYTES"})
      EXPECT_EQ(kernel.text.find(gap), std::string::npos) << gap << " in " << kernel.name;
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"kq_measure_float64", "kq_truth_float64_float64", "kq_truth_float32_float64",
                                      "kq_measure_float32", "kq_truth_float64_float32", "kq_truth_float32_float32",
                                      "kq_measure_float16", "kq_truth_float64_float16", "kq_truth_float32_float16"}));
}

TEST(MeasuringKernels, numbers_are_loaded_at_their_own_size) {
  const std::vector<NumberLoad> loads{{"float16", "ld.global.b16 %half, [%at];", 2}};
  const std::string text = measuring_kernels(loads).front().text;
  EXPECT_NE(text.find("mad.lo.u64 %at, %i, 2, %expected;\n  ld.global.b16 %half, [%at];\n  mov.f64 %e, %value;"),
            std::string::npos);
  EXPECT_NE(text.find("mad.lo.u64 %at, %i, 64, %records;"), std::string::npos);
}

}  // namespace
}  // namespace kq::judge::cuda
