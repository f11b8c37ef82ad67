// Tests of the judge on a real GPU: windows that processes share, the timed interval, and faults of a child's CUDA
// context.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_worker/judge/attempt.h"
#include "gpu_worker/judge/device/clock.h"
#include "gpu_worker/judge/timing/timed_interval.h"
#include "gpu_worker/judge/trial/outputs.h"
#include "tests/gpu/device_test.h"
#include "tests/gpu/gpu_child.h"
#include "tests/gpu/write_to_device.h"

namespace kq::judge {
namespace {

using channel::Command;

constexpr std::int64_t kLimitMs = 20'000;
constexpr std::uint64_t kMiB = 1ull << 20;

// A child process that runs this program with a CUDA context of its own.
class ChildProcess : public Exits {
 public:
  ChildProcess() {
    auto ends = std::move(*sys::packet_pair());
    pid_ = ::fork();
    if (pid_ == 0) {
      // dup2 onto itself would keep close-on-exec.
      if (ends.second.get() == 3 ? ::fcntl(3, F_SETFD, 0) != 0 : ::dup2(ends.second.get(), 3) != 3) ::_exit(99);
      ::execl("/proc/self/exe", "judge_gpu_test", "--as-child", nullptr);
      ::_exit(98);
    }
    socket_ = std::move(ends.first);
  }
  ~ChildProcess() override { kill(); }

  void kill() {
    if (pid_ > 0 && !status_) {
      ::kill(pid_, SIGKILL);
      int status = 0;
      ::waitpid(pid_, &status, 0);
      status_ = status;
    }
  }
  sys::Fd take_socket() { return std::move(socket_); }

