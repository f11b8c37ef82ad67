// kq-judge: evaluates plans on one device. The worker's control process starts it. It serves the control process on
// descriptor 3 until that socket closes.
//
//   kq-judge --device cpu|cuda --index N [--cores LIST]
//
// Exit codes: 0 the control process is gone, 2 bad usage, 3 the device failed or the control process broke the
// protocol, 5 no such device exists.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/base/version.h"
#include "gpu_worker/judge/attempt.h"
#include "gpu_worker/judge/control.h"
#include "gpu_worker/judge/device/cpu_device.h"
#include "gpu_worker/judge/device/cuda_device.h"
#include "sys/cores.h"

namespace kq::judge {
namespace {

constexpr int kControlSocket = 3;
// Judge and child each take one core while they spin; the rest of the worker needs the others.
constexpr unsigned kSpinningCoresMin = 4;
constexpr unsigned kBriefSpinCoresMin = 2;
constexpr unsigned long kTimerSlackNs = 1'000;

struct Options {
  DeviceKind device = DeviceKind::cpu;
  int index = 0;
  std::vector<int> cores = {};  // the cores to run on; empty for all
};

std::optional<Options> parse(int argc, char** argv) {
  const bool has_cores = argc == 7 && std::string_view(argv[5]) == "--cores";
  if ((argc != 5 && !has_cores) || std::string_view(argv[1]) != "--device" || std::string_view(argv[3]) != "--index")
    return std::nullopt;
  const auto device = parse_enum<DeviceKind>(argv[2]);
  const std::string_view index = argv[4];
  Options options;
  const auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), options.index);
  if (!device || error != std::errc() || end != index.data() + index.size() || options.index < 0) return std::nullopt;
  options.device = *device;
  const std::string_view cores = has_cores ? argv[6] : "";
  options.cores = sys::parse_core_list(cores);
  if (options.cores.empty() && !cores.empty()) return std::nullopt;
  return options;
}

// Children run as the same user: they must not be able to read this process, for example by ptrace. The kernel kills
// this process when the control process dies.
void harden() {
  ::prctl(PR_SET_DUMPABLE, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGPIPE, SIG_IGN);
}

Expected<std::unique_ptr<Device>> open_device(const Options& options) {
  return options.device == DeviceKind::cuda ? open_cuda_device(options.index) : open_cpu_device();
}

WaitMode wait_mode_for(const Device& device) {
  const std::uint32_t cores = sys::usable_cores();
  if (device.info().kind == DeviceKind::cuda) return cores >= kSpinningCoresMin ? WaitMode::spin : WaitMode::sleep;
  return cores >= kBriefSpinCoresMin ? WaitMode::spin_briefly : WaitMode::sleep;
}

Sampling sampling_for(const Device& device) {
  return device.info().kind == DeviceKind::cpu ? Sampling::alike : Sampling::sparse;
}

std::uint64_t draw() {
  std::uint64_t bits = 0;
  KQ_CHECK(::getrandom(&bits, sizeof bits, 0) == sizeof bits);
  return bits;
}

int report_failure(const Error& error) {
  std::fprintf(stderr, "kq-judge: %s\n", error.message.c_str());
  return static_cast<int>(exit_code(error.kind));
}

int serve(Device& device, Control& control) {
  Judge judge(device, control, wait_mode_for(device), draw, sampling_for(device));
  if (!control.send_reply(JudgeReady{device.info()})) return 0;
  for (;;) {
    auto packet = control.next_plan();
    if (!packet) return packet.error().kind == ErrorKind::not_found ? 0 : report_failure(packet.error());
    const Report report = judge.run(packet->plan, std::move(packet->channels));
    if (!control.send_reply(report)) return 0;
    // A broken CUDA context never recovers. The control process starts another judge.
    if (const auto alive = device.check_context(); !alive) return report_failure(alive.error());
    judge.make_ahead(packet->plan);
  }
}

constexpr const char* kUsage =
    "usage: kq-judge --device cpu|cuda --index N [--cores LIST], with the control socket at descriptor 3";

int run(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--help" || first == "--version") {
    if (first == "--help")
      std::printf("kq-judge measures and checks the calls of submissions. kq-worker starts it.\n\n%s\n", kUsage);
    else
      std::printf("kq-judge %s\n", std::string(kVersion).c_str());
    return static_cast<int>(ExitCode::ok);
  }
  const auto options = parse(argc, argv);
  if (!options) return report_failure({ErrorKind::bad_input, kUsage});
  harden();
  // The judge pauses for 20 us and more while it looks at stopped children; by default the kernel adds 50 us to each.
  ::prctl(PR_SET_TIMERSLACK, kTimerSlackNs);
  sys::pin_to_cores(options->cores);
  const auto device = open_device(*options);
  if (!device) return report_failure(device.error());
  Control control(kControlSocket, **device);
  return serve(**device, control);
}

}  // namespace
}  // namespace kq::judge

int main(int argc, char** argv) {
  return kq::judge::run(argc, argv);
}
