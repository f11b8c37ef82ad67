#include "broker/shell/command_line.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/base/version.h"
#include "sys/command_line.h"

namespace kq::broker {
namespace {

constexpr const char* kDefaultBind = "tcp://127.0.0.1:5570";  // net/endpoint.h, kDefaultBrokerUrl
constexpr std::uint32_t kLeaseMsMin = 100;
constexpr std::uint32_t kLeaseMsMax = 3'600'000;
// A worker may lose almost this many heartbeats in a row before its leases lapse.
constexpr std::uint32_t kHeartbeatsPerLease = 6;

constexpr std::int64_t kTakeoverMsMin = 200;
constexpr std::int64_t kTakeoverMsMax = 600'000;

constexpr std::int64_t kKeepMsMin = 1'000;
constexpr std::int64_t kKeepMsMax = 36'500ll * 86'400'000;

// Reads a whole number and a unit, such as "30s", "1500ms", "2m", "36h" or "30d". Returns nothing if the text is not
// such a duration or is outside the bounds.
std::optional<std::int64_t> duration_ms(const std::string& text, std::int64_t min_ms, std::int64_t max_ms) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  if (error != std::errc() || number < 0 || number > max_ms) return std::nullopt;
  std::int64_t factor = 0;
  if (unit == "ms") factor = 1;
  if (unit == "s") factor = 1'000;
  if (unit == "m") factor = 60'000;
  if (unit == "h") factor = 3'600'000;
  if (unit == "d") factor = 86'400'000;
  if (factor == 0 || number > max_ms / factor || number * factor < min_ms) return std::nullopt;
  return number * factor;
}

constexpr std::uint64_t kBytesMaxMin = 1u << 20;
constexpr std::uint64_t kBytesMaxMax = 1ull << 50;

// Reads a whole number and a unit, such as "512M", "100G" or "2TiB"; each unit is 1024 times the one before. Returns
// nothing if the text is not such a size or is outside the bounds.
std::optional<std::uint64_t> size_bytes(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (unit.ends_with("iB")) unit.remove_suffix(2);
  const std::size_t power = unit.size() == 1 ? std::string_view("KMGT").find(unit) : std::string_view::npos;
  if (power == std::string_view::npos) return std::nullopt;
  const std::uint64_t factor = 1ull << (10 * (power + 1));
  if (number > kBytesMaxMax / factor || number * factor < kBytesMaxMin) return std::nullopt;
  return number * factor;
}

// Arguments that are converted after parsing.
struct Texts {
  std::string lease = "30s";
  std::string keep;
  std::string jobs_bytes;
  std::string submitter_bytes;
  int ready_fd = -1;
  std::string takeover = "2s";
  std::string alone_after;
  std::optional<int> replicas;
};

void add_basic_options(CLI::App& app, CommandLine& line, Texts& texts) {
  app.option_defaults()->group("Service");
  app.add_option("--bind", line.bind,
                 "URL to listen on: tcp://127.0.0.1:PORT (workers: PORT+1) or ipc://PATH (workers: PATH.workers)")
      ->type_name("URL")
      ->envname("KQ_BROKER")
      ->capture_default_str();
  app.add_option("--store", line.store_dir, "directory of the store, necessary; made if missing")
      ->type_name("DIR")
      ->envname("KQ_STORE")
      ->required();
  app.add_option(
         "--keys", line.key_folder,
         "folder of keys: only holders of these keys may connect, encrypted; needed to listen beyond this machine")
      ->type_name("DIR")
      ->envname("KQ_KEYS");
  app.add_option("--lease", texts.lease, "how long a silent worker keeps its jobs, such as 30s, 1500ms, 2m")
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--ready-fd", texts.ready_fd, "write \"ready URL\" to this descriptor once requests are answered");
}

void add_limit_options(CLI::App& app, CommandLine& line, Texts& texts) {
  app.option_defaults()->group("Limits");
  app.add_option("--jobs-max", line.options.unfinished_jobs_max,
                 "unfinished jobs; beyond them submitters are told to wait")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}))
      ->capture_default_str();
  app.add_option("--submitter-jobs-max", line.options.submitter_jobs_max,
                 "unfinished jobs of one submitter; beyond them it is told to wait")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}))
      ->capture_default_str();
  app.add_option("--jobs-bytes-max", texts.jobs_bytes,
                 "bytes of unfinished jobs and their files, such as 512M, 100G (the default), 2T")
      ->type_name("BYTES");
  app.add_option("--submitter-bytes-max", texts.submitter_bytes,
                 "bytes of unfinished jobs of one submitter; 50G is the default")
      ->type_name("BYTES");
  app.add_option("--keep-for", texts.keep,
                 "remove a finished job this long after its end or after it was last asked for, such as 30d, 36h; the "
                 "best of each board stays")
      ->type_name("TIME");
  app.add_option("--keep-jobs", line.options.keep_jobs,
                 "remove a finished job once so many newer ones were submitted, but not within an hour of its end; the "
                 "best of each board stays")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000'000}));
}

void add_standby_options(CLI::App& app, CommandLine& line, Texts& texts) {
  app.add_option("--replicas", texts.replicas,
                 "let a standby follow this broker; 1: acknowledge nothing before the standby has it on disk")
      ->check(CLI::Range(0, 1));
  app.add_option("--follow", line.standby.follow,
                 "URL of the other broker: stand by, and take over when it is ordered (kq ctl promote) or the lease is "
                 "free")
      ->type_name("URL")
      ->envname("KQ_FOLLOW");
  app.add_option("--standby-key", line.standby_key, "key file with the role standby, for the broker of --follow")
      ->type_name("FILE")
      ->envname("KQ_STANDBY_KEY");
  CLI::Option* lease = app.add_option("--lease-file", line.standby.lease_path,
                                      "file that both brokers share; the one that holds the lease in it serves")
                           ->type_name("FILE");
  app.add_option("--takeover-after", texts.takeover,
                 "how long the lease must not have been renewed before the standby takes over")
      ->type_name("TIME")
      ->needs(lease)
      ->capture_default_str();
  app.add_option("--alone-after", texts.alone_after,
                 "with --replicas 1: how long acknowledgements wait for a missing standby before this broker goes on "
                 "alone and no standby may take over; without it they wait for ever")
      ->type_name("TIME")
      ->needs(lease);
}

