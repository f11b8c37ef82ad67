// kq-worker: takes jobs from a broker, builds and judges them in sandboxes, sends the verdicts back.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "core/base/version.h"
#include "core/limits.h"
#include "gpu_worker/compile/zygotes.h"
#include "gpu_worker/inventory.h"
#include "gpu_worker/lane/escape_check.h"
#include "gpu_worker/lane/profile.h"
#include "gpu_worker/lanes.h"
#include "gpu_worker/loop.h"
#include "gpu_worker/machine/host.h"
#include "gpu_worker/machine/scratch_root.h"
#include "gpu_worker/wanted_devices.h"
#include "net/endpoint.h"
#include "net/log.h"
#include "net/zmq/link.h"
#include "sys/cores.h"
#include "sys/process.h"

namespace {

namespace fs = std::filesystem;
using kq::ExitCode;
using kq::Expected;

std::atomic<bool> drain = false;
std::atomic<bool> stop = false;

// The first SIGTERM drains, a second one or SIGINT returns the leases and leaves.
void on_signal(int signal) {
  if (signal == SIGINT || drain) stop = true;
  drain = true;
}

struct Flags {
  std::string broker = std::string(kq::net::kDefaultBrokerUrl);
  std::string key;
  std::string state;
  std::string profiles;
  std::string devices = "auto";
  std::vector<std::string> labels;
  std::vector<std::string> compile_for;
  std::string log_level = "info";
  std::string log_format = "auto";
  std::uint32_t builds = 0;
  std::uint32_t children_ahead = 2;
  std::uint32_t cache_gib = static_cast<std::uint32_t>(kq::worker::kCacheBytesMax >> 30);
  int ready_fd = -1;
  bool self_test = false;
  bool insecure = false;
  std::string bursts = "doubt";
  bool audits = true;
};

// KQ_PYTHON, else the environment that scripts/setup made in the checkout above this program, else python3.
std::string find_python(const std::string& programs) {
  if (const char* python = std::getenv("KQ_PYTHON"); python != nullptr && *python != '\0') return python;
  for (fs::path dir = programs; dir.has_relative_path(); dir = dir.parent_path()) {
    const fs::path python = dir / ".venv" / "bin" / "python";
    if (std::error_code error; fs::exists(python, error)) return python;
  }
  return "python3";
}

// As Hello lists them: sorted, each once.
Expected<std::vector<std::string>> labels_of(std::vector<std::string> labels) {
  for (const std::string& label : labels) {
    if (const auto wrong = kq::name_complaint(label)) return kq::bad_input("--label '" + label + "' " + *wrong);
  }
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  if (labels.size() > kq::kLabelsMax) {
    return kq::bad_input(std::to_string(labels.size()) + " times --label, a worker has at most " +
                         std::to_string(kq::kLabelsMax));
  }
  return labels;
}

// "cpu", or what a GPU reports: "sm_90".
Expected<std::vector<kq::DeviceInfo>> targets_of(const std::vector<std::string>& words) {
  std::vector<kq::DeviceInfo> targets;
  for (const std::string& word : words) {
    kq::DeviceInfo target;
    if (word != "cpu") {
      const bool is_arch = word.starts_with("sm_") && word.size() > 4 && word.size() < 8 &&
                           word.find_first_not_of("0123456789", 3) == std::string::npos;
      if (!is_arch) return kq::bad_input("--compile-for '" + word + "' is neither cpu nor an architecture like sm_90");
      target.kind = kq::DeviceKind::cuda;
      target.arch = word;
    }
    if (std::find(targets.begin(), targets.end(), target) == targets.end()) targets.push_back(std::move(target));
  }
  return targets;
}

std::string harness_of(const std::string& programs) {
  return programs + "/../share/kq/harness";
}

// A model whose parameters are drawn on the host and then moved to a large GPU needs as much memory here.
kq::Limits limits_for(kq::DeviceKind device, std::size_t lanes) {
  constexpr std::uint64_t kChildrenPerMemory = 8;
  kq::Limits limits;
  if (device == kq::DeviceKind::cuda)
    limits.host_bytes_max =
        std::max(limits.host_bytes_max, kq::worker::usable_memory_bytes() / kChildrenPerMemory / lanes);
  return limits;
}

// As many as there are cores that no lane needs, whose judge and child have one each, and memory for. A compiler of
// CUDA with all of torch takes up to 3 GiB.
std::uint32_t build_slots(const Flags& flags, std::size_t lanes) {
  constexpr std::uint64_t kBytesPerBuild = 3ull << 30;
  constexpr std::uint64_t kSlotsMax = 32;
  constexpr std::uint64_t kCoresPerLane = 2;
  if (flags.builds > 0) return flags.builds;
  const std::uint64_t cores = kq::sys::usable_cores();
  const std::uint64_t taken = kCoresPerLane * lanes;
  const std::uint64_t spare = cores > taken ? cores - taken : 1;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(std::min(spare, kq::worker::usable_memory_bytes() / 2 / kBytesPerBuild), 1, kSlotsMax));
}

