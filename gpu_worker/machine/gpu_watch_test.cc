#include "gpu_worker/machine/gpu_watch.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deque>

#include <gtest/gtest.h>

namespace kq::worker {
namespace {

// Says what it is told to say; the last word stays.
struct Script {
  std::deque<std::optional<std::uint64_t>> ownerless{0};
  std::vector<std::uint64_t> errors;
  std::optional<std::vector<GpuProcess>> processes;
};
class Scripted : public GpuWatch {
 public:
  explicit Scripted(std::shared_ptr<Script> script) : script_(std::move(script)) {}
  std::optional<std::uint64_t> unowned_bytes() override {
    const auto now = script_->ownerless.front();
    if (script_->ownerless.size() > 1) script_->ownerless.pop_front();
    return now;
  }
  std::vector<std::uint64_t> errors() override { return std::exchange(script_->errors, {}); }
  Conditions conditions() override { return {.sm_clock_mhz = 1'980, .throttle = "none"}; }
  std::optional<std::vector<GpuProcess>> processes() override { return script_->processes; }

 private:
  std::shared_ptr<Script> script_;
};

constexpr std::uint64_t kGiB = 1ull << 30;

TEST(cleanliness, where_nobody_watches_all_is_well) {
  EXPECT_EQ(Cleanliness(nullptr).memory_complaint(0), std::nullopt);
}

TEST(cleanliness, memory_that_comes_back_in_time_is_no_complaint) {
  const auto script = std::make_shared<Script>(
      Script{.ownerless = {kGiB, 3 * kGiB, 2 * kGiB, kGiB + 1}, .errors = {}, .processes = {}});
  Cleanliness device(std::make_unique<Scripted>(script));
  EXPECT_EQ(device.memory_complaint(5'000), std::nullopt);
}

TEST(cleanliness, memory_that_stays_away_is_told) {
  const auto script = std::make_shared<Script>(Script{.ownerless = {kGiB, 3 * kGiB}, .errors = {}, .processes = {}});
  Cleanliness device(std::make_unique<Scripted>(script));
  EXPECT_EQ(device.memory_complaint(0), "2048 MiB of its memory did not come back within 0 s");
}

TEST(cleanliness, a_driver_that_does_not_tell_whose_memory_it_is_is_believed) {
  const auto script =
      std::make_shared<Script>(Script{.ownerless = {std::nullopt, 3 * kGiB}, .errors = {}, .processes = {}});
  Cleanliness device(std::make_unique<Scripted>(script));
  EXPECT_EQ(device.memory_complaint(0), std::nullopt);
}

TEST(cleanliness, errors_of_a_program_end_with_it_and_others_do_not) {
  const auto script = std::make_shared<Script>();
  script->errors = {79};  // from before the first job: told to whoever opened the device
  Cleanliness device(std::make_unique<Scripted>(script));
  script->errors = {31, 43};
  EXPECT_EQ(device.driver_complaint(), std::nullopt);
  script->errors = {31, 79};
  EXPECT_EQ(device.driver_complaint(), "the driver reports Xid 79");
  EXPECT_EQ(device.driver_complaint(), std::nullopt);
}

GpuProcess process(int pid, std::uint64_t memory_mib = 0) {
  return {static_cast<std::uint32_t>(pid), memory_mib};
}

// What a device that lists these tells of its conditions to a worker with this judge.
std::optional<Conditions> conditions_beside(std::optional<std::vector<GpuProcess>> processes, int judge) {
  const auto script =
      std::make_shared<Script>(Script{.ownerless = {0}, .errors = {}, .processes = std::move(processes)});
  return Cleanliness(std::make_unique<Scripted>(script)).conditions(judge);
}

int a_child_that_waits() {
  const int child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  return child;
}
void end(int child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(conditions, where_nobody_watches_there_are_none) {
  EXPECT_EQ(Cleanliness(nullptr).conditions(::getpid()), std::nullopt);
}

TEST(conditions, whoever_is_no_descendant_of_ours_is_foreign) {
  const int judge = a_child_that_waits();
  const int other = a_child_that_waits();
  const int gone = a_child_that_waits();
  end(gone);
  const Conditions expected{.sm_clock_mhz = 1'980, .throttle = "none", .foreign = {{process(1, 512)}}};
  EXPECT_EQ(
      conditions_beside({{process(judge), process(1, 512), process(other), process(gone), process(::getpid())}}, judge),
      expected);
  end(judge);
  end(other);
}

TEST(conditions, process_numbers_that_are_not_ours_say_nothing_of_others) {
  EXPECT_EQ(conditions_beside({{process(1)}}, ::getpid())->foreign, std::nullopt)
      << "the judge has another number there";
  EXPECT_EQ(conditions_beside({{process(1)}}, 0)->foreign, std::nullopt) << "the judge is gone";
  EXPECT_EQ(conditions_beside(std::nullopt, ::getpid())->foreign, std::nullopt) << "the driver does not tell";
  EXPECT_EQ(conditions_beside({{process(::getpid())}}, ::getpid())->foreign, std::vector<GpuProcess>());
}

TEST(conditions, a_crowd_is_told_in_part) {
  std::vector<GpuProcess> crowd(kForeignProcessesMax + 1, process(1));
  crowd.push_back(process(::getpid()));
  EXPECT_EQ(conditions_beside(crowd, ::getpid())->foreign, std::vector<GpuProcess>(kForeignProcessesMax, process(1)));
}

TEST(conditions, reasons_of_the_clocks_have_words) {
  EXPECT_EQ(throttle_words(0), "none");
  EXPECT_EQ(throttle_words(0x4), "sw_power_cap");
  EXPECT_EQ(throttle_words(0x1 | 0x8 | 0x40 | 0x100), "gpu_idle,hw_slowdown,hw_thermal_slowdown,display_clock_setting");
  EXPECT_EQ(throttle_words(0x20 | 0x200), "sw_thermal_slowdown,0x200");
}

}  // namespace
}  // namespace kq::worker
