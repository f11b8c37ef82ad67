// Tests that the oracle finds every planted bug, that a seed always gives the same world, and that every fault happens.
// kq-sim runs the worlds without planted bugs. `kq-sim --seed N --plant NAME --trace` shows a world of these tests.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/world.h"

namespace kq::sim {
namespace {

constexpr std::uint64_t kSeedsToFindPlant = 60;

// Turns off the log of the broker.
class Quiet : public testing::Environment {
  void SetUp() override { spdlog::set_level(spdlog::level::off); }
};
[[maybe_unused]] const auto* const quiet = testing::AddGlobalTestEnvironment(new Quiet);

class PlantedBugTest : public testing::TestWithParam<int> {};

TEST_P(PlantedBugTest, is_found_within_60_seeds) {
  const auto plant = static_cast<Plant>(GetParam());
  for (std::uint64_t seed = 1; seed <= kSeedsToFindPlant; ++seed) {
    if (run_world(seed, plant, {}).violation) return;
  }
  FAIL() << to_string(plant) << " went unnoticed in " << kSeedsToFindPlant << " seeds";
}

INSTANTIATE_TEST_SUITE_P(All, PlantedBugTest, testing::Range(1, static_cast<int>(kPlantCount)),
                         [](const auto& plant) { return std::string(to_string(static_cast<Plant>(plant.param))); });

TEST(World, is_the_same_for_the_same_seed) {
  const auto told = [](std::uint64_t seed) {
    std::vector<std::string> lines;
    const Outcome outcome = run_world(seed, Plant::none, [&](const std::string& line) { lines.push_back(line); });
    lines.push_back(std::to_string(outcome.lasted_ms) + " " + outcome.faults.text());
    return lines;
  };
  EXPECT_EQ(told(3), told(3));
  EXPECT_NE(told(3), told(4));
}

// A fault that never happens proves nothing. The test stops once each fault and each kind of removal was seen.
TEST(World, suffers_every_fault) {
  FaultCounts faults;
  std::uint64_t removed_count = 0;
  std::uint64_t removed_file_count = 0;
  std::uint64_t object_count = 0;
  const auto is_enough = [&] {
    return std::ranges::count(faults.of, 0u) == 0 && removed_count > 50 && removed_file_count > 20 && object_count > 50;
  };
  for (std::uint64_t seed = 1; seed <= 300 && !is_enough(); ++seed) {
    const Outcome outcome = run_world(seed, Plant::none, {});
    faults += outcome.faults;
    removed_count += outcome.removed_count;
    removed_file_count += outcome.removed_file_count;
    object_count += outcome.object_count;
  }
  for (std::size_t i = 0; i < kFaultCount; ++i) EXPECT_GT(faults.of[i], 0u) << to_string(static_cast<Fault>(i));
  EXPECT_GT(removed_count, 50u);
  EXPECT_GT(removed_file_count, 20u);
  EXPECT_GT(object_count, 50u);
}

}  // namespace
}  // namespace kq::sim