std::string worker_name() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return std::string(host) + ":" + std::to_string(::getpid());
}

Expected<std::uint64_t> random_epoch() {
  std::uint64_t epoch = 0;
  if (::getrandom(&epoch, sizeof epoch, 0) != sizeof epoch) return kq::our_fault("getrandom failed");
  return epoch;
}

// Ordinary users' numbers end at 60000 (login.defs); 61000 upward belongs to nobody. Only root can take another uid.
std::uint32_t slot_uid(std::size_t slot) {
  return ::geteuid() == 0 ? 61000 + static_cast<std::uint32_t>(slot) * kq::worker::kUidsPerLane : 0;
}

Expected<std::vector<kq::worker::LaneOptions>> lanes_of(const Flags& flags, const std::string& scratch,
                                                        const std::string& name) {
  KQ_TRY_VALUE(const auto wanted, kq::worker::wanted_devices(flags.devices, kq::worker::count_gpus()));
  const std::string programs = kq::sys::program_directory();
  std::vector<kq::worker::LaneOptions> lanes;
  for (const kq::worker::DeviceId& device : wanted) {
    const std::vector<int> cores = kq::sys::cores_of_lane(lanes.size(), wanted.size());
    lanes.push_back(
        {.device = device.kind,
         .index = device.index,
         .worker = name,
         .judge_program = programs + "/kq-judge",
         .cores = cores,
         .zygote = {.python = find_python(programs),
                    .harness = harness_of(programs),
                    .stub = programs + "/../lib/libkqstub.so",
                    .device = device.kind,
                    .device_index = device.index,
                    .cores = cores},
         .scratch = scratch + "/lane" + std::to_string(lanes.size()),
         .first_uid = slot_uid(lanes.size() + 1),
         .limits = limits_for(device.kind, wanted.size()),
         .bursts = *kq::parse_enum<kq::Bursts>(flags.bursts),
         .children_ahead = flags.children_ahead,
         .profiler = kq::worker::find_ncu(),
         .profiles = fs::absolute(flags.profiles.empty() ? (fs::path(scratch).parent_path() / "profiles").string()
                                                         : flags.profiles),
         .audits = flags.audits,
         .lock_dirs = kq::worker::gpu_lock_dirs()});
  }
  return lanes;
}

Expected<kq::worker::Lanes> open_lanes(const Flags& flags, const std::string& scratch, const std::string& name) {
  KQ_TRY_VALUE(const auto wanted, lanes_of(flags, scratch, name));
  auto lanes = kq::worker::open_lanes(wanted);
  if (!lanes) return lanes;
  for (std::size_t i = 0; i < lanes->open.size(); ++i)
    spdlog::info("lane {}: {} {}", i, to_string(lanes->open[i]->device().kind), lanes->open[i]->device().model);
  for (const std::string& why : lanes->closed) spdlog::error("{}; this worker goes on without it", why);
  return lanes;
}

Expected<kq::worker::ScratchRoot> scratch_of(const Flags& flags) {
  return kq::worker::ScratchRoot::make(
      fs::absolute(flags.state.empty() ? kq::sys::default_worker_state() : flags.state).lexically_normal());
}

// What a job could do here, were it let in.
Expected<void> check_sandbox(const std::string& layers, bool insecure) {
  if (!kq::worker::is_without_sandbox(layers)) return {};
  if (!insecure) {
    return kq::our_fault(std::string(kq::worker::kNoSandbox));
  }
  spdlog::warn("no sandbox: jobs run as this user, with its files and its network");
  return {};
}

