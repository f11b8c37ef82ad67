// kq-worker: takes jobs from a broker, builds and judges them in sandboxes, and sends back the verdicts.
//
// run() opens the lanes, tests their sandboxes, connects to the broker and works (loop.h). The first SIGTERM drains the
// worker; a second one or SIGINT returns its leases and ends it at once. SIGUSR1 drains the worker, however often the
// signal arrives: a batch system may send it beside a SIGTERM. A signal during the start ends the worker at once, with
// exit code 0, because it has no lease.
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
#include "gpu_worker/compile/build_slots.h"
#include "gpu_worker/compile/zygotes.h"
#include "gpu_worker/inventory.h"
#include "gpu_worker/lane/escape_check.h"
#include "gpu_worker/lane/profile.h"
#include "gpu_worker/lanes.h"
#include "gpu_worker/loop.h"
#include "gpu_worker/machine/host.h"
#include "gpu_worker/machine/scratch_root.h"
#include "gpu_worker/machine/worker_name.h"
#include "gpu_worker/wanted_devices.h"
#include "net/endpoint.h"
#include "net/log.h"
#include "net/zmq/link.h"
#include "sys/command_line.h"
#include "sys/cores.h"
#include "sys/descriptors.h"
#include "sys/process.h"
#include "sys/readiness.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

std::atomic<bool> drain = false;
std::atomic<bool> stop = false;
std::atomic<bool> sigterm_seen = false;
std::atomic<bool> is_starting = true;  // until the worker connects to its broker

void on_signal(int signal) {
  if (signal == SIGINT || (signal == SIGTERM && sigterm_seen)) stop = true;
  if (signal == SIGTERM) sigterm_seen = true;
  drain = true;
}

// Returns whether the worker is told to stop before it has anything to drain. A start that fails then is no fault.
bool is_start_given_up() {
  return is_starting && drain;
}

struct Flags {
  std::string broker = std::string(net::kDefaultBrokerUrl);
  std::string key;
  std::string name;
  std::string state;
  std::string profiles;
  std::string devices = "auto";
  std::uint32_t gpus_per_lane = 1;
  std::vector<std::string> labels;
  std::vector<std::string> compile_for;
  std::string log_level = "info";
  std::string log_format = "auto";
  std::uint32_t builds = 0;
  std::optional<std::uint32_t> children_ahead;
  std::uint32_t cache_gib = static_cast<std::uint32_t>(kCacheBytesMax >> 30);
  std::uint32_t idle_exit_s = 0;
  int ready_fd = -1;
  bool self_test = false;
  bool insecure = false;
  std::string bursts = "doubt";
  bool audits = true;
  bool headers_ahead = true;
};

// Returns $KQ_PYTHON, else the Python of the environment that scripts/setup made in the checkout above this program,
// else "python3".
std::string find_python(const std::string& programs) {
  if (const char* python = std::getenv("KQ_PYTHON"); python != nullptr && *python != '\0') return python;
  for (fs::path dir = programs; dir.has_relative_path(); dir = dir.parent_path()) {
    const fs::path python = dir / ".venv" / "bin" / "python";
    if (std::error_code error; fs::exists(python, error)) return python;
  }
  return "python3";
}

// Returns the labels as Hello has them: sorted and without duplicates.
Expected<std::vector<std::string>> labels_of(std::vector<std::string> labels) {
  for (const std::string& label : labels) {
    if (const auto reason = name_error(label)) return bad_input("--label '" + label + "' " + *reason);
  }
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  if (labels.size() > kLabelsMax) {
    return bad_input(std::to_string(labels.size()) + " times --label: a worker has at most " +
                     std::to_string(kLabelsMax));
  }
  return labels;
}

