// kq-cache: what lies in the build cache of this machine's workers. kq-ctl cache becomes it.
#include <CLI/CLI.hpp>

#include <filesystem>
#include <iostream>

#include "core/base/version.h"
#include "gpu_worker/compile/cache_report.h"
#include "sys/process.h"

namespace {

int run(const std::string& word, const std::string& state, std::uint32_t gib, bool as_json) {
  const auto verb = kq::parse_enum<kq::worker::CacheVerb>(word);
  if (!verb) {
    std::cerr << "kq-cache: there is no verb '" << word << "'; known are ls, stats, verify, prune\n";
    return static_cast<int>(kq::ExitCode::bad_input);
  }
  const std::string dir =
      std::filesystem::absolute(state.empty() ? kq::sys::default_worker_state() : state).lexically_normal().string() +
      "/build-cache";
  if (!std::filesystem::is_directory(dir)) {
    std::cerr << "kq-cache: there is no build cache at " << dir << "; say --state DIR, as kq-worker was told\n";
    return static_cast<int>(kq::ExitCode::bad_input);
  }
  const kq::worker::CacheAnswer answer =
      kq::worker::ask_cache(kq::worker::BuildCache(dir), *verb, static_cast<std::uintmax_t>(gib) << 30, as_json);
  std::cout << answer.text << std::flush;
  return static_cast<int>(answer.is_sound ? kq::ExitCode::ok : kq::ExitCode::job_failed);
}

}  // namespace

int main(int argc, char** argv) {
  std::string verb;
  std::string state;
  std::uint32_t gib = static_cast<std::uint32_t>(kq::worker::kCacheBytesMax >> 30);
  bool as_json = false;
  CLI::App app("Lists, counts, verifies or prunes the build cache of this machine's workers.", "kq-cache");
  app.set_version_flag("--version", std::string(kq::kVersion));
  app.add_option("verb", verb,
                 "ls: every entry, oldest use first; stats; verify: hash everything and remove what was damaged (exit "
                 "1 then); prune: remove "
                 "what was used longest ago")
      ->required();
  app.add_option("--state", state, "the worker's directory (default: XDG_STATE_HOME/kq/worker)");
  app.add_option("--gib", gib, "how much prune leaves, in GiB; 0: nothing")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  app.add_flag("--json", as_json, "one JSON value on stdout");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(kq::ExitCode::bad_input);
  }
  return run(verb, state, gib, as_json);
}
