// Worlds of many seeds keep every promise, and the same worlds notice each planted bug. After a failure: kq-sim --seed
// N --verbose.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <string>
#include <vector>

#include "tests/sim/world.h"

namespace kq::sim {
namespace {

constexpr std::uint64_t kSeedsPerTest = 75;
constexpr std::uint64_t kSeedsToFindPlant = 10;

// The broker's log, line by line, is of no use here.
class Quiet : public testing::Environment {
  void SetUp() override { spdlog::set_level(spdlog::level::off); }
};
[[maybe_unused]] const auto* const quiet = testing::AddGlobalTestEnvironment(new Quiet);

class WorldsTest : public testing::TestWithParam<std::uint64_t> {};

TEST_P(WorldsTest, keep_every_promise) {
  for (std::uint64_t seed = GetParam(); seed < GetParam() + kSeedsPerTest; ++seed) {
    const Outcome outcome = run_world(seed, Plant::none, {});
    ASSERT_EQ(outcome.violation, std::nullopt) << "kq-sim --seed " << seed << " --verbose";
    ASSERT_GT(outcome.jobs_n, 0u) << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, WorldsTest, testing::Values(1, 76, 151, 226), testing::PrintToStringParamName());

class PlantsTest : public testing::TestWithParam<Plant> {};

TEST_P(PlantsTest, are_found) {
  for (std::uint64_t seed = 1; seed <= kSeedsToFindPlant; ++seed) {
    if (run_world(seed, GetParam(), {}).violation) return;
  }
  FAIL() << to_string(GetParam()) << " went unnoticed in " << kSeedsToFindPlant << " seeds";
}

INSTANTIATE_TEST_SUITE_P(All, PlantsTest,
                         testing::Values(Plant::send_before_persist, Plant::torn_commit, Plant::lease_not_saved,
                                         Plant::no_attempt_fencing, Plant::no_lease_expiry, Plant::no_dedupe),
                         [](const auto& plant) { return std::string(to_string(plant.param)); });

TEST(World, is_the_same_for_the_same_seed) {
  const auto told = [](std::uint64_t seed) {
    std::vector<std::string> lines;
    const Outcome outcome = run_world(seed, Plant::none, [&](const std::string& line) { lines.push_back(line); });
    lines.push_back(std::to_string(outcome.at_ms) + " " + std::to_string(outcome.jobs_n));
    return lines;
  };
  EXPECT_EQ(told(3), told(3));
  EXPECT_NE(told(3), told(4));
}

}  // namespace
}  // namespace kq::sim
