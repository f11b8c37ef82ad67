// kq-sim: runs simulated worlds and prints the first seed whose world breaks a promise, with the command that shows it
// again.
#include <spdlog/spdlog.h>

#include <charconv>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "tests/sim/world.h"

namespace {

using namespace kq;
using namespace kq::sim;

struct Options {
  std::uint64_t first = 1;
  std::uint64_t last = 200;
  bool verbose = false;
  Plant plant = Plant::none;
};

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<Options> options_in(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--verbose") {
      options.verbose = true;
      continue;
    }
    if (i + 1 == argc) return std::nullopt;
    const std::string_view value = argv[++i];
    if (name == "--seed") {
      const auto seed = number_in(value);
      if (!seed) return std::nullopt;
      options.first = options.last = *seed;
    } else if (name == "--seeds" && value.find("..") != value.npos) {
      const auto first = number_in(value.substr(0, value.find("..")));
      const auto last = number_in(value.substr(value.find("..") + 2));
      if (!first || !last || *first > *last) return std::nullopt;
      options.first = *first;
      options.last = *last;
    } else if (name == "--plant" && parse_enum<Plant>(value)) {
      options.plant = *parse_enum<Plant>(value);
    } else {
      return std::nullopt;
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = options_in(argc, argv);
  if (!options) {
    std::fprintf(stderr, "usage: kq-sim [--seeds A..B | --seed N] [--verbose] [--plant NAME]\nplants: %s\n",
                 known_names<Plant>().c_str());
    return static_cast<int>(ExitCode::bad_input);
  }
  spdlog::set_level(options->verbose ? spdlog::level::debug : spdlog::level::off);
  const auto tell = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  std::uint64_t jobs_n = 0;
  std::uint64_t crashes_n = 0;
  for (std::uint64_t seed = options->first; seed <= options->last; ++seed) {
    const Outcome outcome =
        run_world(seed, options->plant, options->verbose ? tell : std::function<void(const std::string&)>());
    jobs_n += outcome.jobs_n;
    crashes_n += outcome.crashes_n;
    if (!outcome.violation) continue;
    const std::string plant = options->plant == Plant::none ? "" : " --plant " + std::string(to_string(options->plant));
    std::printf("seed %llu, at %lld ms: %s\n  kq-sim --seed %llu --verbose%s\n", static_cast<unsigned long long>(seed),
                static_cast<long long>(outcome.at_ms), outcome.violation->c_str(),
                static_cast<unsigned long long>(seed), plant.c_str());
    return static_cast<int>(ExitCode::job_failed);
  }
  std::printf("seeds %llu..%llu: all promises kept; %llu jobs, %llu crashes of the broker\n",
              static_cast<unsigned long long>(options->first), static_cast<unsigned long long>(options->last),
              static_cast<unsigned long long>(jobs_n), static_cast<unsigned long long>(crashes_n));
  return static_cast<int>(ExitCode::ok);
}