// What it tries is tried on this machine: not where nothing lies between.
Expected<void> test_sandboxes(std::vector<std::unique_ptr<kq::worker::Lane>>& lanes, bool insecure) {
  for (const auto& lane : lanes) {
    KQ_TRY_VALUE(const auto zygote, lane->zygote());
    if (kq::worker::is_without_sandbox(zygote->sandbox())) continue;
    auto held = kq::worker::test_sandbox(*lane, harness_of(kq::sys::program_directory()));
    if (!held && !insecure) return held;
    if (!held) spdlog::warn("{}", held.error().message);
    if (!lane->no_audit().empty())
      spdlog::warn("{}: no audit, so streams that submissions make are not named: {}", lane->device().model,
                   lane->no_audit());
  }
  return {};
}

Expected<void> test_itself(const Flags& flags) {
  KQ_TRY_VALUE(const auto scratch, scratch_of(flags));
  KQ_TRY_VALUE(const auto lanes, lanes_of(flags, scratch.dir(), worker_name()));
  const kq::worker::Inventory inventory = kq::worker::take_inventory(lanes);
  std::cout << kq::worker::to_json(inventory) << std::flush;
  if (auto why = kq::worker::complaint_of(inventory, flags.insecure)) return kq::our_fault(std::move(*why));
  return {};
}

Expected<kq::worker::WorkerOptions> worker_options(const Flags& flags, const std::string& name) {
  KQ_TRY_VALUE(auto labels, labels_of(flags.labels));
  KQ_TRY_VALUE(auto targets, targets_of(flags.compile_for));
  KQ_TRY_VALUE(const auto epoch, random_epoch());
  return kq::worker::WorkerOptions{.name = name,
                                   .epoch = epoch,
                                   .devices = {},
                                   .labels = std::move(labels),
                                   .host = kq::worker::this_host(),
                                   .builds_for = std::move(targets)};
}

void say_ready(int fd) {
  if (fd < 0) return;
  constexpr std::string_view kReady = "ready\n";
  if (::write(fd, kReady.data(), kReady.size()) < 0) spdlog::warn("nobody listens on --ready-fd");
  ::close(fd);
}

// Where only builds run, their sandbox is tested all the same: on a lane of the CPU, which then goes.
Expected<kq::worker::Lanes> tested_lanes(const Flags& flags, const std::string& scratch, const std::string& name) {
  Flags own = flags;
  if (!flags.compile_for.empty()) {
    own.devices = "cpu";
    own.children_ahead = 0;
  }
  auto lanes = open_lanes(own, scratch, name);
  if (!lanes) return lanes;
  KQ_TRY_VALUE(const auto zygote, lanes->open.front()->zygote());
  KQ_TRY(check_sandbox(zygote->sandbox(), flags.insecure));
  KQ_TRY(test_sandboxes(lanes->open, flags.insecure));
  // The first job finds what every other one finds.
  for (const auto& lane : lanes->open) lane->settle();
  return lanes;
}

