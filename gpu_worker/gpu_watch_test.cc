#include "gpu_worker/gpu_watch.h"

#include <deque>

#include <gtest/gtest.h>

namespace kq {
namespace {

// Says what it is told to say; the last word stays.
struct Script {
  std::deque<std::optional<std::uint64_t>> ownerless{0};
  std::vector<std::uint64_t> errors;
};
class Scripted : public GpuWatch {
 public:
  explicit Scripted(std::shared_ptr<Script> script) : script_(std::move(script)) {}
  std::optional<std::uint64_t> ownerless_bytes() override {
    const auto now = script_->ownerless.front();
    if (script_->ownerless.size() > 1) script_->ownerless.pop_front();
    return now;
  }
  std::vector<std::uint64_t> errors() override { return std::exchange(script_->errors, {}); }

 private:
  std::shared_ptr<Script> script_;
};

constexpr std::uint64_t kGiB = 1ull << 30;

TEST(cleanliness, where_nobody_watches_all_is_well) { EXPECT_EQ(Cleanliness(nullptr).complaint(0), std::nullopt); }

TEST(cleanliness, memory_that_comes_back_in_time_is_no_complaint) {
  const auto script = std::make_shared<Script>(Script{.ownerless = {kGiB, 3 * kGiB, 2 * kGiB, kGiB + 1}, .errors = {}});
  Cleanliness device(std::make_unique<Scripted>(script));
  EXPECT_EQ(device.complaint(5'000), std::nullopt);
}

TEST(cleanliness, memory_that_stays_away_is_told) {
  const auto script = std::make_shared<Script>(Script{.ownerless = {kGiB, 3 * kGiB}, .errors = {}});
  Cleanliness device(std::make_unique<Scripted>(script));
  EXPECT_EQ(device.complaint(0), "2048 MiB of its memory did not come back within 0 s");
}

TEST(cleanliness, a_driver_that_does_not_tell_whose_memory_it_is_is_believed) {
  const auto script = std::make_shared<Script>(Script{.ownerless = {std::nullopt, 3 * kGiB}, .errors = {}});
  Cleanliness device(std::make_unique<Scripted>(script));
  EXPECT_EQ(device.complaint(0), std::nullopt);
}

TEST(cleanliness, errors_of_a_program_end_with_it_and_others_do_not) {
  const auto script = std::make_shared<Script>();
  script->errors = {79};  // from before the first job: told to whoever opened the device
  Cleanliness device(std::make_unique<Scripted>(script));
  script->errors = {31, 43};
  EXPECT_EQ(device.complaint(0), std::nullopt);
  script->errors = {31, 79};
  EXPECT_EQ(device.complaint(0), "the driver reports Xid 79");
  EXPECT_EQ(device.complaint(0), std::nullopt);
}

}  // namespace
}  // namespace kq
