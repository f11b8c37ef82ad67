// kq-up: runs a broker, a worker and perhaps a gateway on this machine, in the foreground, or with -d in the background
// until kq-down.
//
// With -d the program forks twice, so that the process that stays has no terminal. That process starts the stack and
// reports through a pipe, in one line, the URL of the broker or the error. The first process prints the report and
// ends.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <limits>
#include <string>

#include "core/limits.h"
#include "net/endpoint.h"
#include "producer/client/sentences.h"
#include "producer/client/standard_output.h"
#include "sys/error_text.h"
#include "tools/cli/flags.h"
#include "tools/stack/evaluation.h"
#include "tools/stack/stack.h"
#include "tools/stack/stop_signals.h"

namespace {

using kq::Error;
using kq::ErrorKind;
using kq::ExitCode;
using kq::Expected;
using kq::tools::report_error;

const std::string kProgram = "kq-up";
constexpr std::int64_t kCheckIntervalMs = 200;

struct Options {
  std::string state;
  std::string url = std::string(kq::net::kDefaultBrokerUrl);
  std::string devices = "auto";
  std::uint32_t gpus_per_lane = 0;  // 0: as the worker decides
  std::uint32_t metrics_port = 0;   // 0: none
  std::string keys;
  std::string key;
  std::string gateway;
  std::string gateway_tokens;
  std::string gateway_operators;
  std::string gateway_key;
  std::string popcorn;
  bool detach = false;
};

// Called once the stack is up, with the URL of its broker. Returns false when the process that waits for the URL has
// ended; the stack is then stopped.
using Announce =
    std::function<bool(const std::string& url, const std::string& gateway_url, const kq::tools::StateFolder& folder)>;

// Runs the stack until a stop signal arrives and returns the exit code. Errors are passed to `report`.
ExitCode run(const Options& options, const Announce& announce, const std::function<void(const Error&)>& report) {
  kq::tools::StopSignals signals;
  bool stopping = false;
  const auto sleep = [&](std::int64_t ms) { return stopping = signals.take(ms).has_value() || stopping; };
  Expected<std::unique_ptr<kq::tools::Stack>> stack =
      kq::tools::Stack::start({.state_folder = options.state,
                               .broker_url = options.url,
                               .key_folder = options.keys,
                               .worker_key = options.key,
                               .devices = options.devices,
                               .gpus_per_lane = options.gpus_per_lane,
                               .metrics_port = options.metrics_port,
                               .gateway = options.gateway,
                               .gateway_tokens = options.gateway_tokens,
                               .gateway_operators = options.gateway_operators,
                               .gateway_key = options.gateway_key,
                               .gateway_popcorn = options.popcorn,
                               .programs = kq::tools::program_folder()},
                              sleep);
  if (stack && options.keys.empty()) {
    // A kq sweep that was killed could not resume the submitters that waited for it.
    kq::tools::resume_submitters((*stack)->broker_url(), (*stack)->left_paused());
    (*stack)->record_paused({});
  }
  Expected<void> started = stack ? (*stack)->start_worker(sleep) : kq::failure(stack.error());
  if (started) started = (*stack)->start_gateway(sleep);
  if (!started) {
    report(started.error());
    return kq::exit_code(started.error().kind);
  }
  ExitCode code = ExitCode::ok;
  kq::tools::record_last_up((*stack)->folder().path(), kq::tools::process_environment);
  if (announce((*stack)->broker_url(), (*stack)->gateway_url(), (*stack)->folder())) {
    while (!sleep(kCheckIntervalMs)) {
      const auto note = (*stack)->restart_ended();
      if (!note) {
        report(note.error());
        code = kq::exit_code(note.error().kind);
        break;
      }
      if (*note) std::cerr << kProgram << ": " << **note << std::endl;
    }
  }
  (*stack)->stop([&](std::int64_t ms) { return signals.take(ms).has_value(); });
  return code;
}

int run_in_foreground(const Options& options) {
  const auto announce = [&](const std::string& url, const std::string& gateway_url,
                            const kq::tools::StateFolder& folder) {
    std::cout << url << std::endl;
    std::cerr << kProgram << ": broker and worker run in " << folder.path() << "; Ctrl-C stops them" << std::endl;
    if (!gateway_url.empty()) std::cerr << kProgram << ": gateway at " << gateway_url << std::endl;
    return true;
  };
  return static_cast<int>(run(options, announce, [](const Error& error) { report_error(kProgram, error); }));
}

// Redirects standard output and standard error of the detached process to up.log in the state folder.
void redirect_to_log(const kq::tools::StateFolder& folder) {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int log = ::open(folder.file("up.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(log < 0 ? nothing : log, STDOUT_FILENO);
  ::dup2(log < 0 ? nothing : log, STDERR_FILENO);
}

// Runs the stack in the detached process. Writes one line to the pipe `report_fd`: "url URL [URL of the gateway]" once
// the stack is up, or "CODE sentence" when it cannot be started.
int run_detached(const Options& options, int report_fd) {
  const auto say = [&](const std::string& text) { return ::write(report_fd, text.data(), text.size()) > 0; };
  const auto announce = [&](const std::string& url, const std::string& gateway_url,
                            const kq::tools::StateFolder& folder) {
    redirect_to_log(folder);
    const bool is_read = say("url " + url + (gateway_url.empty() ? "" : " " + gateway_url));
    ::close(report_fd);
    return is_read;
  };
  bool started = false;
  const auto announced = [&](const std::string& url, const std::string& gateway_url,
                             const kq::tools::StateFolder& folder) {
    return started = announce(url, gateway_url, folder);
  };
  return static_cast<int>(run(options, announced, [&](const Error& error) {
    if (started)
      report_error(kProgram, error);
    else
      say(std::to_string(static_cast<int>(exit_code(error.kind))) + " " + error.message);
  }));
}

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

// Starts the detached process and prints its report. The second fork makes sure that the detached process leads no
// session and can never get a terminal.
int detach(const Options& options) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return report_error(kProgram, {ErrorKind::our_fault, kq::sys::error_text("cannot make a pipe")});
  const pid_t middle = ::fork();
  if (middle < 0) return report_error(kProgram, {ErrorKind::our_fault, kq::sys::error_text("cannot fork")});
  if (middle == 0) {
    ::close(ends[0]);
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    return run_detached(options, ends[1]);
  }
  ::close(ends[1]);
  ::waitpid(middle, nullptr, 0);
  const std::string report = read_all(ends[0]);
  const std::size_t space = report.find(' ');
  if (space == std::string::npos) {
    return report_error(kProgram, {ErrorKind::our_fault,
                                   "the detached process ended without a report; see up.log in the state folder"});
  }
  if (report.starts_with("url ")) {
    const std::size_t gateway = report.find(' ', space + 1);
    std::cout << report.substr(space + 1, gateway - space - 1) << std::endl;
    const auto usual = kq::tools::default_state_folder(kq::tools::process_environment);
    std::cerr << kProgram << ": broker and worker run in " << options.state << "; kq down"
              << (usual && *usual == options.state ? "" : " --state " + kq::producer::shell_quoted(options.state))
              << " stops them\n";
    if (gateway != std::string::npos) std::cerr << kProgram << ": gateway at " << report.substr(gateway + 1) << '\n';
    return static_cast<int>(ExitCode::ok);
  }
  std::cerr << kProgram << ": " << report.substr(space + 1) << '\n';
  return std::atoi(report.c_str());
}

// Fails where the gateway's address has a port on which the broker listens.
Expected<void> check_gateway_port(const kq::net::Endpoints& broker, const std::string& gateway) {
  const auto port_of = [](const std::string& address) { return address.substr(address.rfind(':') + 1); };
  if (gateway.empty() || !broker.client.starts_with("tcp://")) return {};
  const bool is_client = port_of(gateway) == port_of(broker.client);
  if (!is_client && port_of(gateway) != port_of(broker.worker)) return {};
  return kq::bad_input("--gateway " + gateway + ": the broker listens at port " + port_of(gateway) + " for its " +
                       (is_client ? "clients" : "workers") + "; name another port, or 0 for a free one");
}

int up(int argc, char** argv) {
  Options options;
  kq::tools::Flags flags(
      kProgram,
      "Runs a broker and a worker on this machine and prints the broker's URL. kq-down or Ctrl-C stops them.");
  flags.flag("-d,--detach", "return as soon as all are ready, and leave them running", options.detach);
  flags.option("--state", "DIR", "folder for jobs, results, builds and logs (default: $XDG_STATE_HOME/kq)",
               options.state);
  flags.option("--devices", "LIST", "devices of the worker: auto, or a list of cpu, cuda, cuda:N (default: auto)",
               options.devices);
  flags.number("--gpus-per-lane",
               "GPUs of the worker that run one job together, for problems that need several (default: "
               "$KQ_GPUS_PER_LANE, else 1)",
               options.gpus_per_lane, 1, kq::kDeviceCountMax);
  flags.option("--broker-url", "URL", "URL on which the broker listens (default " + options.url + ")", options.url,
               "KQ_BROKER");
  flags.number("--metrics-port",
               "the broker serves Prometheus metrics at http://127.0.0.1:N/metrics (default: it serves none)",
               options.metrics_port, 1, std::numeric_limits<std::uint16_t>::max());
  flags.option("--keys", "DIR", "the broker's folder of keys; only the keys in it may connect", options.keys,
               "KQ_KEYS");
  flags.option("--worker-key", "FILE", "key file of the worker, necessary with --keys", options.key);
  flags.option("--gateway", "HOST:PORT",
               "run a gateway too, which answers HTTP requests and shows the queue at this address", options.gateway);
  flags.option("--gateway-tokens", "FILE", "file of the gateway's tokens, necessary beyond this machine",
               options.gateway_tokens);
  flags.option("--gateway-operators", "FILE",
               "file of the tokens with which the page at / of the gateway cancels, retries, pauses and drains",
               options.gateway_operators);
  flags.option("--gateway-key", "FILE", "key file of the gateway, necessary with --keys", options.gateway_key);
  flags.option("--popcorn", "DIR", "folder of problems in GPU MODE's form, which popcorn-cli finds at the gateway",
               options.popcorn);
  if (const auto code = flags.parse(argc, argv)) return static_cast<int>(*code);
  if (options.state.empty()) {
    Expected<std::string> state = kq::tools::default_state_folder(kq::tools::process_environment);
    if (!state) return report_error(kProgram, state.error());
    options.state = *state;
  }
  const auto url = kq::net::parse_broker_url(options.url);
  if (!url) return report_error(kProgram, url.error());
  if (const auto checked = check_gateway_port(*url, options.gateway); !checked)
    return report_error(kProgram, checked.error());
  if (options.keys.empty() != options.key.empty()) {
    return report_error(kProgram,
                        {ErrorKind::bad_input,
                         "--keys and --worker-key belong together: one of them is missing; kq ctl keygen --keys DIR "
                         "--name NAME --role work makes the worker's key file"});
  }
  if (!options.popcorn.empty()) {
    if (options.gateway.empty())
      return report_error(kProgram, {ErrorKind::bad_input, "--popcorn needs --gateway HOST:PORT beside it"});
    options.popcorn = std::filesystem::absolute(options.popcorn).string();
  }
  return options.detach ? detach(options) : run_in_foreground(options);
}

}  // namespace

int main(int argc, char** argv) {
  kq::producer::StandardOutput output(kProgram);
  return output.end(up(argc, argv));
}