Expected<void> run(const Flags& flags) {
  KQ_TRY_VALUE(const auto endpoints, kq::net::parse_broker_url(flags.broker));
  KQ_TRY_VALUE(const auto key, kq::net::read_key_for(kq::net::Side::worker, flags.key));
  const auto root = scratch_of(flags);  // first, as it goes last
  if (!root) return kq::failure(root.error());
  const std::string scratch = root->dir();
  const std::string name = worker_name();
  KQ_TRY_VALUE(auto worker, worker_options(flags, name));
  KQ_TRY_VALUE(auto tested, tested_lanes(flags, scratch, name));
  std::vector<std::unique_ptr<kq::worker::Lane>> lanes = std::move(tested.open);
  const bool only_builds = !flags.compile_for.empty();
  if (only_builds) lanes.clear();
  kq::worker::BuildZygotes zygotes({.python = find_python(kq::sys::program_directory()),
                                    .harness = harness_of(kq::sys::program_directory()),
                                    .stub = kq::sys::program_directory() + "/../lib/libkqstub.so"});
  kq::worker::LoopOptions options{
      .worker = std::move(worker),
      .builder = {.scratch = scratch, .uid = slot_uid(lanes.size() + tested.closed.size() + 1), .no_gpu_arch = "sm_90"},
      .cache_dir = fs::path(scratch).parent_path() / "build-cache",
      .cache_bytes_max = static_cast<std::uintmax_t>(flags.cache_gib) << 30,
      .zygote = [&](kq::DeviceKind kind) { return only_builds ? zygotes.get(kind) : kq::worker::zygote_of(lanes); }};
  options.worker.build_slots = build_slots(flags, lanes.size());
  options.worker.closed = std::move(tested.closed);
  for (const auto& lane : lanes) options.worker.devices.push_back(lane->device());
  // Each of a worker that only builds starts before it says that it is ready.
  for (const kq::DeviceInfo& device : only_builds ? options.worker.builds_for : options.worker.devices) {
    KQ_TRY_VALUE(const auto zygote, options.zygote(device.kind));
    options.worker.backends = zygote->backends();
  }
  KQ_TRY_VALUE(auto broker, kq::net::connect_client(endpoints.worker, key));
  say_ready(flags.ready_fd);
  return kq::worker::work(*broker, lanes, options, drain, stop);
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Takes jobs from a kq broker, builds and judges them in sandboxes, sends the verdicts back.",
               "kq-worker");
  app.set_version_flag("--version", std::string(kq::kVersion));
  app.add_option("--connect", flags.broker, "broker URL (KQ_BROKER)")->envname("KQ_BROKER")->capture_default_str();
  app.add_option("--key", flags.key, "this worker's key file, where the broker wants one (KQ_KEY)")->envname("KQ_KEY");
  app.add_option("--state", flags.state,
                 "directory for the build cache and scratch files (default: XDG_STATE_HOME/kq/worker)");
  app.add_option(
      "--profiles", flags.profiles,
      "directory for what --profile ncu of a job leaves, by run and job (default: profiles in the state directory)");
  app.add_option("--devices", flags.devices,
                 "auto, or a list of cpu, cuda, cuda:N, each once; a GPU has one worker on a host")
      ->capture_default_str();
  app.add_option("--compile-for", flags.compile_for,
                 "only build, for jobs that wait for such a device: cpu, or an architecture like sm_90; takes no GPU; "
                 "may be repeated")
      ->allow_extra_args(false)
      ->excludes("--devices");
  app.add_option("--builds", flags.builds, "builds at once (default: by cores and memory)")->check(CLI::Range(1, 256));
  app.add_option("--children-ahead", flags.children_ahead,
                 "processes for jobs to come that wait on each device, warm; 0: each is forked when it is wanted")
      ->envname("KQ_CHILDREN_AHEAD")
      ->check(CLI::Range(0, 4))
      ->capture_default_str();
  app.add_option("--cache-gib", flags.cache_gib, "most that the build cache holds, in GiB")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--label", flags.labels, "what jobs may ask for with kq-submit --require; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--log-format", flags.log_format,
                 "auto, text or json; auto: text on a terminal, else a JSON object a line")
      ->check(CLI::IsMember({"auto", "text", "json"}))
      ->capture_default_str();
  app.add_option("--log-level", flags.log_level, "debug, info, warn, error, off")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  app.add_option("--ready-fd", flags.ready_fd, "write 'ready' to this descriptor once every device is open");
  app.add_flag("--self-test", flags.self_test,
               "open every device, start what runs jobs, print what was found as JSON, and end");
  app.add_option("--bursts", flags.bursts,
                 "on a GPU, when calls below 20 us are also timed eight at a time, which takes 0.2 s: in doubt is "
                 "where a job's own clock says less than the judge's can agree with")
      ->check(CLI::IsMember({"never", "doubt", "always"}))
      ->capture_default_str()
      ->envname("KQ_BURSTS");
  app.add_flag_callback(
      "--no-audit", [&flags] { flags.audits = false; },
      "on a GPU, do not listen by CUPTI to what submissions do, which names streams of their own");
  app.add_flag("--insecure-no-sandbox", flags.insecure,
               "work even where nothing can be put between jobs and this user's files");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::bad_input);
  }

  ::prctl(PR_SET_DUMPABLE, 0);  // a child of the same user must not read this process
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGTERM, on_signal);
  ::signal(SIGINT, on_signal);
  kq::net::start_log("kq-worker", *kq::parse_enum<kq::net::LogFormat>(flags.log_format), flags.log_level);
  const auto ran = flags.self_test ? test_itself(flags) : run(flags);
  if (ran) return 0;
  spdlog::error("{}", ran.error().message);
  return static_cast<int>(kq::exit_code(ran.error().kind));
}
