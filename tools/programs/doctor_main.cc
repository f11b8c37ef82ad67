// kq-doctor: prints what of kq works on this machine, and what to do about the rest.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <utility>

#include "producer/client/standard_output.h"
#include "sys/error_text.h"
#include "tools/cli/flags.h"
#include "tools/cli/text.h"
#include "tools/doctor/cuda_finder.h"
#include "tools/doctor/doctor.h"
#include "tools/doctor/remedies.h"
#include "tools/stack/stack.h"
#include "tools/stack/stop_signals.h"

namespace {

using kq::Expected;

const std::string kProgram = "kq-doctor";
constexpr std::size_t kSelfTestBytesMax = 1u << 20;

// Runs kq-worker --self-test and returns the JSON that the worker prints, or an Error. Waits until the worker has
// ended, which includes the import of torch.
Expected<kq::producer::Json> run_self_test(const std::string& devices) {
  std::array<std::string, 6> words{
      kq::tools::program_folder() + "/kq-worker", "--self-test", "--log-level", "off", "--devices", devices};
  std::array<char*, 7> argv{};
  for (std::size_t i = 0; i < words.size(); ++i) argv[i] = words[i].data();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return kq::our_fault(kq::sys::error_text("cannot make a pipe"));
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string output;
  for (char bytes[4096]; error == 0 && output.size() < kSelfTestBytesMax;) {
    const ssize_t n = ::read(ends[0], bytes, sizeof bytes);
    if (n <= 0) break;
    output.append(bytes, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  if (error != 0) return kq::our_fault(words[0] + " cannot be started: " + kq::sys::error_text(error));
  ::waitpid(pid, nullptr, 0);
  auto json = kq::producer::parse_json(output);
  if (!json) return kq::our_fault("kq-worker --self-test printed no JSON");
  return json;
}

kq::tools::Finding nvrtc_finding() {
  const auto found = kq::tools::find_nvrtc(kq::tools::process_environment);
  if (found)
    return {.what = "NVRTC",
            .found = std::to_string(found->major) + "." + std::to_string(found->minor) + ", " + found->path,
            .advice = ""};
  return {.what = "NVRTC",
          .health = kq::tools::Health::weak,
          .found = found.error().message,
          .advice = "cuda submissions need NVRTC: install the CUDA toolkit, or name its folder in KQ_CUDA"};
}

// Returns the free space of the file system of the default state folder, which has the queue and the builds.
kq::tools::Finding disk_finding() {
  constexpr std::uintmax_t kEnoughBytes = 20ull << 30;
  const auto state = kq::tools::default_state_folder(kq::tools::process_environment);
  std::filesystem::path place = state ? *state : "/";
  std::error_code error;
  while (!std::filesystem::exists(place, error) && place.has_relative_path()) place = place.parent_path();
  const auto space = std::filesystem::space(place, error);
  const bool is_known = !error;
  const bool is_enough = is_known && space.available >= kEnoughBytes;
  return {.what = "disk",
          .health = is_enough ? kq::tools::Health::good : kq::tools::Health::weak,
          .found = is_known ? kq::tools::bytes_text(space.available) + " free for " + (state ? *state : "/")
                            : place.string() + ": " + error.message(),
          .advice = is_enough ? "" : "the build cache alone may take 16 GiB: free some space, or set XDG_STATE_HOME"};
}

int run(int argc, char** argv) {
  std::string devices = "auto";
  bool json = false;
  kq::tools::Flags flags(
      kProgram,
      "Lists the devices, sandbox layers and compilers that a worker would have on this machine, with advice for those "
      "that are missing. The exit code is 0 when a worker would run all jobs, 1 when some jobs could not run or would "
      "be less isolated, 3 when a worker would not start.");
  flags.choice("--devices", "devices that the worker would offer (default: auto)", devices, {"auto", "cpu", "cuda"});
  flags.json("print one JSON object", json);
  if (const auto code = flags.parse(argc, argv)) return static_cast<int>(*code);

  const std::string folder = kq::tools::program_folder();
  const auto installation = kq::tools::installation_of(folder);
  std::vector<kq::tools::Finding> findings = kq::tools::missing_programs(folder);
  if (kq::tools::worst(findings) == kq::tools::Health::good) {
    const auto self_test = run_self_test(devices);
    if (!self_test) return kq::tools::report_error(kProgram, self_test.error());
    for (auto& finding : kq::tools::findings_of(*self_test, kq::tools::torch_remedy(installation)))
      findings.push_back(std::move(finding));
  }
  findings.push_back(nvrtc_finding());
  findings.push_back(kq::tools::program_finding(
      "C++ compiler", "g++", kq::tools::process_environment("PATH"),
      "triton and inline C++ need a C++ compiler: " + kq::tools::compiler_remedy(installation)));
  findings.push_back(kq::tools::program_finding(
      "nvcc", "nvcc", kq::tools::process_environment("PATH") + ":/usr/local/cuda/bin",
      "CUDA in load_inline, and contracts with compiler nvcc, need nvcc: install the CUDA toolkit"));
  findings.push_back(disk_finding());
  std::cout << (json ? kq::tools::doctor_json(findings) : kq::tools::doctor_text(findings)) << std::flush;
  switch (kq::tools::worst(findings)) {
    case kq::tools::Health::good:
      return static_cast<int>(kq::ExitCode::ok);
    case kq::tools::Health::weak:
      return 1;
    case kq::tools::Health::bad:
      break;
  }
  return static_cast<int>(kq::ExitCode::our_fault);
}

}  // namespace

int main(int argc, char** argv) {
  kq::tools::end_on_closed_output();
  kq::producer::StandardOutput output(kProgram);
  return output.end(run(argc, argv));
}
