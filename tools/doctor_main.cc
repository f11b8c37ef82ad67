// kq-doctor: what works here, and what to do about the rest.
#include <cstdio>
#include <iostream>

#include "tools/cuda_finder.h"
#include "tools/doctor.h"
#include "tools/flags.h"
#include "tools/stack.h"
#include "tools/stop_signals.h"

namespace {

using kq::Expected;

const std::string kProgram = "kq-doctor";
constexpr std::size_t kSaidBytesMax = 1u << 20;

// The last line that kq-worker --self-test wrote, or why there is none. It waits as long as torch takes to be imported.
Expected<kq::Json> asked(const std::string& devices) {
  const std::string command = "'" + kq::own_folder() + "/kq-worker' --self-test --log-level off --devices " + devices;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return kq::our_fault("kq-worker cannot be started");
  std::string said;
  for (char bytes[4096]; said.size() < kSaidBytesMax;) {
    const std::size_t n = std::fread(bytes, 1, sizeof bytes, pipe);
    if (n == 0) break;
    said.append(bytes, n);
  }
  ::pclose(pipe);
  auto json = kq::parse_json(said);
  if (!json) return kq::our_fault("kq-worker --self-test gave no answer");
  return json;
}

kq::Finding nvrtc_finding() {
  const auto found = kq::find_nvrtc(kq::process_environment);
  if (found) return {.what = "NVRTC", .found = std::to_string(found->major) + "." + std::to_string(found->minor) + ", " + found->path, .advice = ""};
  return {.what = "NVRTC", .health = kq::Health::weak, .found = found.error().message, .advice = "cuda submissions need it: install the CUDA toolkit, or name it in KQ_CUDA"};
}

}  // namespace

int main(int argc, char** argv) {
  kq::end_quietly_when_nobody_reads();
  std::string devices = "auto";
  bool json = false;
  kq::Flags flags(kProgram,
                  "Tells which devices, layers of the sandbox and compilers a worker would have on this machine, and what to do about the others. "
                  "Exit code 0: a worker would run; 1: some of its jobs could not, or would be less well kept apart; 3: it would not start.");
  flags.choice("--devices", "what the worker would offer (default: auto)", devices, {"auto", "cpu", "cuda"});
  flags.flag("--json", "one JSON object", json);
  if (const auto code = flags.parse(argc, argv)) return static_cast<int>(*code);

  const auto self_test = asked(devices);
  if (!self_test) return kq::complain(kProgram, self_test.error());
  std::vector<kq::Finding> findings = findings_of(*self_test);
  findings.push_back(nvrtc_finding());
  findings.push_back(kq::program_finding("C++ compiler", "g++", kq::process_environment("PATH"), "triton and inline C++ need it: install g++"));
  std::cout << (json ? doctor_json(findings) : doctor_text(findings)) << std::flush;
  switch (worst(findings)) {
    case kq::Health::good:
      return static_cast<int>(kq::ExitCode::ok);
    case kq::Health::weak:
      return 1;
    case kq::Health::bad:
      return static_cast<int>(kq::ExitCode::our_fault);
  }
}
