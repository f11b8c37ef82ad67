// Runs the self-test on a real lane, as it is and with a submission that claims to have got out.
#include "gpu_worker/lane/escape_check.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "gpu_worker/lane/test_lane.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

class EscapeCheck : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto tests = TestLane::get();
    ASSERT_TRUE(tests) << tests.error().message;
    lane_ = &(*tests)->lane();
    root_ = TestLane::root() / "escape-check";
  }
  static std::string harness() { return sys::program_directory() + "/../share/kq/harness"; }

  static fs::path root_;
  static Lane* lane_;
};
fs::path EscapeCheck::root_;
Lane* EscapeCheck::lane_;

TEST_F(EscapeCheck, the_sandbox_of_this_machine_holds) {
  const auto tested = test_sandbox(*lane_, harness());
  EXPECT_TRUE(tested) << tested.error().message;
  EXPECT_EQ(lane_->quarantine(), std::nullopt);
}

// Adds an attempt that always claims to have succeeded.
TEST_F(EscapeCheck, a_way_out_is_named_in_the_error) {
  const fs::path folder = root_ / "holes";
  fs::create_directories(folder);
  std::ifstream own(harness() + "/sandbox/self_test.py");
  std::ofstream(folder / "self_test.py") << own.rdbuf() << "\nATTEMPTS['reach the network'] = lambda: True\n";
  const auto tested = test_sandbox(*lane_, folder);
  ASSERT_FALSE(tested);
  EXPECT_NE(tested.error().message.find("it could reach the network"), std::string::npos) << tested.error().message;
}

TEST_F(EscapeCheck, without_its_file_it_is_an_error) {
  EXPECT_FALSE(test_sandbox(*lane_, root_ / "nothing"));
}

}  // namespace
}  // namespace kq::worker
