// kq-gateway: the process that answers HTTP requests for a broker, until it gets SIGTERM or SIGINT.
//
// It keeps nothing that a second gateway beside the same broker would need. After a stop signal it accepts no more
// connections, ends the waits for results, finishes the other requests, and ends.
#include <spdlog/spdlog.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "net/http/listener.h"
#include "net/log.h"
#include "net/zmq/link.h"
#include "producer/client/submitter.h"
#include "producer/formats/popcorn/problem_set.h"
#include "producer/gateway/broker/broker_service.h"
#include "producer/gateway/command_line.h"
#include "producer/gateway/gateway.h"
#include "producer/gateway/live/page.h"
#include "producer/gateway/routes.h"
#include "sys/descriptors.h"
#include "sys/readiness.h"

namespace {

using namespace kq;

constexpr std::int64_t kTokensCheckMs = 500;

// Blocks the stop signals of all threads, and waits for them.
class StopSignal {
 public:
  StopSignal() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
  }
  bool arrives_within(std::int64_t ms) const {
    const timespec time{.tv_sec = ms / 1'000, .tv_nsec = ms % 1'000 * 1'000'000};
    return sigtimedwait(&signals_, nullptr, &time) > 0;
  }

 private:
  sigset_t signals_{};
};

void log_request(const net::HttpLogEntry& entry) {
  if (entry.status == 0) {
    spdlog::info("{} {} cut its connection before its request was complete, after {} ms", entry.peer,
                 entry.id.empty() ? "-" : entry.id, entry.ms);
  } else {
    spdlog::info("{} {} {} {} {} {} bytes {} ms", entry.peer, entry.id.empty() ? "-" : entry.id,
                 entry.method.empty() ? "-" : entry.method, entry.path.empty() ? "-" : entry.path, entry.status,
                 entry.answer_bytes, entry.ms);
  }
}

// Lowers the limits to what the limit of open files allows.
void fit_limits(gateway::ServeCommand& line) {
  const std::size_t wanted = line.http.connections_max;
  line.http.connections_max = sys::connections_possible(wanted);
  if (line.http.connections_max >= wanted) return;
  line.limits.waits_max = std::min(line.limits.waits_max, line.http.connections_max * 3 / 4);
  spdlog::warn("room for {} connections only: the limit of open files (ulimit -n) is too low for {}",
               line.http.connections_max, wanted);
}

// Logs the problems that cannot be read.
void report_mistakes(producer::popcorn::ProblemSet& problems) {
  const auto boards = problems.boards();
  if (!boards) return;
  for (const auto& board : **boards) {
    if (!board.mistake.empty()) spdlog::warn("leaderboard {} cannot be judged: {}", board.name, board.mistake);
  }
  spdlog::info("{} leaderboards", (*boards)->size());
}

// Returns the live page. Without its files the gateway answers requests all the same.
std::string live_page(bool needs_token) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto files = tools::read_page_files(program.parent_path() / "../share/kq/report");
  if (files) return gateway::live_page_html(*files, needs_token);
  spdlog::warn("there is no live page: {}", files.error().message);
  return "";
}

