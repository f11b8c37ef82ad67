// kq-sim: runs simulated worlds, one for each seed, on several threads. It prints the counts of the injected faults. If
// a world violates what the oracle checks, it prints the lowest such seed and the command that repeats its world.
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/bytes/hash.h"
#include "tests/sim/scale/command.h"
#include "tests/sim/world.h"

namespace {

using namespace kq;
using namespace kq::sim;

constexpr unsigned kJobsMax = 256;
constexpr std::uint64_t kSeedRanges = 1'000'000'000'000;  // a text chooses one of this many ranges of a million seeds

constexpr const char* kUsage =
    "usage: kq-sim scale [OPTIONS]   one large world; kq-sim scale --help\n"
    "       kq-sim [--seeds A..B | --seeds-from TEXT N | --seed N] [--jobs N] [--trace] [--plant NAME]\n"
    "  --seeds A..B       the worlds to run (default 1..200)\n"
    "  --seeds-from T N   N worlds chosen by a text, such as a commit's hash\n"
    "  --seed N           one world\n"
    "  --jobs N           how many worlds run at the same time (default 1)\n"
    "  --trace            print the messages and faults of each world\n"
    "  --plant NAME       plant a bug that the oracle must find: %s\n";

struct Options {
  std::uint64_t first = 1;
  std::uint64_t last = 200;
  unsigned jobs = 1;
  bool trace = false;
  sim::Plant plant = sim::Plant::none;
};

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::uint64_t first_seed_of(std::string_view text) {
  const Hash hash = sha256(text);
  std::uint64_t number = 0;
  for (int i = 0; i < 8; ++i) number = number << 8 | hash.bytes[static_cast<std::size_t>(i)];
  return number % kSeedRanges * 1'000'000 + 1;
}

// Removes the values of the option from `arguments` and stores them in `options`. Returns false if the option or a
// value is invalid.
bool take_option(std::string_view name, std::vector<std::string_view>& arguments, Options& options) {
  const auto next = [&]() -> std::string_view {
    if (arguments.empty()) return "";
    const std::string_view value = arguments.front();
    arguments.erase(arguments.begin());
    return value;
  };
  if (name == "--trace") return options.trace = true;
  const std::string_view value = next();
  if (name == "--plant") {
    const auto plant = parse_enum<sim::Plant>(value);
    options.plant = plant.value_or(sim::Plant::none);
    return plant.has_value();
  }
  if (name == "--seeds-from") {
    const auto n = number_in(next());
    options.first = first_seed_of(value);
    options.last = options.first + n.value_or(1) - 1;
    return n && *n > 0;
  }
  if (name == "--seeds") {
    const std::size_t dots = value.find("..");
    if (dots == value.npos) return false;
    const auto first = number_in(value.substr(0, dots));
    const auto last = number_in(value.substr(dots + 2));
    options.first = first.value_or(1);
    options.last = last.value_or(0);
    return first && last && *first <= *last;
  }
  const auto number = number_in(value);
  if (name == "--seed") options.first = options.last = number.value_or(0);
  if (name == "--jobs")
    options.jobs = static_cast<unsigned>(std::clamp<std::uint64_t>(number.value_or(1), 1, kJobsMax));
  return number && (name == "--seed" || name == "--jobs");
}

// Returns the command that repeats a world with its trace.
std::string command_for(std::uint64_t seed, sim::Plant plant) {
  std::string command = "kq-sim --seed " + std::to_string(seed) + " --trace";
  if (plant != sim::Plant::none) command += " --plant " + std::string(to_string(plant));
  return command;
}

// The seed of the world that this thread runs. A failed KQ_CHECK or a crash ends the whole program, and then the signal
// handler prints this seed.
thread_local std::uint64_t current_seed = 0;

extern "C" void print_seed_and_die(int signal) {
  char text[64];
  const int n =
      std::snprintf(text, sizeof text, "  kq-sim --seed %llu --trace\n", static_cast<unsigned long long>(current_seed));
  (void)!::write(STDERR_FILENO, text, static_cast<std::size_t>(n));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// A world that violates what the oracle checks.
struct Violation {
  std::uint64_t seed = 0;
  sim::Outcome outcome{};
};

// The sums over all worlds.
struct Totals {
  std::uint64_t world_count = 0;
  std::uint64_t job_count = 0;
  std::uint64_t removed_count = 0;
  std::uint64_t turn_count = 0;
  std::int64_t simulated_ms = 0;
  sim::FaultCounts faults{};
  std::optional<Violation> violation{};  // the one with the lowest seed

  void add(std::uint64_t seed, sim::Outcome outcome) {
    world_count += 1;
    job_count += outcome.job_count;
    removed_count += outcome.removed_count;
    turn_count += outcome.turn_count;
    simulated_ms += outcome.lasted_ms;
    faults += outcome.faults;
    if (outcome.violation && (!violation || seed < violation->seed)) violation = {seed, std::move(outcome)};
  }
};

Totals run_all(const Options& options) {
  Totals totals;
  std::mutex mutex;
  std::atomic<std::uint64_t> next = options.first;
  std::atomic<bool> found = false;
  std::function<void(const std::string&)> tell;
  if (options.trace) tell = [](const std::string& line) { std::printf("%s\n", line.c_str()); };
  const auto work = [&] {
    while (!found) {
      const std::uint64_t seed = next++;
      if (seed > options.last) return;
      current_seed = seed;
      sim::Outcome outcome = sim::run_world(seed, options.plant, tell);
      const std::lock_guard lock(mutex);
      if (outcome.violation) found = true;
      totals.add(seed, std::move(outcome));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < options.jobs; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return totals;
}

int report(const Options& options, const Totals& totals, double seconds) {
  if (totals.violation) {
    const auto& [seed, outcome] = *totals.violation;
    std::printf("seed %llu, after %lld ms: %s\n  %s\n", static_cast<unsigned long long>(seed),
                static_cast<long long>(outcome.lasted_ms), outcome.violation->c_str(),
                command_for(seed, options.plant).c_str());
    return static_cast<int>(ExitCode::job_failed);
  }
  std::printf("seeds %llu..%llu: all promises kept\n", static_cast<unsigned long long>(options.first),
              static_cast<unsigned long long>(options.last));
  std::printf(
      "%llu worlds, %llu jobs (%llu removed when old), %llu turns of the broker, %.1f simulated hours in %.1f s (%.0f "
      "worlds/s)\n",
      static_cast<unsigned long long>(totals.world_count), static_cast<unsigned long long>(totals.job_count),
      static_cast<unsigned long long>(totals.removed_count), static_cast<unsigned long long>(totals.turn_count),
      static_cast<double>(totals.simulated_ms) / 3.6e6, seconds, static_cast<double>(totals.world_count) / seconds);
  std::printf("%llu faults of processes, disks, clocks and ways, %llu of messages: %s\n",
              static_cast<unsigned long long>(totals.faults.to_processes()),
              static_cast<unsigned long long>(totals.faults.to_messages()), totals.faults.text().c_str());
  return static_cast<int>(ExitCode::ok);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "scale") return kq::sim::scale_command(argc - 1, argv + 1);
  Options options;
  std::vector<std::string_view> arguments(argv + 1, argv + argc);
  while (!arguments.empty()) {
    const std::string_view name = arguments.front();
    arguments.erase(arguments.begin());
    if (!take_option(name, arguments, options)) {
      std::fprintf(stderr, kUsage, known_names<sim::Plant>().c_str());
      return static_cast<int>(ExitCode::bad_input);
    }
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE}) std::signal(signal, print_seed_and_die);
  spdlog::set_pattern("    broker: %v");
  spdlog::set_level(options.trace ? spdlog::level::debug : spdlog::level::off);
  const auto begin = std::chrono::steady_clock::now();
  const Totals totals = run_all(options);
  return report(options, totals, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}
