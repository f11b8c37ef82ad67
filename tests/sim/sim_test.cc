// Worlds of many seeds keep every promise, and the same worlds notice each planted bug. After a failure: kq-sim --seed
// N --verbose.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/sim/world.h"

namespace kq::sim {
namespace {

constexpr std::uint64_t kSeedsToFindPlant = 60;

// The broker's log, line by line, is of no use here.
class Quiet : public testing::Environment {
  void SetUp() override { spdlog::set_level(spdlog::level::off); }
};
[[maybe_unused]] const auto* const quiet = testing::AddGlobalTestEnvironment(new Quiet);

class PlantsTest : public testing::TestWithParam<int> {};

TEST_P(PlantsTest, are_found) {
  const auto plant = static_cast<Plant>(GetParam());
  for (std::uint64_t seed = 1; seed <= kSeedsToFindPlant; ++seed) {
    if (run_world(seed, plant, {}).violation) return;
  }
  FAIL() << to_string(plant) << " went unnoticed in " << kSeedsToFindPlant << " seeds";
}

INSTANTIATE_TEST_SUITE_P(All, PlantsTest, testing::Range(1, static_cast<int>(kPlantsN)),
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

// What a world is for: a fault that never happens proves nothing. As many worlds as it takes.
TEST(World, suffers_every_fault) {
  FaultCounts faults;
  std::uint64_t removed_n = 0;
  std::uint64_t removed_files_n = 0;
  std::uint64_t objects_n = 0;
  const auto is_enough = [&] {
    return std::ranges::count(faults.of, 0u) == 0 && removed_n > 50 && removed_files_n > 20 && objects_n > 50;
  };
  for (std::uint64_t seed = 1; seed <= 300 && !is_enough(); ++seed) {
    const Outcome outcome = run_world(seed, Plant::none, {});
    faults += outcome.faults;
    removed_n += outcome.removed_n;
    removed_files_n += outcome.removed_files_n;
    objects_n += outcome.objects_n;
  }
  for (std::size_t i = 0; i < kFaultsN; ++i) EXPECT_GT(faults.of[i], 0u) << to_string(static_cast<Fault>(i));
  EXPECT_GT(removed_n, 50u);
  EXPECT_GT(removed_files_n, 20u);
  EXPECT_GT(objects_n, 50u);
}

}  // namespace
}  // namespace kq::sim
