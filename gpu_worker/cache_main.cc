// kq-cache: lists, verifies and prunes the build cache of this machine's workers. `kq-ctl cache` executes it.
#include <CLI/CLI.hpp>

#include <filesystem>
#include <iostream>

#include "core/base/version.h"
#include "gpu_worker/compile/cache_report.h"
#include "gpu_worker/machine/scratch_root.h"
#include "sys/command_line.h"
#include "sys/descriptors.h"

namespace {

int run(const std::string& verb_name, const std::string& state, std::uint32_t gib, bool as_json) {
  const auto verb = kq::parse_enum<kq::worker::CacheVerb>(verb_name);
  if (!verb) {
    std::cerr << "kq-cache: there is no verb '" << verb_name << "'; known are ls, stats, verify, prune\n";
    return static_cast<int>(kq::ExitCode::bad_input);
  }
  const std::string dir = std::filesystem::absolute(state.empty() ? kq::worker::default_state_directory() : state)
                              .lexically_normal()
                              .string() +
                          "/build-cache";
  if (!std::filesystem::is_directory(dir)) {
    std::cerr << "kq-cache: there is no build cache at " << dir << "; give the --state DIR of kq-worker\n";
    return static_cast<int>(kq::ExitCode::bad_input);
  }
  const kq::worker::CacheAnswer answer =
      kq::worker::ask_cache(kq::worker::BuildCache(dir), *verb, static_cast<std::uintmax_t>(gib) << 30, as_json);
  std::cout << answer.text << std::flush;
  return static_cast<int>(answer.is_sound ? kq::ExitCode::ok : kq::ExitCode::job_failed);
}

}  // namespace

int main(int argc, char** argv) {
  kq::sys::open_standard_descriptors();
  std::string verb;
  std::string state;
  std::uint32_t gib = static_cast<std::uint32_t>(kq::worker::kCacheBytesMax >> 30);
  bool as_json = false;
  CLI::App app("Lists, counts, verifies or prunes the build cache of this machine's workers.", "kq-cache");
  app.set_version_flag("--version", std::string(kq::kVersion));
  app.add_option(
         "verb", verb,
         "ls: list the entries, least recently used first; stats: count them; verify: hash all files and remove "
         "damaged entries (exit code 1 if there are any); prune: remove the least recently used entries")
      ->type_name("")
      ->required();
  app.add_option("--state", state, "the worker's directory (default: $XDG_STATE_HOME/kq/worker)")->type_name("DIR");
  app.add_option("--gib", gib, "how much prune leaves, in GiB")->check(CLI::Range(0, 1 << 20))->capture_default_str();
  app.add_flag("--json", as_json, "write one JSON value to stdout");
  kq::sys::prepare(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << kq::sys::help_text(app);
    return 0;
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << '\n';
    return 0;
  } catch (const CLI::ParseError& error) {
    std::cerr << "kq-cache: " << kq::sys::mistake_text(app, error) << '\n';
    return static_cast<int>(kq::ExitCode::bad_input);
  }
  return run(verb, state, gib, as_json);
}