  Expected<std::optional<int>> exit_of(ChildRole, std::int64_t timeout_ms) override {
    int status = 0;
    for (std::int64_t waited_ms = 0; !status_; ++waited_ms) {
      if (::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
      if (status_ || waited_ms >= timeout_ms) break;
      ::usleep(1'000);
    }
    return status_;
  }

 private:
  pid_t pid_ = 0;
  sys::Fd socket_;
  std::optional<int> status_;
};

class JudgeGpuTest : public DeviceTest {
 protected:
  bool alive() { return device_->check_context().has_value(); }

  std::unique_ptr<Child> start(ChildProcess& process) {
    auto child = Child::start(process.take_socket(), ChildRole::submission, process, WaitMode::spin);
    return child ? std::move(*child) : nullptr;
  }

  // Makes a zeroed window and maps it into the child. Returns null on failure.
  std::unique_ptr<Memory> attach(Child& child, const Layout& layout) {
    auto window = std::move(*device_->make_window(layout.bytes()));
    if (!window || !device_->fill(*window, 0, layout.bytes(), 0)) return nullptr;
    child.write_inputs(layout.tables.inputs);
    child.write_outputs(layout.tables.outputs);
    child.send_window(*window);
    const auto attached = child.command({.command = Command::attach, .limit_ms = kLimitMs});
    const auto* answered = attached ? std::get_if<Answered>(&*attached) : nullptr;
    return answered != nullptr && answered->ok ? std::move(window) : nullptr;
  }

  // Returns the timed interval of one call or null call, or -1 where the child did not answer.
  std::int64_t interval_ns(Child& child, Command command, std::uint64_t seed) {
    const CommandRequest request{.command = command, .limit_ms = kLimitMs, .seed = seed};
    const auto staged = stage(child, request);
    const auto outcome = staged ? time_command(*device_, child, request, {}) : staged;
    const auto* answered = outcome ? std::get_if<Answered>(&*outcome) : nullptr;
    return answered != nullptr && answered->ok ? answered->interval_ns : -1;
  }
  std::vector<std::int64_t> intervals_ns(Child& child, Command command, std::uint64_t seed, int n) {
    std::vector<std::int64_t> all;
    for (int i = 0; i < n; ++i) all.push_back(interval_ns(child, command, seed));
    std::sort(all.begin(), all.end());
    return all;
  }
};

double us(std::int64_t ns) {
  return static_cast<double>(ns) / 1e3;
}

void print(const char* what, const std::vector<std::int64_t>& sorted) {
  const std::size_t n = sorted.size();
  std::printf("    %-28s p50 %8.1f us   p5-p95 %8.1f - %8.1f us\n", what, us(sorted[n / 2]), us(sorted[n / 20]),
              us(sorted[n - 1 - n / 20]));
}

TEST_F(JudgeGpuTest, describes_the_device) {
  const DeviceInfo& info = device_->info();
  std::printf("    %s, %s, %s, %.1f GiB\n", info.model.c_str(), info.uuid.c_str(), info.arch.c_str(),
              static_cast<double>(info.memory_bytes) / static_cast<double>(1ull << 30));
  EXPECT_EQ(info.kind, DeviceKind::cuda);
  EXPECT_FALSE(info.model.empty());
  EXPECT_EQ(info.uuid.size(), 40u);
  EXPECT_EQ(info.uuid.substr(0, 4), "GPU-");
  EXPECT_EQ(info.arch.substr(0, 3), "sm_");
  EXPECT_GT(info.memory_bytes, 1ull << 30);
  const double floor_ns = device_->write_floor_ns(1ull << 30);
  std::printf("    a GiB is not written in less than %.1f us\n", floor_ns / 1e3);
  EXPECT_GT(floor_ns, 0);
}

TEST_F(JudgeGpuTest, an_index_beyond_the_last_device_is_an_error) {
  EXPECT_EQ(open_cuda_device(4096).error().kind, ErrorKind::not_found);
}

TEST_F(JudgeGpuTest, windows_are_whole_granules) {
  const auto small = std::move(*device_->make_window(1));
  ASSERT_TRUE(small);
  std::printf("    granularity %.1f MiB\n", static_cast<double>(small->bytes()) / static_cast<double>(kMiB));
  EXPECT_EQ(small->bytes() % 65'536, 0u);
  const auto larger = std::move(*device_->make_window(small->bytes() + 1));
  EXPECT_EQ(larger->bytes(), 2 * small->bytes());
  EXPECT_GE(larger->fd(), 0);
}

TEST_F(JudgeGpuTest, fills_copies_and_reads) {
  const auto window = std::move(*device_->make_window(4 * kMiB));
  const auto buffer = std::move(*device_->make_private(4 * kMiB));
  ASSERT_TRUE(device_->fill(*window, 0, window->bytes(), 0));
  ASSERT_TRUE(device_->fill(*window, 512, 8, 0x01020304));
  ASSERT_TRUE(device_->copy(*buffer, 4, *window, 508, 16));
  std::array<std::uint32_t, 4> words{};
  ASSERT_TRUE(device_->read(std::as_writable_bytes(std::span(words)), *buffer, 4));
  EXPECT_EQ(words, (std::array<std::uint32_t, 4>{0, 0x01020304, 0x01020304, 0}));
  EXPECT_TRUE(alive());
}

TEST_F(JudgeGpuTest, a_lack_of_room_is_no_error) {
  const std::uint64_t beyond = device_->info().memory_bytes * 4;
  const auto window = device_->make_window(beyond);
  ASSERT_TRUE(window) << window.error().message;
  EXPECT_EQ(*window, nullptr);
  const auto buffer = device_->make_private(beyond);
  ASSERT_TRUE(buffer) << buffer.error().message;
  EXPECT_EQ(*buffer, nullptr);
  EXPECT_TRUE(alive());
}

TEST_F(JudgeGpuTest, memory_comes_back_when_windows_go_away) {
  const std::uint64_t half = device_->info().memory_bytes / 2;
  for (int i = 0; i < 6; ++i) {
    const auto window = device_->make_window(half);
    ASSERT_TRUE(window) << window.error().message;
    ASSERT_TRUE(*window) << "at window " << i;
  }
}

TEST_F(JudgeGpuTest, a_child_reads_and_writes_its_window) {
  const Tensor words{
      .name = "x", .kind = channel::Kind::tensor, .dtype = channel::Dtype::int32, .shape = {1024}, .bytes = 4096};
  const Layout layout = make_layout({.inputs = {words}, .outputs = {words}});
  ChildProcess process;
  const auto child = start(process);
  const auto window = attach(*child, layout);
  ASSERT_TRUE(window);
  ASSERT_TRUE(device_->fill(*window, layout.tables.inputs[0].offset, 4096, 0x0BADCAFE));
  ASSERT_GE(interval_ns(*child, Command::call, act_seed(GpuAct::copy, 0)), 0);
  MemoryChecks checks(*device_);
  EXPECT_EQ(*checks.difference(0x0BADCAFE, {*window, layout.tables.outputs[0].offset}, 4096), std::nullopt);
  EXPECT_EQ(*checks.difference(0, {*window, layout.tables.outputs[0].offset + 4096}, 256), std::nullopt);
}

// The steadiest of three rounds counts, because the host may be busy for a moment.
TEST_F(JudgeGpuTest, the_overhead_is_steady) {
  ChildProcess process;
  const auto child = start(process);
  double least = 1;
  for (int round = 0; round < 3 && least >= 0.2; ++round) {
    const auto null_calls = intervals_ns(*child, Command::null_call, 0, 200);
    ASSERT_GE(null_calls.front(), 0);
    print("null call", null_calls);
    least = std::min(least, us(null_calls[190] - null_calls[10]) / us(null_calls[100]));
  }
  EXPECT_LT(least, 0.2) << "the spread is a fifth of the overhead itself";
}

TEST_F(JudgeGpuTest, samples_are_the_time_of_the_kernel) {
  ChildProcess process;
  const auto child = start(process);
  const std::int64_t overhead_ns = intervals_ns(*child, Command::null_call, 0, kNullCalls)[kNullCalls / 2];
  for (const std::uint32_t spin_ns : {20'000u, 100'000u, 300'000u, 1'000'000u, 10'000'000u}) {
    const auto calls = intervals_ns(*child, Command::call, act_seed(GpuAct::spin, spin_ns), 40);
    ASSERT_GE(calls.front(), 0);
    std::printf("    spin %9.1f us: sample %9.1f us\n", us(spin_ns),
                us(sample_ns(calls[20], static_cast<double>(overhead_ns))));
    // The kernel's own clock is coarse, and a call longer than a time slice is cut and resumed.
    EXPECT_NEAR(us(sample_ns(calls[20], static_cast<double>(overhead_ns))), us(spin_ns), 15 + us(spin_ns) * 0.15);
  }
}

TEST_F(JudgeGpuTest, reporting_done_early_gains_nothing) {
  ChildProcess process;
  const auto child = start(process);
  for (const std::uint32_t spin_ns : {20'000u, 100'000u, 300'000u, 1'000'000u}) {
    const auto honest = intervals_ns(*child, Command::call, act_seed(GpuAct::spin, spin_ns), 40);
    const auto early = intervals_ns(*child, Command::call, act_seed(GpuAct::spin_early, spin_ns), 40);
    ASSERT_GE(honest.front(), 0);
    ASSERT_GE(early.front(), 0);
    std::printf("    spin %9.1f us: honest %9.1f us, early %9.1f us\n", us(spin_ns), us(honest[20]), us(early[20]));
    // An early child saves the wait for its own synchronisation, 9 to 16 us on an H200, but no part of the kernel.
    EXPECT_GT(us(early[20]), us(honest[20]) * 0.99 - 20);
  }
}

// A model with many operations launches slowly like this: the spin keeps the device until all are launched, without a
// gap.
TEST_F(JudgeGpuTest, the_time_of_launching_is_not_measured) {
  constexpr std::uint32_t kSpinNs = 100'000;
  ChildProcess process;
  const auto child = start(process);
  const auto at_once = intervals_ns(*child, Command::call, act_seed(GpuAct::spin, kSpinNs), 40);
  ASSERT_GE(at_once.front(), 0);
  std::vector<std::int64_t> slowly, gaps;
  for (int i = 0; i < 40; ++i) {
    slowly.push_back(interval_ns(*child, Command::call, act_seed(GpuAct::slowly, kSpinNs)));
    gaps.push_back(device_->occupancy_gap_ns());
  }
  std::ranges::sort(slowly);
  std::ranges::sort(gaps);
  ASSERT_GE(slowly.front(), 0);
  print("launched at once", at_once);
  print("launched 0.8 ms later", slowly);
  print("gap of these", gaps);
  EXPECT_NEAR(us(slowly[20]), us(at_once[20]), 20);
  EXPECT_LT(us(gaps[20]), 100);
}

// The child reports a call as done at once and launches its kernel later, after the probe. The outputs of that kernel
// must not be copied.
TEST_F(JudgeGpuTest, outputs_of_work_after_the_probe_are_not_copied) {
  const Tensor words{
      .name = "x", .kind = channel::Kind::tensor, .dtype = channel::Dtype::int32, .shape = {1024}, .bytes = 4096};
  const Layout layout = make_layout({.inputs = {words}, .outputs = {words}});
  ChildProcess process;
  const auto child = start(process);
  const auto window = attach(*child, layout);
  ASSERT_TRUE(window);
  const auto taken = std::move(*device_->make_private(layout.outputs.bytes()));
  const std::uint64_t output = layout.tables.outputs[0].offset;
  MemoryChecks checks(*device_);
  std::int64_t quiet_ns = 0;
  for (int i = 0; i < kNullCalls; ++i) {
    ASSERT_GE(interval_ns(*child, Command::null_call, 0), 0);
    quiet_ns = std::max(quiet_ns, device_->occupancy_gap_ns());
  }
  for (const std::uint32_t delay_us : {0u, 100u, 150u, 200u, 250u, 300u, 400u}) {
    for (int i = 0; i < 10; ++i) {
      const CommandRequest request{
          .command = Command::call, .limit_ms = kLimitMs, .seed = act_seed(GpuAct::late, delay_us * 1'000)};
      ASSERT_TRUE(stage(*child, request));
      const auto outcome =
          time_command(*device_, *child, request,
                       {.prepare = [&] { return device_->fill(*window, output, 4096, 0x7FC07FC0); },
                        .take = [&](const Answered& answered) -> Expected<void> {
                          ::usleep(500);  // the judge may be slow here
                          return take_outputs(*device_, layout, {.window = *window}, answered.tables.outputs, *taken);
                        }});
      ASSERT_TRUE(outcome && std::holds_alternative<Answered>(*outcome));
      const auto* answered = std::get_if<Answered>(&*outcome);
      const auto untouched = checks.difference(0x7FC07FC0, {*taken, output - layout.outputs.begin}, 4);
      ASSERT_TRUE(untouched);
      if (*untouched) {
        // The kernel ran before the probe, so the interval includes it or the trial is void.
        EXPECT_TRUE(us(answered->interval_ns) > delay_us || device_->occupancy_gap_ns() > quiet_ns + kForeignGapNs)
            << delay_us << " us: interval " << us(answered->interval_ns) << " us, gap "
            << us(device_->occupancy_gap_ns()) << " us";
      }
    }
  }
}

// Compares the gaps of null calls with those of calls that leave a kernel of 30 ms behind.
TEST_F(JudgeGpuTest, work_before_a_call_is_detected) {
  ChildProcess process;
  const auto child = start(process);
  std::vector<std::int64_t> quiet, busy;
  for (int i = 0; i < 100; ++i) {
    ASSERT_GE(interval_ns(*child, Command::null_call, 0), 0);
    quiet.push_back(device_->occupancy_gap_ns());
  }
  for (int i = 0; i < 40; ++i) {
    ASSERT_GE(interval_ns(*child, Command::call, act_seed(GpuAct::leave, 30'000'000)), 0);
    busy.push_back(device_->occupancy_gap_ns());
  }
  std::ranges::sort(quiet);
  print("gap, quiet", quiet);
  const auto seen = std::ranges::count_if(busy, [&](std::int64_t ns) { return ns > quiet.back() + kForeignGapNs; });
  std::ranges::sort(busy);
  print("gap, kernels left", busy);
  std::printf("    %td of 40 seen; quiet at most %.1f us\n", seen, us(quiet.back()));
  EXPECT_GE(seen, kVoidTrialsMax * 4);
}

// Changes every element of a floating-point tensor, either in its last bit or by more than the tolerance.
void nudge(channel::Dtype dtype, std::span<std::byte> bytes, bool is_beyond) {
  using channel::Dtype;
  const bool is_half = dtype == Dtype::float16 || dtype == Dtype::bfloat16 || dtype == Dtype::complex32;
  const bool is_eight = channel::element_bytes(dtype) == 1;
  const bool is_double = dtype == Dtype::float64 || dtype == Dtype::complex128;
  const std::size_t width = is_eight ? 1 : is_half ? 2 : is_double ? 8 : 4;
  const std::size_t bit = !is_beyond                 ? 0
                          : is_eight                 ? 1
                          : is_double                ? 30
                          : dtype == Dtype::bfloat16 ? 3
                          : is_half                  ? 5
                                                     : 12;
  for (std::size_t at = 0; at < bytes.size(); at += width) bytes[at + bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
}

// Compares random tensors of every dtype: equal ones, slightly wrong ones and wrong ones, of sizes that are no multiple
// of a block.
TEST_F(JudgeGpuTest, device_and_host_find_the_same_differences) {
  using channel::Dtype;
  constexpr std::uint64_t kElements = 100'003;
  std::mt19937_64 random(3);
  const auto a = std::move(*device_->make_window(kElements * 16));
  const auto b = std::move(*device_->make_window(kElements * 16));
  const auto beside = std::move(*device_->make_window((kElements + 1) * 16));  // b, moved by one element
  for (const Dtype dtype :
       {Dtype::float64, Dtype::float32, Dtype::float16, Dtype::bfloat16, Dtype::complex64, Dtype::complex128,
        Dtype::int64, Dtype::int32, Dtype::int16, Dtype::uint8, Dtype::boolean, Dtype::float8_e4m3fn,
        Dtype::float8_e5m2, Dtype::float8_e8m0fnu, Dtype::uint16, Dtype::uint64, Dtype::complex32}) {
    const std::uint64_t bytes = kElements * channel::element_bytes(dtype);
    const Tolerance tolerance = tolerance_for(dtype, {}, {});
    for (int round = 0; round < 6; ++round) {
      std::vector<std::byte> host(bytes);
      for (std::byte& byte : host) byte = static_cast<std::byte>(dtype == Dtype::boolean ? random() % 2 : random());
      write_to_device(*a, host);
      // 0: equal; 1: the last bit of one byte in the middle; 2: the last byte; 3: one at random; 4 and 5: small errors
      // everywhere
      if (round == 1) host[bytes / 2] ^= std::byte{1};
      if (round == 2) host[bytes - 1] ^= std::byte{64};
      if (round == 3) host[random() % bytes] ^= std::byte{16};
      if (round >= 4 && tolerance.rtol > 0) nudge(dtype, host, round == 5);
      write_to_device(*b, host);
      Comparison by_host(dtype, tolerance);
      std::vector<std::byte> expected(bytes), got(bytes);
      ASSERT_TRUE(device_->read(expected, *a, 0) && device_->read(got, *b, 0));
      by_host.add(expected, got);
      const std::uint64_t one = channel::element_bytes(dtype);
      ASSERT_TRUE(device_->copy(*beside, one, *b, 0, bytes));
      for (const auto& [other, offset] : {std::pair(b.get(), std::uint64_t{0}), std::pair(beside.get(), one)}) {
        const DeviceComparison numbers{.expected = a.get(),
                                       .got = other,
                                       .got_offset = offset,
                                       .bytes = bytes,
                                       .dtype = dtype,
                                       .tolerance = tolerance};
        const DeviceComparison plain{.expected = a.get(), .got = other, .got_offset = offset, .bytes = bytes};
        const auto by_device = device_->compare(std::vector{numbers, plain});
        ASSERT_TRUE(by_device) << by_device.error().message;
        ASSERT_EQ(by_device->size(), 2u);
        const std::optional<Agreement>& agreed = by_device->front();
        // The device compares powers of two by their bytes only; the host then looks at what differs.
        const bool is_by_bytes = dtype == channel::Dtype::float8_e8m0fnu;
        EXPECT_EQ(agreed.has_value(), is_by_bytes ? expected == got : by_host.equal())
            << "dtype " << static_cast<int>(dtype) << " round " << round << " at " << offset;
        EXPECT_EQ(by_device->back().has_value(), expected == got);
        if (!agreed) continue;
        EXPECT_NEAR(agreed->max_abs_err, by_host.max_abs_err(), 1e-6 * by_host.max_abs_err());
        EXPECT_NEAR(agreed->max_rel_err, by_host.max_rel_err(), 1e-6 * by_host.max_rel_err());
      }
    }
  }
}

TEST_F(JudgeGpuTest, a_byte_that_differs_from_a_word_is_found_anywhere) {
  constexpr std::uint64_t kBytes = 4 * kMiB;
  constexpr std::uint32_t kWord = 0xA1B2C3D4;
  const auto window = std::move(*device_->make_window(kBytes));
  ASSERT_TRUE(device_->fill(*window, 0, kBytes, kWord));
  const auto holds = [&](std::uint64_t offset, std::uint64_t bytes) {
    const DeviceComparison look{.got = window.get(), .got_offset = offset, .bytes = bytes, .word = kWord};
    return device_->compare({&look, 1})->front().has_value();
  };
  for (const std::uint64_t offset : {0, 1, 2, 3, 517})
    EXPECT_TRUE(holds(offset, 1'000) && holds(offset, kBytes - offset)) << offset;
  ASSERT_TRUE(device_->fill(*window, 12'344, 4, 0xA1B2D4D4));  // the second byte of one word differs
  EXPECT_FALSE(holds(0, kBytes));
  EXPECT_FALSE(holds(12'345, 1));
  EXPECT_TRUE(holds(0, 12'345) && holds(12'346, kBytes - 12'346));
}

TEST_F(JudgeGpuTest, the_judge_survives_a_fault_of_a_child) {
  const auto window = std::move(*device_->make_window(kMiB));
  ASSERT_TRUE(device_->fill(*window, 0, kMiB, 7));
  ChildProcess process;
  const auto child = start(process);
  EXPECT_EQ(interval_ns(*child, Command::call, act_seed(GpuAct::fault, 0)), -1);
  process.kill();
  EXPECT_TRUE(alive());
  MemoryChecks checks(*device_);
  EXPECT_EQ(*checks.difference(7, {*window, 0}, kMiB), std::nullopt);
}

TEST_F(JudgeGpuTest, the_judge_survives_a_child_that_hangs_on_the_gpu) {
  ChildProcess process;
  const auto child = start(process);
  ASSERT_GE(interval_ns(*child, Command::null_call, 0), 0);
  const auto outcome =
      child->command({.command = Command::call, .limit_ms = 300, .seed = act_seed(GpuAct::spin, 4'000'000'000u)});
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(std::holds_alternative<TimedOut>(*outcome));
  const std::int64_t start_ns = clock_ns();
  process.kill();
  EXPECT_TRUE(alive());
  std::printf("    killed and probed in %.1f ms\n", us(clock_ns() - start_ns) / 1e3);
}

TEST_F(JudgeGpuTest, comparing_memory_is_fast_enough) {
  constexpr std::uint64_t kBytes = 256 * kMiB;
  const auto window = std::move(*device_->make_window(kBytes));
  const auto buffer = std::move(*device_->make_private(kBytes));
  auto timed = [](const char* what, const auto& work) {
    const std::int64_t start_ns = clock_ns();
    work();
    const double seconds = static_cast<double>(clock_ns() - start_ns) / 1e9;
    std::printf("    %-28s %8.1f GB/s\n", what, static_cast<double>(kBytes) / seconds / 1e9);
  };
  MemoryChecks checks(*device_);
  timed("fill", [&] { EXPECT_TRUE(device_->fill(*window, 0, kBytes, 0x3F800000)); });
  timed("copy", [&] { EXPECT_TRUE(device_->copy(*buffer, 0, *window, 0, kBytes)); });
  timed("find a difference", [&] { EXPECT_EQ(*checks.difference({*buffer, 0}, {*window, 0}, kBytes), std::nullopt); });
  Comparison comparison(channel::Dtype::float32, tolerance_for(channel::Dtype::float32, {}, {}));
  timed("compare float32", [&] { EXPECT_TRUE(checks.compare(comparison, {*buffer, 0}, {*window, 0}, kBytes)); });
  EXPECT_TRUE(comparison.equal());
  ASSERT_TRUE(device_->fill(*buffer, 0, kBytes, 0x40000000));
  timed("measure wrong float32", [&] { EXPECT_TRUE(checks.compare(comparison, {*buffer, 0}, {*window, 0}, kBytes)); });
  EXPECT_FALSE(comparison.equal());
  const DeviceComparison numbers{.expected = buffer.get(),
                                 .got = window.get(),
                                 .bytes = kBytes / 2,
                                 .dtype = channel::Dtype::float32,
                                 .tolerance = comparison.tolerance()};
  const DeviceTruth truth{.memory = buffer.get(), .dtype = channel::Dtype::float64};
  timed("measure half by the truth", [&] { EXPECT_TRUE(*device_->measure_by_truth(truth, numbers)); });
}

// Measures the work of the judge in a trial besides its two timed intervals, for inputs and outputs of one size.
TEST_F(JudgeGpuTest, the_time_of_the_judges_own_work_in_a_trial) {
  for (const std::uint64_t bytes : {kMiB / 16, 4 * kMiB, 64 * kMiB}) {
    const auto window = std::move(*device_->make_window(2 * bytes));
    const auto input_copy = std::move(*device_->make_private(bytes));
    const auto expected = std::move(*device_->make_private(bytes));
    const auto snapshot = std::move(*device_->make_private(bytes));
    for (const Memory* memory : {window.get(), input_copy.get(), expected.get(), snapshot.get()}) {
      ASSERT_TRUE(device_->fill(*memory, 0, memory->bytes() / 4 * 4, 0x3F800000));
    }
    MemoryChecks checks(*device_);
    std::vector<std::int64_t> times_ns;
    for (int i = 0; i < 50; ++i) {
      const std::int64_t start_ns = clock_ns();
      ASSERT_TRUE(device_->copy(*input_copy, 0, *window, 0, bytes));                       // the reference's inputs
      ASSERT_TRUE(device_->copy(*expected, 0, *window, bytes, bytes));                     // and outputs
      ASSERT_EQ(*checks.difference({*input_copy, 0}, {*window, 0}, bytes), std::nullopt);  // what it has changed
      ASSERT_TRUE(device_->fill(*window, bytes, bytes, 0x3F800000));                       // poison
      ASSERT_TRUE(device_->copy(*window, 0, *input_copy, 0, bytes));                       // the submission's inputs
      ASSERT_TRUE(device_->copy(*snapshot, 0, *window, bytes, bytes));                     // its outputs
      Comparison comparison(channel::Dtype::float32, tolerance_for(channel::Dtype::float32, {}, {}));
      ASSERT_TRUE(checks.compare(comparison, {*expected, 0}, {*snapshot, 0}, bytes));
      ASSERT_EQ(*checks.difference({*input_copy, 0}, {*window, 0}, bytes), std::nullopt);  // untouched inputs
      times_ns.push_back(clock_ns() - start_ns);
    }
    std::ranges::sort(times_ns);
    print((std::to_string(bytes >> 10) + " KiB in and out").c_str(), times_ns);
  }
}

}  // namespace
}  // namespace kq::judge

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--as-child") return kq::judge::run_gpu_child();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