// Returns the targets of --compile-for: "cpu" or an architecture like "sm_90".
Expected<std::vector<DeviceInfo>> targets_of(const std::vector<std::string>& names) {
  std::vector<DeviceInfo> targets;
  for (const std::string& name : names) {
    DeviceInfo target;
    if (name != "cpu") {
      const bool is_arch = name.starts_with("sm_") && name.size() > 4 && name.size() < 8 &&
                           name.find_first_not_of("0123456789", 3) == std::string::npos;
      if (!is_arch) return bad_input("--compile-for '" + name + "' is neither cpu nor an architecture like sm_90");
      target.kind = DeviceKind::cuda;
      target.arch = name;
    }
    if (std::find(targets.begin(), targets.end(), target) == targets.end()) targets.push_back(std::move(target));
  }
  return targets;
}

std::string harness_of(const std::string& programs) {
  return programs + "/../share/kq/harness";
}

// The part of this worker's memory that decompressed device code may take, in all lanes together.
constexpr std::uint64_t kSharedCodePart = 12;

// A model for a large GPU may draw its parameters in the host's memory first, so children of GPU lanes get more memory
// on a large host.
Limits limits_for(DeviceKind device, std::size_t lanes) {
  constexpr std::uint64_t kChildrenPerMemory = 8;
  Limits limits;
  if (device == DeviceKind::cuda)
    limits.host_bytes_max = std::max(limits.host_bytes_max, usable_memory_bytes() / kChildrenPerMemory / lanes);
  return limits;
}

// Returns the name of this worker at the broker: --name, else the name of its key, else host and devices.
Expected<std::string> worker_name(const Flags& flags, const std::optional<net::ClientKey>& key) {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const std::string name = !flags.name.empty() ? flags.name
                                               : default_worker_name({.key = key ? key->who.name : "",
                                                                      .host = host,
                                                                      .devices = flags.devices,
                                                                      .compile_for = flags.compile_for});
  if (const auto reason = name_error(name)) return bad_input("--name '" + name + "' " + *reason);
  return name;
}

Expected<std::uint64_t> random_epoch() {
  std::uint64_t epoch = 0;
  if (::getrandom(&epoch, sizeof epoch, 0) != sizeof epoch) return our_fault("getrandom failed");
  return epoch;
}

// Returns the first user id of a lane, or 0 if this process cannot change users. Ordinary users end at 60000
// (login.defs), and ids from 61000 on are unused.
std::uint32_t slot_uid(std::size_t slot) {
  return ::geteuid() == 0 ? 61000 + static_cast<std::uint32_t>(slot) * kUidsPerLane : 0;
}

Expected<std::vector<LaneOptions>> lanes_of(const Flags& flags, const std::string& scratch, const std::string& name) {
  KQ_TRY_VALUE(const auto devices, wanted_devices(flags.devices, count_gpus()));
  KQ_TRY_VALUE(const auto wanted, lanes_of_devices(devices, flags.gpus_per_lane));
  const std::string programs = sys::program_directory();
  std::vector<LaneOptions> lanes;
  for (const LaneDevices& device : wanted) {
    const std::vector<int> cores = sys::cores_of_lane(lanes.size(), wanted.size());
    lanes.push_back(
        {.device = device.kind,
         .index = device.indices.front(),
         .further_indices = {device.indices.begin() + 1, device.indices.end()},
         .worker = name,
         .judge_program = programs + "/kq-judge",
         .cores = cores,
         .zygote = {.python = find_python(programs),
                    .harness = harness_of(programs),
                    .stub = programs + "/../lib/kq/libkqstub.so",
                    .device = device.kind,
                    .device_index = device.indices.front(),
                    .cores = cores,
                    .shared_code_bytes_max = usable_memory_bytes() / kSharedCodePart / wanted.size(),
                    .gives_up = is_start_given_up},
         .scratch = scratch + "/lane" + std::to_string(lanes.size()),
         .first_uid = slot_uid(lanes.size() + 1),
         .limits = limits_for(device.kind, wanted.size()),
         .bursts = *parse_enum<Bursts>(flags.bursts),
         .children_ahead = flags.children_ahead,
         .profiler = find_ncu(),
         .profiles = fs::absolute(flags.profiles.empty() ? (fs::path(scratch).parent_path() / "profiles").string()
                                                         : flags.profiles),
         .audits = flags.audits,
         .certificates = fs::path(scratch).parent_path() / "certificates",
         .driver_caches =
             device.kind == DeviceKind::cuda ? fs::path(scratch).parent_path() / "driver_caches" : fs::path(),
         .lock_dirs = gpu_lock_dirs()});
  }
  return lanes;
}

