// kq-broker: the process that owns the store. It serves producers and workers until it gets SIGTERM or SIGINT. With
// --follow or --lease-file it stands by first, until it may serve.
#include <spdlog/spdlog.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "broker/broker.h"
#include "broker/metrics/metrics.h"
#include "broker/metrics/prometheus.h"
#include "broker/shell/command_line.h"
#include "broker/shell/loop.h"
#include "broker/shell/store_lock.h"
#include "broker/standby/primary.h"
#include "broker/standby/protocol.h"
#include "broker/standby/service.h"
#include "core/codec/codec.h"
#include "core/messages.h"
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

// Log files kept for a standby that was away. A standby that missed more gets a copy of the whole store.
constexpr std::uint64_t kKeptLogBytes = 1u << 30;
constexpr std::int64_t kHandOverMs = 2'000;  // a broker that stops waits so long for its standby's last commits

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
  const Refused revoked{"its key has been revoked"};
  options.farewells = {encode_message(Message<ClientReply>{0, revoked}),
                       encode_message(Message<WorkerReply>{0, revoked})};
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

void log_note(broker::NoteLevel level, const std::string& text) {
  spdlog::log(level == broker::NoteLevel::warning ? spdlog::level::warn : spdlog::level::info, text);
}

void tell_ready(const broker::CommandLine& line, const std::string& word) {
  if (const auto told = sys::report_ready(line.ready_fd.value_or(-1), word + " " + line.bind + "\n"); !told)
    spdlog::warn("{}", told.error().message);
}

// Stands by until this broker may serve. Returns nothing if it was stopped first.
Expected<std::optional<broker::Service>> await_service(const broker::CommandLine& line, bool& is_told) {
  const broker::StandbyOptions& standby = line.standby;
  store::RocksStoreOptions serving;
  serving.kept_log_bytes = standby.is_used() ? kKeptLogBytes : 0;
  store::RocksStoreOptions following = serving;
  following.follows = true;
  broker::StandbyWorld world{
      .open = [&] { return store::open_rocks_store(line.store_dir, store::OpenMode::read_write, serving); },
      .open_follower = [&]() -> Expected<std::unique_ptr<store::Store>> {
        if (!store::holds_store(line.store_dir)) return nullptr;
        return store::open_rocks_store(line.store_dir, store::OpenMode::read_write, following);
      },
      .connect = [&]() -> Expected<std::unique_ptr<net::ClientLink>> {
        KQ_TRY_VALUE(const auto other, net::parse_broker_url(standby.follow));
        KQ_TRY_VALUE(const auto key, net::read_standby_key(line.standby_key));
        return net::connect_client(other.worker, key);
      },
      .stands_by =
          [&] {
            block_signals(false);
            is_told = true;
            tell_ready(line, "standby");
          },
      .log = log_note};
  return broker::await_service(standby, world, stop);
}

// Tells the broker that this one followed, once a second, that a later epoch is served. Needed without a lease only.
class Fencer {
 public:
  Fencer(std::unique_ptr<net::ClientLink> other, const broker::Fence& fence)
      : thread_([other = std::move(other), bytes = broker::encode_standby(fence)](const std::stop_token& stopped) {
          while (!stopped.stop_requested()) {
            (void)other->send(bytes);
            if (!other->receive(kFenceMs)) return;
          }
        }) {}

 private:
  static constexpr std::int64_t kFenceMs = 1'000;
  std::jthread thread_;
};

Expected<std::unique_ptr<Fencer>> fence_other(const broker::CommandLine& line, const broker::Service& service) {
  if (line.standby.follow.empty() || service.lease) return std::unique_ptr<Fencer>();
  KQ_TRY_VALUE(const auto other, net::parse_broker_url(line.standby.follow));
  KQ_TRY_VALUE(const auto key, net::read_standby_key(line.standby_key));
  KQ_TRY_VALUE(auto link, net::connect_client(other.worker, key));
  return std::make_unique<Fencer>(std::move(link), broker::Fence{service.history.last().number, line.bind});
}

// Serves until the process is stopped.
Expected<void> serve(const broker::CommandLine& line, broker::Service& service, bool is_told) {
  block_signals(true);
  KQ_TRY_VALUE(const auto endpoints, net::parse_broker_url(line.bind));
  KQ_TRY_VALUE(const auto address_lock, broker::lock_address(line.bind));
  const SteadyUnixTime now_ms;
  broker::BrokerOptions options = line.options;
  options.notes_per_job = line.log_level == "debug";
  auto broker = broker::Broker::recover(*service.store, options, now_ms());
  if (!broker) return failure(broker.error());
  KQ_TRY_VALUE(const auto link, net::bind_server(endpoints, server_options(line)));
  KQ_TRY_VALUE(const auto fencer, fence_other(line, service));

  const broker::State& state = broker->state();
  broker::Loop loop(*broker, *service.store, *link, now_ms);
  std::optional<broker::Primary> primary;
  if (line.standby.is_used()) {
    primary.emplace(*service.store, service.history, *link, service.lease.get(),
                    broker::Primary::Options{.is_required = line.standby.replicas.value_or(0) > 0,
                                             .alone_after_ms = line.standby.alone_after_ms,
                                             .checkpoint_dir = line.standby.store_dir + ".checkpoint"},
                    sys::monotonic_now_ms, log_note);
    loop.replicate(*primary);
  }
  broker::PublishedMetrics board;
  KQ_TRY_VALUE(const auto metrics, serve_metrics(line, board, now_ms));
  if (metrics) {
    loop.observe([&](std::int64_t at_ms) {
      auto figures = broker::metrics_of(state, at_ms);
      if (primary) primary->append_to(figures);
      board.publish(std::move(figures), at_ms);
    });
  }
  const std::string_view openness =
      line.key_folder.empty() ? "; without keys every client may read every source and change every run" : "";
  spdlog::info("listening on {}; {} jobs queued, {} leased{}", line.bind,
               state.queue.scheduler().size() + state.queue.timers().waiting_count(), state.queue.jobs().leased_count(),
               openness);
  block_signals(false);
  if (!is_told) tell_ready(line, "ready");
  auto ended = loop.run(stop);
  if (ended && primary) ended = loop.hand_over(kHandOverMs);
  if (ended) {
    spdlog::info("stopped; {} jobs queued, {} leased",
                 state.queue.scheduler().size() + state.queue.timers().waiting_count(),
                 state.queue.jobs().leased_count());
  }
  return ended;
}

Expected<void> run(const broker::CommandLine& line) {
  block_signals(true);
  KQ_TRY(net::parse_broker_url(line.bind));
  KQ_TRY_VALUE(const auto store_lock, broker::lock_store(line.store_dir));
  bool is_told = false;
  KQ_TRY_VALUE(auto service, await_service(line, is_told));
  return service ? serve(line, *service, is_told) : Expected<void>();
}

}  // namespace

int main(int argc, char** argv) {
  sys::open_standard_descriptors();
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
