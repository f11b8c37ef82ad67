// store_faults_test --seeds=N        runs N seeds instead of KQ_FAULT_SEEDS or a hundred (of the rarer faults a quarter
// as many)
//                   --first-seed=S   begins at S: a failure is replayed by --first-seed=S --seeds=1
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "core/base/check.h"
#include "tests/faults/commits.h"

namespace kq::faults {

std::uint64_t seeds_n = 100;
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
  if (const char* seeds = std::getenv("KQ_FAULT_SEEDS")) kq::faults::take_number(seeds, "", kq::faults::seeds_n);
  for (int i = 1; i < argc; ++i) {
    kq::faults::take_number(argv[i], "--seeds=", kq::faults::seeds_n);
    kq::faults::take_number(argv[i], "--first-seed=", kq::faults::first_seed);
  }
  return RUN_ALL_TESTS();
}