void log_lane(std::size_t number, const DeviceInfo& device) {
  const std::string devices = device.device_count == 1 ? "" : ", " + std::to_string(device.device_count) + " devices";
  spdlog::info("lane {}: {} {}{}", number, to_string(device.kind), device.model, devices);
}

Expected<Lanes> open_wanted_lanes(const Flags& flags, const std::string& scratch, const std::string& name) {
  KQ_TRY_VALUE(const auto wanted, lanes_of(flags, scratch, name));
  auto lanes = open_lanes(wanted);
  if (!lanes) return lanes;
  if (is_start_given_up()) return our_fault("the worker is told to stop while it opens its devices");
  for (std::size_t i = 0; i < lanes->open.size(); ++i) log_lane(i, lanes->open[i]->device());
  for (const std::string& reason : lanes->unopened) spdlog::error("{}; this worker goes on without it", reason);
  return lanes;
}

Expected<ScratchRoot> scratch_of(const Flags& flags) {
  return ScratchRoot::make(
      fs::absolute(flags.state.empty() ? default_state_directory() : flags.state).lexically_normal());
}

// Fails if jobs would run without a sandbox and --insecure-no-sandbox is not given.
Expected<void> check_sandbox(const std::string& layers, bool insecure) {
  if (!lacks_sandbox(layers)) return {};
  if (!insecure) {
    return our_fault(std::string(kNoSandbox));
  }
  spdlog::warn("no sandbox: jobs run as this user, with its files and its network");
  return {};
}

// Runs the sandbox self-test on each lane. A lane without a sandbox is left out, because the test would succeed in
// doing harm.
Expected<void> test_sandboxes(std::vector<std::unique_ptr<Lane>>& lanes, bool insecure) {
  for (const auto& lane : lanes) {
    KQ_TRY_VALUE(const auto zygote, lane->zygote());
    if (lacks_sandbox(zygote->sandbox())) continue;
    auto tested = test_sandbox(*lane, harness_of(sys::program_directory()));
    if (!tested && !insecure) return tested;
    if (!tested) spdlog::warn("{}", tested.error().message);
    if (!lane->audit_off_reason().empty())
      spdlog::warn("{}: there is no audit, so streams that submissions make are not detected by CUPTI: {}",
                   lane->device().model, lane->audit_off_reason());
  }
  return {};
}

Expected<void> test_itself(const Flags& flags) {
  KQ_TRY_VALUE(const auto scratch, scratch_of(flags));
  KQ_TRY_VALUE(const auto lanes, lanes_of(flags, scratch.dir(), "self-test"));
  const Inventory inventory = take_inventory(lanes);
  std::cout << to_json(inventory) << std::flush;
  if (auto reason = startup_failure(inventory, flags.insecure)) return our_fault(std::move(*reason));
  return {};
}

Expected<WorkerOptions> worker_options(const Flags& flags, const std::string& name) {
  KQ_TRY_VALUE(auto labels, labels_of(flags.labels));
  KQ_TRY_VALUE(auto targets, targets_of(flags.compile_for));
  KQ_TRY_VALUE(const auto epoch, random_epoch());
  return WorkerOptions{.name = name,
                       .epoch = epoch,
                       .devices = {},
                       .labels = std::move(labels),
                       .host = this_host(),
                       .builds_for = std::move(targets)};
}

