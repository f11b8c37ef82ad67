// The self-test with a real lane: where it must hold, and where its submission is another one.
#include "gpu_worker/lane/escape_check.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "gpu_worker/lane/lane_of_tests.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

class EscapeCheck : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto tests = LaneOfTests::get();
    ASSERT_TRUE(tests) << tests.error().message;
    lane_ = &(*tests)->lane();
    root_ = LaneOfTests::root() / "escape-check";
  }
  static std::string harness() { return sys::program_directory() + "/../share/kq/harness"; }

  static fs::path root_;
  static Lane* lane_;
};
fs::path EscapeCheck::root_;
Lane* EscapeCheck::lane_;

TEST_F(EscapeCheck, the_sandbox_of_this_machine_holds) {
  const auto held = test_sandbox(*lane_, harness());
  EXPECT_TRUE(held) << held.error().message;
  EXPECT_EQ(lane_->quarantine(), std::nullopt);
}

// The same attempts, one of which is told that it worked.
TEST_F(EscapeCheck, a_way_out_is_told_by_its_name) {
  const fs::path folder = root_ / "holes";
  fs::create_directories(folder / "sandbox");
  std::ifstream own(harness() + "/sandbox/self_test.py");
  std::ofstream(folder / "sandbox" / "self_test.py")
      << own.rdbuf() << "\nATTEMPTS['reach the network'] = lambda: True\n";
  const auto held = test_sandbox(*lane_, folder);
  ASSERT_FALSE(held);
  EXPECT_NE(held.error().message.find("it could reach the network"), std::string::npos) << held.error().message;
}

TEST_F(EscapeCheck, without_its_file_it_is_an_error) {
  EXPECT_FALSE(test_sandbox(*lane_, root_ / "nothing"));
}

}  // namespace
}  // namespace kq::worker
