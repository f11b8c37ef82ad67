#include "gpu_worker/lane/triton_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "gpu_worker/lane/test_lane.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

TEST(TritonCheck, says_why_a_loop_does_not_work) {
  const auto tests = TestLane::get();
  ASSERT_TRUE(tests) << tests.error().message;
  Lane& lane = (*tests)->lane();
  const std::string harness = sys::program_directory() + "/../share/kq/harness";
  EXPECT_EQ(test_triton_loop(lane, harness), "");

  const fs::path folder = TestLane::root() / "triton-check";
  fs::create_directories(folder / "kernels");
  std::ifstream own(harness + "/kernels/loop_test.py");
  std::ofstream(folder / "kernels" / "loop_test.py")
      << own.rdbuf() << "\ntriton.language.tensor.__index__ = lambda tensor: int('no number')\n"
      << "from triton.runtime import interpreter\n"
      << "interpreter._patch_lang_tensor = lambda *_: None\n";
  EXPECT_THAT(test_triton_loop(lane, folder), testing::HasSubstr("a kernel with a loop ended as "));
  EXPECT_THAT(test_triton_loop(lane, TestLane::root() / "nothing"), testing::HasSubstr("could not be run"));
}

}  // namespace
}  // namespace kq::worker