void add_report_options(CLI::App& app, CommandLine& line) {
  app.option_defaults()->group("Metrics and logs");
  CLI::Option* metrics_port = app.add_option("--metrics-port", line.metrics_port,
                                             "serve Prometheus metrics at http://HOST:PORT/metrics; 0: any free port");
  app.add_option("--metrics-bind", line.metrics_bind, "the HOST of --metrics-port: a numeric address")
      ->type_name("HOST")
      ->needs(metrics_port)
      ->capture_default_str();
  app.add_option("--log-level", line.log_level, "what to log to standard error; warning is warn")
      ->check(CLI::IsMember({"debug", "info", "warn", "warning", "error", "off"}))
      ->capture_default_str();
  app.add_option("--log-format", line.log_format, "auto: text on a terminal, else a JSON object a line")
      ->check(CLI::IsMember({"auto", "text", "json"}))
      ->capture_default_str();
}

EarlyEnd mistake(const std::string& text) {
  return {ExitCode::bad_input, "kq-broker: " + text + "\n"};
}

// Converts the texts into options. Returns a mistake in them, or nothing.
std::optional<EarlyEnd> convert(const Texts& texts, CommandLine& line) {
  const auto lease_ms = duration_ms(texts.lease, kLeaseMsMin, kLeaseMsMax);
  if (!lease_ms) return mistake("--lease: a time from 100ms to 60m is needed, such as 30s, got '" + texts.lease + "'");
  line.options.lease_ms = static_cast<std::uint32_t>(*lease_ms);
  line.options.heartbeat_ms = line.options.lease_ms / kHeartbeatsPerLease;
  for (const auto& [flag, text, into] :
       {std::tuple("--jobs-bytes-max", &texts.jobs_bytes, &line.options.unfinished_bytes_max),
        std::tuple("--submitter-bytes-max", &texts.submitter_bytes, &line.options.submitter_bytes_max)}) {
    if (text->empty()) continue;
    const auto bytes = size_bytes(*text);
    if (!bytes)
      return mistake(std::string(flag) + ": a size from 1M to 1024T is needed, such as 100G, got '" + *text + "'");
    *into = *bytes;
  }
  if (!texts.keep.empty()) {
    const auto keep_ms = duration_ms(texts.keep, kKeepMsMin, kKeepMsMax);
    if (!keep_ms)
      return mistake("--keep-for: a time from 1s to 36500d is needed, such as 30d, got '" + texts.keep + "'");
    line.options.keep_ms = *keep_ms;
  }
  const auto takeover_ms = duration_ms(texts.takeover, kTakeoverMsMin, kTakeoverMsMax);
  if (!takeover_ms)
    return mistake("--takeover-after: a time from 200ms to 10m is needed, such as 2s, got '" + texts.takeover + "'");
  line.standby.takeover_ms = *takeover_ms;
  if (!texts.alone_after.empty()) {
    line.standby.alone_after_ms = duration_ms(texts.alone_after, 0, kTakeoverMsMax);
    if (!line.standby.alone_after_ms)
      return mistake("--alone-after: a time up to 10m is needed, such as 5s, got '" + texts.alone_after + "'");
    if (texts.replicas.value_or(0) == 0) return mistake("--alone-after needs --replicas 1");
  }
  line.standby.replicas = texts.replicas;
  // The standby makes directories beside the store, so the name must not end in a slash.
  std::filesystem::path store = std::filesystem::path(line.store_dir).lexically_normal();
  if (!store.has_filename()) store = store.parent_path();
  line.standby.store_dir = store.string();
  line.standby.url = line.bind;
  if (texts.ready_fd >= 0) line.ready_fd = texts.ready_fd;
  return std::nullopt;
}

}  // namespace

std::variant<CommandLine, EarlyEnd> parse_command_line(int argc, const char* const* argv) {
  CommandLine line{.bind = kDefaultBind, .store_dir = "", .options = {}};
  Texts texts;
  CLI::App app("kq-broker takes kernel jobs from producers, keeps them on disk, and leases them to workers",
               "kq-broker");
  add_basic_options(app, line, texts);
  add_limit_options(app, line, texts);
  add_standby_options(app, line, texts);
  add_report_options(app, line);
  app.set_version_flag("--version", "kq-broker " + std::string(kVersion));
  app.footer(R"(
Examples:
  kq-broker --store ~/kq-store
  kq-broker --store /var/lib/kq --bind tcp://0.0.0.0:5570 --keys /etc/kq/keys --keep-for 30d)");
  sys::prepare(app);
  try {
    app.parse(argc, argv);
    if (const auto empty = sys::empty_value_text(app, "--keys")) return mistake(*empty);
  } catch (const CLI::CallForHelp&) {
    return EarlyEnd{ExitCode::ok, sys::help_text(app)};
  } catch (const CLI::CallForVersion& version) {
    return EarlyEnd{ExitCode::ok, std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    return mistake(sys::mistake_text(app, error));
  }
  if (auto end = convert(texts, line)) return std::move(*end);
  return line;
}

}  // namespace kq::broker