Expected<void> serve(gateway::ServeCommand line) {
  const StopSignal stop;
  fit_limits(line);
  std::unique_ptr<gateway::Tokens> tokens;
  if (!line.tokens.empty()) {
    KQ_TRY_VALUE(tokens, gateway::Tokens::open(line.tokens));
  }
  std::unique_ptr<gateway::Tokens> operators;
  if (!line.operators.empty()) {
    KQ_TRY_VALUE(operators, gateway::Tokens::open(line.operators));
  }
  std::unique_ptr<producer::popcorn::ProblemSet> problems;
  if (!line.popcorn.empty()) {
    KQ_TRY_VALUE(problems, producer::popcorn::ProblemSet::open(line.popcorn));
    report_mistakes(*problems);
  }
  KQ_TRY_VALUE(const auto calls, gateway::BrokerCalls::connect(line.broker, line.key));
  KQ_TRY_VALUE(const auto key, net::read_key_for(net::Side::client, line.key));
  const Role role = key ? key->who.role : Role::admin;
  if (operators && role != Role::admin)
    spdlog::warn(
        "--operators needs a --key with the role admin, and this one has the role {}: retry, pause and drain "
        "are refused",
        to_string(role));
  if (tokens && key && role != Role::gateway)
    spdlog::warn(
        "the --key of this gateway has the role {}: the broker counts the jobs of all tokens as those of the key, so "
        "that tokens have no shares of their own and their quotas do not count",
        to_string(role));
  gateway::BrokerService service(*calls, producer::default_submitter(), key ? key->who : Identity{});
  std::function<std::string()> metrics_text;
  gateway::Gateway frame(
      gateway::all_routes(line.evaluation, {.problems = problems.get(), .has_tokens = tokens != nullptr},
                          live_page(tokens != nullptr), [&] { return metrics_text(); }),
      service, tokens.get(),
      {.limits = line.limits,
       .is_loopback = line.is_loopback,
       .instance = service.random_name().substr(0, 8),
       .operators = operators.get(),
       .key_role = role});
  std::unique_ptr<net::HttpListener> listener;
  std::mutex mutex;  // the first request may come before start() has returned
  metrics_text = [&] {
    const std::lock_guard lock(mutex);
    return frame.metrics().text(listener ? listener->counts() : net::HttpCounts{}, frame.wait_count());
  };
  {
    const std::lock_guard lock(mutex);
    KQ_TRY_VALUE(listener, net::HttpListener::start(line.host, line.port, frame.app(log_request), line.http));
  }
  const std::string host = line.host.find(':') == std::string::npos ? line.host : "[" + line.host + "]";
  const std::string url = "http://" + host + ":" + std::to_string(listener->port());
  spdlog::info("listening on {} for broker {}; {}", url, line.broker,
               tokens ? "requests need a token" : "requests need no token");
  if (const auto told = sys::report_ready(line.ready_fd.value_or(-1), "ready " + url + "\n"); !told)
    spdlog::warn("{}", told.error().message);
  while (!stop.arrives_within(kTokensCheckMs)) {
    for (gateway::Tokens* file : {tokens.get(), operators.get()}) {
      if (file == nullptr) continue;
      if (const auto news = file->refresh()) spdlog::warn(*news);
    }
  }
  spdlog::info("stopping; requests have {} ms to finish", line.drain_ms);
  calls->stop_waits();
  listener->stop(line.drain_ms);
  calls->stop();
  spdlog::info("stopped");
  return {};
}

int print_token(const gateway::TokenCommand& command) {
  std::string random(32, '\0');
  if (::getentropy(random.data(), random.size()) != 0) {
    std::fputs("kq-gateway: this machine has no random numbers for a token\n", stderr);
    return static_cast<int>(ExitCode::our_fault);
  }
  const gateway::NewToken made = gateway::make_token(command.name, command.jobs_max, random);
  std::fprintf(stderr, "kq-gateway: the token of %s, which is shown only now: %s\n", command.name.c_str(),
               made.token.c_str());
  std::printf("%s\n", made.line.c_str());
  return static_cast<int>(ExitCode::ok);
}

}  // namespace

int main(int argc, char** argv) {
  sys::open_standard_descriptors();
  const auto parsed = gateway::parse_command_line(argc, argv);
  if (const auto* end = std::get_if<gateway::EarlyEnd>(&parsed)) {
    std::fputs(end->text.c_str(), end->code == ExitCode::ok ? stdout : stderr);
    return static_cast<int>(end->code);
  }
  if (const auto* command = std::get_if<gateway::TokenCommand>(&parsed)) return print_token(*command);
  const auto& line = std::get<gateway::ServeCommand>(parsed);
  net::start_log("kq-gateway", *parse_enum<net::LogFormat>(line.log_format), line.log_level);
  const auto done = serve(line);
  if (done) return static_cast<int>(ExitCode::ok);
  spdlog::error(done.error().message);
  return static_cast<int>(exit_code(done.error().kind));
}
