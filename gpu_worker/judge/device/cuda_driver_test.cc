#include "gpu_worker/judge/device/cuda_driver.h"

#include <gtest/gtest.h>

namespace kq::judge::cuda {
namespace {

TEST(OpenDriver, fails_without_the_library) {
  const auto driver = open_driver("libkq-no-such-library.so.1");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().kind, ErrorKind::not_found);
  EXPECT_EQ(driver.error().message, "no CUDA driver here: libkq-no-such-library.so.1 cannot be opened");
}

TEST(OpenDriver, names_the_function_that_a_library_lacks) {
  const auto driver = open_driver("libc.so.6");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().kind, ErrorKind::not_found);
  EXPECT_EQ(driver.error().message, "the CUDA driver here is too old: libc.so.6 has no cuInit");
}

TEST(ErrorOf, has_the_drivers_text) {
  Driver driver{};
  driver.error_string = [](Result, const char** text) {
    *text = "out of memory";
    return kSuccess;
  };
  EXPECT_EQ(error_of(driver, "cuMemCreate", 2).message, "cuMemCreate: out of memory (2)");
  driver.error_string = [](Result, const char**) { return Result{1}; };
  EXPECT_EQ(error_of(driver, "cuMemCreate", 12345).message, "cuMemCreate: unknown error (12345)");
}

}  // namespace
}  // namespace kq::judge::cuda
