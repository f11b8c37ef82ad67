// kq-judge: evaluates plans on one device. Started by the worker's control process, which it serves on descriptor 3
// until that closes.
//
//   kq-judge --device cpu|cuda --index N
//
// Exit codes: 0 control is gone, 2 usage, 3 the device broke or control sent nonsense, 5 there is no such device here.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "core/base/check.h"
#include "gpu_worker/judge/attempt.h"
#include "gpu_worker/judge/control.h"
#include "gpu_worker/judge/device/cpu_device.h"
#include "gpu_worker/judge/device/cuda_device.h"
#include "sys/cores.h"

namespace kq::judge {
namespace {

constexpr int kControlSocket = 3;
constexpr unsigned kSpinningCoresMin = 4;  // one for the judge, one for the child, and the rest of the worker goes on

struct Options {
  DeviceKind device = DeviceKind::cpu;
  int index = 0;
  std::vector<int> cores = {};  // that it keeps to; none: all of them
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

// A child of the same user must not look into this process, and it must not outlive control.
void harden() {
  ::prctl(PR_SET_DUMPABLE, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGPIPE, SIG_IGN);
}

Expected<std::unique_ptr<Device>> open_device(const Options& options) {
  return options.device == DeviceKind::cuda ? open_cuda_device(options.index) : open_cpu_device();
}

Waiting waiting_for(const Device& device) {
  const bool has_cores = sys::usable_cores() >= kSpinningCoresMin;
  return device.info().kind == DeviceKind::cuda && has_cores ? Waiting::spin : Waiting::sleep;
}

std::uint64_t draw() {
  std::uint64_t bits = 0;
  KQ_CHECK(::getrandom(&bits, sizeof bits, 0) == sizeof bits);
  return bits;
}

int end_with(const Error& error) {
  std::fprintf(stderr, "kq-judge: %s\n", error.message.c_str());
  return static_cast<int>(exit_code(error.kind));
}

int serve(Device& device, Control& control) {
  Judge judge(device, control, waiting_for(device), draw);
  if (!control.say(JudgeReady{device.info()})) return 0;
  for (;;) {
    auto packet = control.next_plan();
    if (!packet) return packet.error().kind == ErrorKind::not_found ? 0 : end_with(packet.error());
    const Report report = judge.run(packet->plan, std::move(packet->channels));
    if (!control.say(report)) return 0;
    // A context that has died answers nothing any more: control starts another judge.
    if (const auto alive = device.probe().and_then([&] { return device.settle(); }); !alive)
      return end_with(alive.error());
    judge.make_ahead(packet->plan);
  }
}

int run(int argc, char** argv) {
  const auto options = parse(argc, argv);
  if (!options)
    return end_with(
        {ErrorKind::bad_input,
         "usage: kq-judge --device cpu|cuda --index N [--cores LIST], with the control socket at descriptor 3"});
  harden();
  sys::pin_to_cores(options->cores);
  const auto device = open_device(*options);
  if (!device) return end_with(device.error());
  Control control(kControlSocket, **device);
  return serve(**device, control);
}

}  // namespace
}  // namespace kq::judge

int main(int argc, char** argv) {
  return kq::judge::run(argc, argv);
}
