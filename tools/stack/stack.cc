#include "tools/stack/stack.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <utility>

namespace kq::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kStepMs = 50;

// A pipe on which a starting program reports that it is ready.
struct Pipe {
  int read_end = -1;
  int write_end = -1;

  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) == 0) {
      read_end = ends[0];
      write_end = ends[1];
    }
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_write_end();
    if (read_end >= 0) ::close(read_end);
  }
  void close_write_end() {
    if (write_end >= 0) ::close(std::exchange(write_end, -1));
  }
};

enum class Readiness { ready, closed, not_yet };

// Puts the line that a ready program writes into `line`.
Readiness wait_on(const Pipe& pipe, std::int64_t timeout_ms, std::string& line) {
  pollfd events{.fd = pipe.read_end, .events = POLLIN, .revents = 0};
  if (::poll(&events, 1, static_cast<int>(timeout_ms)) <= 0) return Readiness::not_yet;
  std::array<char, 512> buffer{};  // a program writes its line at once
  const ssize_t bytes = ::read(pipe.read_end, buffer.data(), buffer.size());
  if (bytes <= 0) return Readiness::closed;
  line.assign(buffer.data(), static_cast<std::size_t>(bytes));
  return Readiness::ready;
}

// Returns whether the process is a running program of a stack, and not another process that has got the same id
// since. A zombie does not count: in a container whose process 1 reaps no children, a dead process stays a zombie for
// ever.
bool is_kq_program(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);  // "12 (kq-broker) S 1 ..."
  const auto is = [&](const char* name) { return line.find(std::string("(") + name + ") ") != std::string::npos; };
  return (is("kq-broker") || is("kq-worker") || is("kq-gateway")) && line.find(") Z ") == std::string::npos;
}

// Waits until the programs of an earlier stack have ended. They got a signal when that stack died, but still use the
// store for a moment.
Expected<void> wait_for_earlier_processes(const StateFolder& folder, const Sleep& sleep) {
  if (!folder.stale_record()) return {};
  for (pid_t pid : folder.stale_record()->children) {
    for (std::int64_t waited = 0; is_kq_program(pid); waited += kStepMs) {
      if (waited >= kEarlierProcessWaitMs || sleep(kStepMs)) {
        return our_fault("process " + std::to_string(pid) + " of an earlier start still uses " + folder.path() +
                         "; stop that process first");
      }
    }
  }
  return {};
}

std::string with_ready_fd(const Pipe& pipe) {
  return std::to_string(pipe.write_end);
}

}  // namespace

std::string program_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().string();
}

Expected<std::unique_ptr<Stack>> Stack::start(const StackPlan& plan, const Sleep& sleep) {
  Expected<StateFolder> folder = StateFolder::take(plan.state_folder);
  if (!folder) return failure(folder.error());
  KQ_TRY(wait_for_earlier_processes(*folder, sleep));
  PrivateEndpoint endpoint{.url = plan.broker_url, .created_folder = ""};
  if (endpoint.url.empty()) {
    Expected<PrivateEndpoint> made = private_endpoint(folder->path(), process_environment);
    if (!made) return failure(made.error());
    endpoint = std::move(*made);
  }

  std::unique_ptr<Stack> stack(new Stack(std::move(*folder), std::move(endpoint), plan));
  stack->paused_ = stack->left_paused();
  stack->record();
  KQ_TRY(stack->start(stack->broker_, sleep));
  return stack;
}

std::vector<std::string> Stack::left_paused() const {
  return folder_.stale_record() ? folder_.stale_record()->paused : std::vector<std::string>();
}

void Stack::record_paused(std::vector<std::string> submitters) {
  paused_ = std::move(submitters);
  record();
}

Expected<void> Stack::start_worker(const Sleep& sleep) {
  if (worker_.process) return {};
  auto started = start(worker_, sleep);
  if (!started) stop(sleep);
  return started;
}

Expected<void> Stack::start_gateway(const Sleep& sleep) {
  if (gateway_.command.words.empty() || gateway_.process) return {};
  auto started = start(gateway_, sleep);
  if (!started) stop(sleep);
  return started;
}

std::string Stack::gateway_url() const {
  const std::size_t begin = gateway_.ready_line.find("http://");
  if (begin == std::string::npos) return {};
  return gateway_.ready_line.substr(begin, gateway_.ready_line.find_first_of(" \n", begin) - begin);
}

