// store_faults_test [--seeds=N] [--first-seed=S]: tests the store with injected faults of the disk.
//
// --seeds is the number of seeds; the default is KQ_FAULT_SEEDS, or 100. The less frequent faults run a quarter of
// them.
// --first-seed is the first seed; --first-seed=S --seeds=1 repeats the failure of seed S.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "core/base/check.h"
#include "tests/faults/commits.h"

namespace kq::faults {

std::uint64_t seed_count = 100;
std::uint64_t first_seed = 1;

namespace {

void take_number(std::string_view argument, std::string_view flag, std::uint64_t& number) {
  if (!argument.starts_with(flag)) return;
  argument.remove_prefix(flag.size());
  KQ_CHECK(std::from_chars(argument.data(), argument.data() + argument.size(), number).ec == std::errc());
}

}  // namespace
}  // namespace kq::faults

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  if (const char* seeds = std::getenv("KQ_FAULT_SEEDS")) kq::faults::take_number(seeds, "", kq::faults::seed_count);
  for (int i = 1; i < argc; ++i) {
    kq::faults::take_number(argv[i], "--seeds=", kq::faults::seed_count);
    kq::faults::take_number(argv[i], "--first-seed=", kq::faults::first_seed);
  }
  return RUN_ALL_TESTS();
}