std::uint64_t count_gpu_lanes(const std::vector<std::unique_ptr<Lane>>& lanes) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(lanes, [](const auto& lane) { return lane->device().kind == DeviceKind::cuda; }));
}

// Opens the lanes and tests their sandboxes. A worker that only builds gets a CPU lane for the test of the sandbox.
Expected<Lanes> tested_lanes(const Flags& flags, const std::string& scratch, const std::string& name) {
  Flags adjusted = flags;
  if (!flags.compile_for.empty()) {
    adjusted.devices = "cpu";
    adjusted.gpus_per_lane = 1;
    adjusted.children_ahead = 0;
  }
  auto lanes = open_wanted_lanes(adjusted, scratch, name);
  if (!lanes) return lanes;
  KQ_TRY_VALUE(const auto zygote, lanes->open.front()->zygote());
  KQ_TRY(check_sandbox(zygote->sandbox(), flags.insecure));
  KQ_TRY(test_sandboxes(lanes->open, flags.insecure));
  // The first job shall find the same state as every other job.
  for (const auto& lane : lanes->open) lane->wait_until_idle();
  return lanes;
}

Expected<void> run(const Flags& flags) {
  KQ_TRY_VALUE(const auto brokers, net::parse_broker_urls(flags.broker));
  KQ_TRY_VALUE(const auto key, net::read_key_for(net::Side::worker, flags.key));
  const auto root = scratch_of(flags);  // destroyed after everything below
  if (!root) return failure(root.error());
  const std::string scratch = root->dir();
  KQ_TRY_VALUE(const auto name, worker_name(flags, key));
  KQ_TRY_VALUE(auto worker, worker_options(flags, name));
  KQ_TRY_VALUE(auto tested, tested_lanes(flags, scratch, name));
  std::vector<std::unique_ptr<Lane>> lanes = std::move(tested.open);
  const bool only_builds = !flags.compile_for.empty();
  if (only_builds) lanes.clear();
  BuildZygotes zygotes({.python = find_python(sys::program_directory()),
                        .harness = harness_of(sys::program_directory()),
                        .stub = sys::program_directory() + "/../lib/kq/libkqstub.so",
                        .gives_up = is_start_given_up});
  // A device that could not be opened has its part of the processors all the same (sys::cores_of_lane).
  const BuildResources resources{.cores = sys::usable_cores(),
                                 .lanes = lanes.size() + (only_builds ? 0 : tested.unopened.size()),
                                 .gpu_lanes = flags.children_ahead == 0 ? 0 : count_gpu_lanes(lanes),
                                 .memory_bytes = usable_memory_bytes(),
                                 .build_bytes_max = bytes_of_build(BuilderOptions().host_bytes)};
  LoopOptions options{.worker = std::move(worker),
                      .broker_url = flags.broker,
                      .builder = {.scratch = scratch,
                                  .uid = slot_uid(lanes.size() + tested.unopened.size() + 1),
                                  .no_gpu_arch = "sm_90",
                                  .cores = cores_of_builds(resources, flags.builds),
                                  .alone_host_bytes = usable_memory_bytes() / 4 * 3,
                                  .header_host_bytes = header_host_bytes(usable_memory_bytes()),
                                  .headers_at_once = headers_at_once(sys::usable_cores(), usable_memory_bytes())},
                      .cache_dir = fs::path(scratch).parent_path() / "build-cache",
                      .cache_bytes_max = static_cast<std::uintmax_t>(flags.cache_gib) << 30,
                      .zygote = [&](DeviceKind kind) { return only_builds ? zygotes.get(kind) : zygote_of(lanes); },
                      .makes_headers_ahead = flags.headers_ahead,
                      .idle_exit_ms = std::int64_t{1'000} * flags.idle_exit_s};
  options.worker.build_slots = flags.builds > 0 ? flags.builds : build_slots(resources);
  if (flags.builds == 0) options.worker.build_slots_without_jobs = build_slots_without_jobs(resources);
  options.worker.unopened = std::move(tested.unopened);
  for (const auto& lane : lanes) options.worker.devices.push_back(lane->device());
  // All zygotes start before the worker reports that it is ready.
  for (const DeviceInfo& device : only_builds ? options.worker.builds_for : options.worker.devices) {
    KQ_TRY_VALUE(const auto zygote, options.zygote(device.kind));
    options.worker.backends = zygote->backends();
  }
  is_starting = false;  // from here on a signal drains the worker
  KQ_TRY_VALUE(auto broker, net::connect_brokers(brokers, net::Side::worker, key));
  if (const auto told = sys::report_ready(flags.ready_fd, "ready\n"); !told) spdlog::warn("{}", told.error().message);
  return work(*broker, lanes, options, drain, stop);
}

void add_broker_options(CLI::App& app, Flags& flags) {
  app.option_defaults()->group("Broker");
  app.add_option("--connect", flags.broker, "URL of the broker")
      ->type_name("URL")
      ->envname("KQ_BROKER")
      ->capture_default_str();
  app.add_option("--key", flags.key, "key file of this worker, if the broker requires one")
      ->type_name("FILE")
      ->envname("KQ_KEY");
  app.add_option("--name", flags.name,
                 "name of this worker at the broker, by which kq-ctl drains it; it should last over restarts (default: "
                 "the name of the key, else the host and --devices)")
      ->type_name("NAME")
      ->envname("KQ_WORKER_NAME");
  app.add_option("--label", flags.labels, "a label that jobs may require with kq-submit --require; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--idle-exit", flags.idle_exit_s, "end after this many seconds without a job or a build; 0: never")
      ->type_name("S")
      ->envname("KQ_IDLE_EXIT")
      ->check(CLI::Range(0, 31'536'000))
      ->capture_default_str();
}

void add_device_options(CLI::App& app, Flags& flags) {
  app.option_defaults()->group("Devices");
  app.add_option("--devices", flags.devices,
                 "auto, or a list of cpu, cuda, cuda:N, each once; a GPU of a host can have one worker")
      ->type_name("LIST")
      ->capture_default_str();
  app.add_option("--gpus-per-lane", flags.gpus_per_lane,
                 "GPUs that run one job together, for problems that need several; jobs for fewer use the first ones; "
                 "with a CPU, how many devices it counts as")
      ->type_name("N")
      ->envname("KQ_GPUS_PER_LANE")
      ->check(CLI::Range(1u, kDeviceCountMax))
      ->capture_default_str();
  app.add_option(
         "--children-ahead", flags.children_ahead,
         "Python processes that are forked and warmed up ahead of jobs on each device; 0: none (default: 6 on a "
         "GPU with 64 GiB, otherwise 3)")
      ->envname("KQ_CHILDREN_AHEAD")
      ->check(CLI::Range(0, 8));
  app.add_option("--bursts", flags.bursts,
                 "on a GPU, when calls below 20 us are also timed eight at a time, which takes 0.2 s; doubt: when a "
                 "job's own clock reports less than the judge's clock allows")
      ->check(CLI::IsMember({"never", "doubt", "always"}))
      ->capture_default_str()
      ->envname("KQ_BURSTS");
  app.add_flag_callback(
      "--no-audit", [&flags] { flags.audits = false; },
      "on a GPU, do not observe submissions with CUPTI, which detects streams that they make");
  app.add_flag("--insecure-no-sandbox", flags.insecure,
               "work even if jobs cannot be kept away from this user's files and network");
}

void add_build_options(CLI::App& app, Flags& flags) {
  app.option_defaults()->group("Builds and files");
  app.add_option("--compile-for", flags.compile_for,
                 "only build, for jobs that wait for such a device: cpu, or an architecture like sm_90; needs no GPU; "
                 "may be repeated")
      ->type_name("TARGET")
      ->allow_extra_args(false)
      ->excludes("--devices");
  app.add_option("--builds", flags.builds, "concurrent builds (default: by processors and memory)")
      ->check(CLI::Range(1, 256));
  app.add_flag("--headers-ahead,!--no-headers-ahead", flags.headers_ahead,
               "prepare torch's headers for load_inline while there is no work, once for each torch and compiler; "
               "takes a minute or two of two processors and a gigabyte of the build cache (default: yes)")
      ->envname("KQ_HEADERS_AHEAD");
  app.add_option("--cache-gib", flags.cache_gib, "limit of the build cache, in GiB")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--state", flags.state,
                 "directory for the build cache and scratch files (default: $XDG_STATE_HOME/kq/worker)")
      ->type_name("DIR");
  app.add_option("--profiles", flags.profiles,
                 "directory for the files of --profile ncu, by run and job (default: profiles in the state directory)")
      ->type_name("DIR");
}

void add_log_options(CLI::App& app, Flags& flags) {
  app.option_defaults()->group("Logs and checks");
  app.add_option("--log-format", flags.log_format, "auto: text on a terminal, else one JSON object per line")
      ->check(CLI::IsMember({"auto", "text", "json"}))
      ->capture_default_str();
  app.add_option("--log-level", flags.log_level, "what to log to standard error; warning is warn")
      ->check(CLI::IsMember({"debug", "info", "warn", "warning", "error", "off"}))
      ->capture_default_str();
  app.add_option("--ready-fd", flags.ready_fd, "write 'ready' to this descriptor once every device is open");
  app.add_flag("--self-test", flags.self_test,
               "open every device, start the processes that run jobs, print what was found as JSON, and end");
}

void add_options(CLI::App& app, Flags& flags) {
  app.set_version_flag("--version", std::string(kVersion));
  add_broker_options(app, flags);
  add_device_options(app, flags);
  add_build_options(app, flags);
  add_log_options(app, flags);
  app.footer(R"(
Examples:
  kq-worker --connect tcp://broker:5570 --key ~/.kq/w1.key
  kq-worker --devices cuda:1 --label big --name lab3-gpu1
  kq-worker --self-test)");
}

int run_program(int argc, char** argv) {
  Flags flags;
  CLI::App app("Takes jobs from a kq broker, builds and judges them in sandboxes, sends the verdicts back.",
               "kq-worker");
  add_options(app, flags);
  sys::prepare(app);
  try {
    app.parse(argc, argv);
    if (const auto empty = sys::empty_value_text(app, "--key")) {
      std::cerr << "kq-worker: " << *empty << '\n';
      return static_cast<int>(ExitCode::bad_input);
    }
  } catch (const CLI::CallForHelp&) {
    std::cout << sys::help_text(app);
    return 0;
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << '\n';
    return 0;
  } catch (const CLI::ParseError& error) {
    std::cerr << "kq-worker: " << sys::mistake_text(app, error) << '\n';
    return static_cast<int>(ExitCode::bad_input);
  }

  ::prctl(PR_SET_DUMPABLE, 0);  // a child of the same user must not read this process's memory
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGTERM, on_signal);
  ::signal(SIGINT, on_signal);
  ::signal(SIGUSR1, on_signal);
  net::start_log("kq-worker", *parse_enum<net::LogFormat>(flags.log_format), flags.log_level);
  const auto ran = flags.self_test ? test_itself(flags) : run(flags);
  if (ran) return 0;
  if (is_start_given_up() && !flags.self_test) {
    spdlog::info("the worker is stopped while it starts");
    return 0;
  }
  spdlog::error("{}", ran.error().message);
  return static_cast<int>(exit_code(ran.error().kind));
}

}  // namespace
}  // namespace kq::worker

int main(int argc, char** argv) {
  kq::sys::open_standard_descriptors();
  return kq::worker::run_program(argc, argv);
}