Stack::Stack(StateFolder folder, PrivateEndpoint endpoint, const StackPlan& plan)
    : folder_(std::move(folder)),
      endpoint_(std::move(endpoint)),
      url_(endpoint_.url),
      start_limit_ms_(plan.start_limit_ms) {
  // --keys and --key are passed even when they are empty, because KQ_KEYS and KQ_KEY in the environment may name keys
  // of another broker.
  broker_ = {.name = "kq-broker",
             .command = {.words = {plan.programs + "/kq-broker", "--bind", url_, "--store", folder_.file("store"),
                                   "--keys", plan.key_folder, "--log-format", "text"},
                         .log = folder_.file("broker.log")},
             .process = std::nullopt};
  if (plan.metrics_port > 0)
    broker_.command.words.insert(broker_.command.words.end(), {"--metrics-port", std::to_string(plan.metrics_port)});
  worker_ = {.name = "kq-worker",
             .command = {.words = {plan.programs + "/kq-worker", "--connect", url_, "--state", folder_.file("worker"),
                                   "--devices", plan.devices, "--key", plan.worker_key, "--log-format", "text"},
                         .log = folder_.file("worker.log")},
             .process = std::nullopt};
  if (plan.gpus_per_lane > 0)
    worker_.command.words.insert(worker_.command.words.end(), {"--gpus-per-lane", std::to_string(plan.gpus_per_lane)});
  gateway_ = {.name = "kq-gateway", .command = {}, .process = std::nullopt};
  if (plan.gateway.empty()) return;
  gateway_.command = {.words = {plan.programs + "/kq-gateway", "--broker", url_, "--listen", plan.gateway, "--tokens",
                                plan.gateway_tokens, "--operators", plan.gateway_operators, "--key", plan.gateway_key,
                                "--popcorn", plan.gateway_popcorn, "--log-format", "text"},
                      .log = folder_.file("gateway.log")};
}

Stack::~Stack() {
  gateway_.process.reset();
  worker_.process.reset();
  broker_.process.reset();
  folder_.clear();
  std::error_code ignored;
  if (!endpoint_.created_folder.empty()) fs::remove_all(endpoint_.created_folder, ignored);
}

Expected<void> Stack::start(Member& member, const Sleep& sleep) {
  Pipe pipe;
  if (pipe.read_end < 0) return our_fault("cannot make a pipe for " + member.name);
  Command command = member.command;
  command.inherited_fd = pipe.write_end;
  command.words.insert(command.words.end(), {"--ready-fd", with_ready_fd(pipe)});
  Expected<Process> process = Process::start(command);
  if (!process) return failure(process.error());
  pipe.close_write_end();
  member.process = std::move(*process);
  record();

  const auto failed = [&](const std::string& what) {
    return our_fault(member.name + " " + what + "; its log " + command.log +
                     " ends with:" + member.process->log_tail());
  };
  for (std::int64_t waited = 0; waited < start_limit_ms_; waited += kStepMs) {
    switch (wait_on(pipe, kStepMs, member.ready_line)) {
      case Readiness::ready:
        return {};
      case Readiness::not_yet:
        break;
      case Readiness::closed:
        // The program closed the pipe without reporting readiness, so it is about to end.
        member.process->stop(kStepMs * 20, sleep);
        return failed("did not start (" + member.process->ended().value_or("still running") + ")");
    }
    if (sleep(0)) return failure(Error{ErrorKind::interrupted, "interrupted while " + member.name + " was starting"});
  }
  return failed("was not ready after " + std::to_string(start_limit_ms_ / 1000) + " s");
}

void Stack::record() {
  StackRecord record{.pid = ::getpid(), .url = url_, .children = {}, .paused = paused_};
  for (const Member* member : {&broker_, &worker_, &gateway_}) {
    if (member->process) record.children.push_back(member->process->pid());
  }
  folder_.write(record);
}

Expected<std::optional<std::string>> Stack::restart_ended() {
  for (Member* member : {&broker_, &worker_, &gateway_}) {
    if (!member->process) continue;
    const std::optional<std::string> end = member->process->ended();
    if (!end) continue;
    const std::string what = member->name + " ended by itself (" + *end + ")";
    const std::string words = "; its log " + member->command.log + " ends with:" + member->process->log_tail();
    if (restarts_ == kRestartsMax) {
      return our_fault(what + " after " + std::to_string(kRestartsMax) + " restarts, which is the limit" + words);
    }
    ++restarts_;
    Expected<Process> process = Process::start(member->command);
    if (!process) return failure(process.error());
    member->process = std::move(*process);
    record();
    return what + " and was restarted, " + std::to_string(restarts_) + " of at most " + std::to_string(kRestartsMax) +
           " times" + words;
  }
  return std::nullopt;
}

void Stack::stop(const Sleep& sleep) {
  if (gateway_.process) gateway_.process->stop(kGatewayStopMs, sleep);
  if (worker_.process) worker_.process->stop(kWorkerStopMs, sleep);
  if (broker_.process) broker_.process->stop(kBrokerStopMs, sleep);
  gateway_.process.reset();
  worker_.process.reset();
  broker_.process.reset();
  folder_.clear();
}

}  // namespace kq::tools
