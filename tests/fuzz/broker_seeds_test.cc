// The seeds of the broker's fuzzer must reach the code behind a lease: a seed whose Hello or job the broker refuses
// shows the fuzzer nothing, and fails no other test.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/fuzzed_broker.h"

using namespace kq;

namespace {

// These seeds have no worker, no valid one, or no valid job: the job of tests/golden has blobs with wrong hashes.
constexpr std::string_view kWithoutLease[] = {"full", "refused", "goldens"};

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST(BrokerSeeds, the_job_of_a_seed_gets_a_lease) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(KQ_BROKER_SEEDS)) {
    const std::string name = entry.path().filename();
    fuzz::FuzzedBroker broker;
    broker.run(bytes_of(entry.path()));
    const bool may_have_one = std::ranges::find(kWithoutLease, name) == std::end(kWithoutLease);
    EXPECT_EQ(broker.lease_count() > 0, may_have_one)
        << name << ": " << broker.lease_count() << " leases; does its Hello have '" << kEvaluatorVersion << "'?";
    ++count;
  }
  EXPECT_GT(count, std::size(kWithoutLease));
}
