#include "producer/gateway/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "core/base/version.h"
#include "net/endpoint.h"
#include "producer/gateway/rest/values.h"
#include "sys/command_line.h"

namespace kq::gateway {
namespace {

constexpr std::size_t kConnectionsMaxMax = 16'384;
// Connections beyond those that wait, so that quick requests always find one.
constexpr std::size_t kConnectionsKept = 256;

// Arguments that are converted after parsing.
struct Texts {
  std::string listen;
  std::size_t connections_max = net::HttpLimits{}.connections_max;
  double drain_s = 20;
  bool is_insecure = false;
  int ready_fd = -1;
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

EarlyEnd mistake(const std::string& text) {
  return {ExitCode::bad_input, "kq-gateway: " + text + "\n"};
}

void add_options(CLI::App& app, ServeCommand& line, Texts& texts) {
  app.add_option("--broker", line.broker, "URL of the broker")
      ->type_name("URL")
      ->envname("KQ_BROKER")
      ->capture_default_str();
  app.add_option(
         "--key", line.key,
         "file with the gateway's key, for a broker with keys; its role is gateway, so that each token has a share and "
         "a quota of its own, or admin for --operators")
      ->type_name("FILE")
      ->envname("KQ_KEY");
  app.add_option("--listen", texts.listen,
                 "address to listen on (default: " + std::string(kDefaultListen) +
                     ", or the environment's HOST and PORT); port 0: any free port")
      ->type_name("HOST:PORT");
  app.add_option(
         "--tokens", line.tokens,
         "file of tokens, one line each: HASH NAME QUOTA; then a request needs a token, and each submitter sees "
         "its own runs only")
      ->type_name("FILE")
      ->envname("KQ_TOKENS");
  app.add_option("--operators", line.operators,
                 "file of tokens in the same form, whose owners may cancel, retry, pause and drain and see every run; "
                 "with a broker with keys the role of --key must then be admin")
      ->type_name("FILE");
  app.add_option("--popcorn", line.popcorn,
                 "folder of problems in GPU MODE's form, such as a checkout of them; popcorn-cli then works with this "
                 "gateway")
      ->type_name("DIR");
  app.add_flag("--insecure", texts.is_insecure,
               "let every host that reaches the address use the gateway without a token");
  app.add_option("--connections", texts.connections_max, "the most open connections; further ones are answered 503")
      ->check(CLI::Range(kConnectionsKept + 1, kConnectionsMaxMax))
      ->capture_default_str();
  app.add_option("--drain", texts.drain_s, "seconds that requests have to finish after SIGTERM")
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--log-level", line.log_level, "what to log to standard error; warning is warn [LOG_LEVEL]")
      ->check(CLI::IsMember({"debug", "info", "warn", "warning", "error", "off"}));
  app.add_option("--log-format", line.log_format, "auto: text on a terminal, else a JSON object a line")
      ->check(CLI::IsMember({"auto", "text", "json"}))
      ->capture_default_str();
  app.add_option("--ready-fd", texts.ready_fd, "write \"ready URL\" to this descriptor once requests are answered");
}

// Splits "HOST:PORT" or "[HOST]:PORT". Returns a mistake, or nothing.
std::optional<EarlyEnd> read_address(const std::string& listen, ServeCommand& line) {
  const std::size_t colon = listen.rfind(':');
  const auto port = colon == std::string::npos ? std::nullopt : whole_number(listen.substr(colon + 1), 0, 65'535);
  if (!port || colon == 0)
    return mistake("--listen: HOST:PORT is needed, such as " + std::string(kDefaultListen) + ", got '" + listen + "'");
  line.host = listen.substr(0, colon);
  line.port = static_cast<std::uint16_t>(*port);
  const bool is_bracketed = line.host.starts_with('[') && line.host.ends_with(']');
  line.is_loopback = net::is_loopback("tcp://" + line.host + ":1");
  if (is_bracketed) line.host = line.host.substr(1, line.host.size() - 2);
  return std::nullopt;
}

// Reads what the evaluation server reads from its environment.
std::optional<EarlyEnd> read_environment(ServeCommand& line) {
  line.evaluation.gpu_device = environment("GPU_DEVICE");
  line.evaluation.gpu_type = environment("GPU_TYPE");
  const std::string metrics = lower(environment("ENABLE_DEVICE_METRICS"));
  line.evaluation.device_metrics = metrics == "true" || metrics == "1" || metrics == "yes";
  if (const std::string workers = environment("MAX_WORKERS"); !workers.empty()) {
    const auto number = whole_number(workers, 1, static_cast<std::int64_t>(kConnectionsMaxMax - kConnectionsKept));
    if (!number)
      return mistake("MAX_WORKERS: the number of requests that may wait at the same time, got '" + workers + "'");
    line.limits.waits_max = static_cast<std::size_t>(*number);
  }
  return std::nullopt;
}

std::optional<EarlyEnd> convert(Texts& texts, ServeCommand& line) {
  const std::string host = environment("HOST");
  const std::string port = environment("PORT");
  if (texts.listen.empty() && !(host.empty() && port.empty()))
    texts.listen = (host.empty() ? "127.0.0.1" : host) + ":" + (port.empty() ? "8000" : port);
  if (texts.listen.empty()) texts.listen = kDefaultListen;
  if (auto wrong = read_address(texts.listen, line)) return wrong;
  if (!line.is_loopback && line.tokens.empty() && !texts.is_insecure) {
    return mistake("--listen " + texts.listen +
                   " is reached by other hosts: --tokens FILE is needed, or --insecure to let everybody in");
  }
  line.http.connections_max = texts.connections_max;
  line.limits.waits_max = texts.connections_max - kConnectionsKept;
  line.limits.submitter_waits_max = std::min(line.limits.submitter_waits_max, line.limits.waits_max);
  line.drain_ms = static_cast<std::int64_t>(texts.drain_s * 1'000);
  if (texts.ready_fd >= 0) line.ready_fd = texts.ready_fd;
  return read_environment(line);
}

// Returns the level of LOG_LEVEL in the words of --log-level, where it names one.
std::string level_of_environment() {
  const std::string level = lower(environment("LOG_LEVEL"));
  if (level == "warn") return "warning";
  if (level == "critical" || level == "fatal") return "error";
  const bool is_known = level == "debug" || level == "info" || level == "warning" || level == "error";
  return is_known ? level : "info";
}

}  // namespace

std::variant<ServeCommand, TokenCommand, EarlyEnd> parse_command_line(int argc, const char* const* argv) {
  ServeCommand line;
  line.broker = net::kDefaultBrokerUrl;
  line.log_level = level_of_environment();
  TokenCommand token;
  Texts texts;
  CLI::App app("kq-gateway answers HTTP requests: it submits kernels to a broker and returns their results",
               "kq-gateway");
  app.set_version_flag("--version", "kq-gateway " + std::string(kVersion));
  add_options(app, line, texts);
  CLI::App* make = app.add_subcommand("token", "makes a token and prints its line for --tokens");
  make->add_option("NAME", token.name, "name of the submitter: letters, digits, '.', '_' and '-'")->required();
  make->add_option("--quota", token.jobs_max, "the most queued jobs of the submitter; 0: only the broker's own quota");
  sys::prepare(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return EarlyEnd{ExitCode::ok, sys::help_text(app)};
  } catch (const CLI::CallForVersion& version) {
    return EarlyEnd{ExitCode::ok, std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    return mistake(sys::mistake_text(app, error));
  }
  if (make->parsed()) {
    if (const auto wrong = submitter_name_error(token.name)) return mistake("token: the name " + *wrong);
    return token;
  }
  if (auto end = convert(texts, line)) return std::move(*end);
  return line;
}

}  // namespace kq::gateway
