#include "gpu_worker/machine/gpu_watch.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deque>

#include <gtest/gtest.h>

namespace kq::worker {
namespace {

// The answers of a ScriptedWatch. The last element of `unowned` is repeated.
struct Script {
  std::deque<std::optional<std::uint64_t>> unowned{0};
  std::vector<std::uint64_t> errors;
  std::optional<std::vector<GpuProcess>> processes;
};
class ScriptedWatch : public GpuWatch {
 public:
  explicit ScriptedWatch(std::shared_ptr<Script> script) : script_(std::move(script)) {}
  std::optional<std::uint64_t> unowned_bytes() override {
    const auto now = script_->unowned.front();
    if (script_->unowned.size() > 1) script_->unowned.pop_front();
    return now;
  }
  std::vector<std::uint64_t> errors() override { return std::exchange(script_->errors, {}); }
  Conditions conditions() override { return {.sm_clock_mhz = 1'980, .throttle = "none"}; }
  std::optional<std::vector<GpuProcess>> processes() override { return script_->processes; }

 private:
  std::shared_ptr<Script> script_;
};

constexpr std::uint64_t kGiB = 1ull << 30;

TEST(DeviceHealth, without_a_watch_there_are_no_errors) {
  EXPECT_EQ(DeviceHealth(nullptr).unreturned_memory(0), std::nullopt);
}

TEST(DeviceHealth, memory_that_is_freed_in_time_is_no_error) {
  const auto script =
      std::make_shared<Script>(Script{.unowned = {kGiB, 3 * kGiB, 2 * kGiB, kGiB + 1}, .errors = {}, .processes = {}});
  DeviceHealth device(std::make_unique<ScriptedWatch>(script));
  EXPECT_EQ(device.unreturned_memory(5'000), std::nullopt);
}

TEST(DeviceHealth, memory_that_is_not_freed_is_an_error) {
  const auto script = std::make_shared<Script>(Script{.unowned = {kGiB, 3 * kGiB}, .errors = {}, .processes = {}});
  DeviceHealth device(std::make_unique<ScriptedWatch>(script));
  EXPECT_EQ(device.unreturned_memory(0), "2048 MiB of its memory were not freed within 0 s");
}

TEST(DeviceHealth, memory_is_not_checked_if_the_driver_does_not_report_it_by_process) {
  const auto script =
      std::make_shared<Script>(Script{.unowned = {std::nullopt, 3 * kGiB}, .errors = {}, .processes = {}});
  DeviceHealth device(std::make_unique<ScriptedWatch>(script));
  EXPECT_EQ(device.unreturned_memory(0), std::nullopt);
}

TEST(DeviceHealth, errors_that_end_with_their_program_are_ignored) {
  const auto script = std::make_shared<Script>();
  script->errors = {79};  // from before this object was made
  DeviceHealth device(std::make_unique<ScriptedWatch>(script));
  script->errors = {31, 43};
  EXPECT_EQ(device.driver_error(), std::nullopt);
  script->errors = {31, 79};
  EXPECT_EQ(device.driver_error(), "the driver reports Xid 79");
  EXPECT_EQ(device.driver_error(), std::nullopt);
}

GpuProcess process(int pid, std::uint64_t memory_mib = 0) {
  return {static_cast<std::uint32_t>(pid), memory_mib};
}

// Returns the conditions of a device with these processes, for a worker with this judge.
std::optional<Conditions> conditions_beside(std::optional<std::vector<GpuProcess>> processes, int judge) {
  const auto script = std::make_shared<Script>(Script{.unowned = {0}, .errors = {}, .processes = std::move(processes)});
  return DeviceHealth(std::make_unique<ScriptedWatch>(script)).conditions(judge);
}

int start_waiting_child() {
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

TEST(conditions, without_a_watch_there_are_none) {
  EXPECT_EQ(DeviceHealth(nullptr).conditions(::getpid()), std::nullopt);
}

TEST(conditions, a_process_that_is_not_our_descendant_is_foreign) {
  const int judge = start_waiting_child();
  const int other = start_waiting_child();
  const int ended = start_waiting_child();
  end(ended);
  const Conditions expected{.sm_clock_mhz = 1'980, .throttle = "none", .foreign = {{process(1, 512)}}};
  EXPECT_EQ(conditions_beside({{process(judge), process(1, 512), process(other), process(ended), process(::getpid())}},
                              judge),
            expected);
  end(judge);
  end(other);
}

TEST(conditions, process_ids_of_another_namespace_are_ignored) {
  EXPECT_EQ(conditions_beside({{process(1)}}, ::getpid())->foreign, std::nullopt) << "the list does not have the judge";
  EXPECT_EQ(conditions_beside({{process(1)}}, 0)->foreign, std::nullopt) << "the judge has ended";
  EXPECT_EQ(conditions_beside(std::nullopt, ::getpid())->foreign, std::nullopt)
      << "the driver does not report processes";
  EXPECT_EQ(conditions_beside({{process(::getpid())}}, ::getpid())->foreign, std::vector<GpuProcess>());
}

TEST(conditions, the_list_of_foreign_processes_is_cut) {
  std::vector<GpuProcess> crowd(kForeignProcessesMax + 1, process(1));
  crowd.push_back(process(::getpid()));
  EXPECT_EQ(conditions_beside(crowd, ::getpid())->foreign, std::vector<GpuProcess>(kForeignProcessesMax, process(1)));
}

TEST(conditions, throttle_reasons_have_names) {
  EXPECT_EQ(throttle_names(0), "none");
  EXPECT_EQ(throttle_names(0x4), "sw_power_cap");
  EXPECT_EQ(throttle_names(0x1 | 0x8 | 0x40 | 0x100), "gpu_idle,hw_slowdown,hw_thermal_slowdown,display_clock_setting");
  EXPECT_EQ(throttle_names(0x20 | 0x200), "sw_thermal_slowdown,0x200");
}

}  // namespace
}  // namespace kq::worker
