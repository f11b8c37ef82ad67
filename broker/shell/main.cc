// kq-broker: the process that owns the store. It serves producers and workers until it gets SIGTERM or SIGINT.
#include <spdlog/spdlog.h>

#include <csignal>
#include <cstdio>
#include <string>

#include "broker/broker.h"
#include "broker/metrics/metrics.h"
#include "broker/metrics/prometheus.h"
#include "broker/shell/command_line.h"
#include "broker/shell/loop.h"
#include "broker/shell/store_lock.h"
#include "net/endpoint.h"
#include "net/http_server.h"
#include "net/log.h"
#include "net/zmq/link.h"
#include "store/rocks/rocks_store.h"
#include "sys/clock.h"
#include "sys/descriptors.h"
#include "sys/readiness.h"

namespace {

using namespace kq;

volatile std::sig_atomic_t stop = 0;

void handle_signals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { stop = 1; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);  // the reader of "ready" may have ended
}

// Signals are blocked while libraries start their threads, which inherit that. So a signal interrupts the main thread,
// which waits in the loop.
void block_signals(bool block) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(block ? SIG_BLOCK : SIG_UNBLOCK, &signals, nullptr);
}

// Unix time that never goes back: read once, then counted by the monotonic clock, so that a step of the wall clock ends
// no lease.
class SteadyUnixTime {
 public:
  std::int64_t operator()() const { return offset_ms_ + sys::monotonic_now_ms(); }

 private:
  std::int64_t offset_ms_ = sys::unix_now_ms() - sys::monotonic_now_ms();
};

net::ServerOptions server_options(const broker::CommandLine& line) {
  net::ServerOptions options{.key_folder = line.key_folder};
  const std::size_t wanted = options.limits.connections_max;
  options.limits.connections_max = sys::connections_possible(wanted);
  if (options.limits.connections_max < wanted) {
    spdlog::warn("room for {} connections only: the limit of open files (ulimit -n) is too low for {}",
                 options.limits.connections_max, wanted);
  }
  return options;
}

// Starts the HTTP server for metrics. Returns null without --metrics-port.
Expected<std::unique_ptr<net::HttpServer>> serve_metrics(const broker::CommandLine& line,
                                                         const broker::PublishedMetrics& board,
                                                         const SteadyUnixTime& now_ms) {
  if (!line.metrics_port) return std::unique_ptr<net::HttpServer>();
  auto server = net::HttpServer::start(
      line.metrics_bind, *line.metrics_port,
      {{"/metrics",
        [&] { return net::HttpAnswer{.type = std::string(broker::kPrometheusType), .body = board.text(now_ms())}; }}});
  if (server) spdlog::info("metrics at http://{}:{}/metrics", line.metrics_bind, (*server)->port());
  return server;
}

Expected<void> run(const broker::CommandLine& line) {
  block_signals(true);
  KQ_TRY_VALUE(const auto endpoints, net::parse_broker_url(line.bind));
  KQ_TRY_VALUE(const auto store_lock, broker::lock_store(line.store_dir));
  KQ_TRY_VALUE(const auto address_lock, broker::lock_address(line.bind));
  KQ_TRY_VALUE(const auto store, store::open_rocks_store(line.store_dir, store::OpenMode::read_write));
  const SteadyUnixTime now_ms;
  broker::BrokerOptions options = line.options;
  options.notes_per_job = line.log_level == "debug";
  auto broker = broker::Broker::recover(*store, options, now_ms());
  if (!broker) return failure(broker.error());
  KQ_TRY_VALUE(const auto link, net::bind_server(endpoints, server_options(line)));

  const broker::State& state = broker->state();
  broker::Loop loop(*broker, *store, *link, now_ms);
  broker::PublishedMetrics board;
  KQ_TRY_VALUE(const auto metrics, serve_metrics(line, board, now_ms));
  if (metrics) loop.observe([&](std::int64_t at_ms) { board.publish(broker::metrics_of(state, at_ms), at_ms); });
  const std::string_view openness =
      line.key_folder.empty() ? "; without keys every client may read every source and change every run" : "";
  spdlog::info("listening on {}; {} jobs queued, {} leased{}", line.bind,
               state.queue.scheduler().size() + state.queue.timers().waiting_count(), state.queue.jobs().leased_count(),
               openness);
  block_signals(false);
  if (const auto told = sys::report_ready(line.ready_fd.value_or(-1), "ready " + line.bind + "\n"); !told)
    spdlog::warn("{}", told.error().message);
  auto ended = loop.run(stop);
  if (ended) {
    spdlog::info("stopped; {} jobs queued, {} leased",
                 state.queue.scheduler().size() + state.queue.timers().waiting_count(),
                 state.queue.jobs().leased_count());
  }
  return ended;
}

}  // namespace

int main(int argc, char** argv) {
  const auto parsed = broker::parse_command_line(argc, argv);
  if (const auto* end = std::get_if<broker::EarlyEnd>(&parsed)) {
    std::fputs(end->text.c_str(), end->code == ExitCode::ok ? stdout : stderr);
    return static_cast<int>(end->code);
  }
  const auto& line = std::get<broker::CommandLine>(parsed);
  net::start_log("kq-broker", *parse_enum<net::LogFormat>(line.log_format), line.log_level);
  handle_signals();
  const auto done = run(line);
  if (done) return static_cast<int>(ExitCode::ok);
  spdlog::error(done.error().message);
  return static_cast<int>(exit_code(done.error().kind));
}
