#include "tests/sim/scale/command.h"

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/error.h"
#include "store/rocks/rocks_store.h"
#include "tests/sim/scale/cpu_time.h"
#include "tests/sim/scale/scale_world.h"

namespace kq::sim {
namespace {

constexpr double kMebibyte = 1 << 20;
constexpr double kNsPerUs = 1e3;
constexpr double kNsPerMs = 1e6;
constexpr double kNsPerS = 1e9;

double cpu_us(const ScaleFigures& tenth) {
  return tenth.per_job(tenth.broker.cpu_ns) / kNsPerUs;
}
double commit_us(const ScaleFigures& tenth) {
  return tenth.per_job(tenth.store.commit_cpu_ns) / kNsPerUs;
}
double reads(const ScaleFigures& tenth) {
  return tenth.per_job(static_cast<std::int64_t>(tenth.store.read_count + tenth.store.visit_count));
}
double us_per_message(const ScaleFigures& tenth) {
  return static_cast<double>(tenth.broker.cpu_ns) / kNsPerUs / static_cast<double>(tenth.broker.message_count);
}

void print_heading() {
  std::printf("%-6s %10s %10s %8s %8s %10s %10s %8s %10s %11s %11s\n", "phase", "jobs", "unfinished", "us/job",
              "us/msg", "commit us", "jobs/turn", "reads", "writes", "longest ms", "memory MiB");
}

void print_tenth(const ScaleFigures& tenth) {
  std::printf("%-6s %10llu %10llu %8.1f %8.1f %10.1f %10.1f %8.2f %10.2f %11.1f %11.0f\n",
              std::string(to_string(tenth.phase)).c_str(), static_cast<unsigned long long>(tenth.job_count),
              static_cast<unsigned long long>(tenth.queued), cpu_us(tenth), us_per_message(tenth), commit_us(tenth),
              static_cast<double>(tenth.job_count) / static_cast<double>(tenth.store.commit_count), reads(tenth),
              tenth.per_job(static_cast<std::int64_t>(tenth.store.write_count)),
              static_cast<double>(tenth.broker.longest_turn_ns) / kNsPerMs,
              static_cast<double>(tenth.memory_bytes) / kMebibyte);
  std::fflush(stdout);
}

nlohmann::json json_of(const ScaleOptions& options, const ScaleOutcome& outcome, double seconds) {
  nlohmann::json tenths = nlohmann::json::array();
  for (const ScaleFigures& tenth : outcome.tenths) {
    tenths.push_back({{"phase", to_string(tenth.phase)},
                      {"jobs", tenth.job_count},
                      {"unfinished", tenth.queued},
                      {"messages", tenth.broker.message_count},
                      {"commits", tenth.store.commit_count},
                      {"cpu_ns", tenth.broker.cpu_ns},
                      {"commit_cpu_ns", tenth.store.commit_cpu_ns},
                      {"commit_wall_ns", tenth.store.commit_wall_ns},
                      {"reads", tenth.store.read_count},
                      {"visits", tenth.store.visit_count},
                      {"writes", tenth.store.write_count},
                      {"longest_turn_ns", tenth.broker.longest_turn_ns},
                      {"memory_bytes", tenth.memory_bytes}});
  }
  return {{"workers", options.worker_count},
          {"jobs", options.job_count},
          {"submitters", options.submitter_count},
          {"keep_jobs", options.keep_jobs},
          {"run_ms_max", options.run_ms_max},
          {"seed", options.seed},
          {"crashes", outcome.crash_count},
          {"simulated_ms", outcome.simulated_ms},
          {"recovered", outcome.recovered_count},
          {"recovery_cpu_ns", outcome.recovery_ns},
          {"memory_begin_bytes", outcome.memory_begin_bytes},
          {"wall_s", seconds},
          {"tenths", tenths}};
}

// Prints the end of the report. Returns the exit code of the program.
ExitCode conclude(const ScaleOptions& options, const ScaleOutcome& outcome, double seconds) {
  if (outcome.violation) {
    std::printf("violation: %s\n", outcome.violation->c_str());
    return ExitCode::job_failed;
  }
  std::uint64_t most_bytes = 0;
  for (const ScaleFigures& tenth : outcome.tenths) {
    if (tenth.phase == ScalePhase::fill) most_bytes = tenth.memory_bytes;
  }
  std::printf("memory grew by %.0f MiB while %llu jobs were queued: %.0f bytes per job\n",
              static_cast<double>(most_bytes - outcome.memory_begin_bytes) / kMebibyte,
              static_cast<unsigned long long>(options.job_count),
              static_cast<double>(most_bytes - outcome.memory_begin_bytes) / static_cast<double>(options.job_count));
  std::printf("the broker started again with %llu unfinished jobs in %.2f s of processor time\n",
              static_cast<unsigned long long>(outcome.recovered_count),
              static_cast<double>(outcome.recovery_ns) / kNsPerS);
  for (const ScalePhase phase : {ScalePhase::fill, ScalePhase::drain}) {
    std::printf("%s: the last tenth takes %.2f times the processor time and %.2f times the reads of the second tenth\n",
                std::string(to_string(phase)).c_str(), growth(outcome, phase, cpu_us), growth(outcome, phase, reads));
  }
  std::printf("%llu jobs on %llu workers with %llu crashes: 0 lost, 0 doubled; %.1f simulated hours in %.0f s\n",
              static_cast<unsigned long long>(options.job_count), static_cast<unsigned long long>(options.worker_count),
              static_cast<unsigned long long>(outcome.crash_count), static_cast<double>(outcome.simulated_ms) / 3.6e6,
              seconds);
  return ExitCode::ok;
}

ExitCode run(const ScaleOptions& options, const std::string& folder, const std::string& json) {
  if (store::holds_store(folder)) {
    std::fprintf(stderr, "kq-sim: --store must name a folder without a store; %s holds one\n", folder.c_str());
    return ExitCode::bad_input;
  }
  auto store = store::open_rocks_store(folder, store::OpenMode::read_write);
  if (!store) {
    std::fprintf(stderr, "kq-sim: %s\n", store.error().message.c_str());
    return ExitCode::our_fault;
  }
  print_heading();
  const std::int64_t begun_ns = wall_ns();
  const ScaleOutcome outcome = run_scale(options, **store, print_tenth);
  const double seconds = static_cast<double>(wall_ns() - begun_ns) / kNsPerS;
  if (!json.empty()) std::ofstream(json) << json_of(options, outcome, seconds).dump(1) << "\n";
  return conclude(options, outcome, seconds);
}

}  // namespace

int scale_command(int argument_count, char** arguments) {
  CLI::App app(
      "Runs one world with many workers and jobs on the real broker core and a store on disk, and prints the\n"
      "work of the broker per job after each tenth of the submissions and of the results.");
  app.name("kq-sim scale");
  ScaleOptions options;
  std::string folder;
  std::string json;
  app.add_option("--workers", options.worker_count, "workers with one GPU each")
      ->check(CLI::Range(std::uint64_t{1}, kScaleWorkersMax))
      ->capture_default_str();
  app.add_option("--jobs", options.job_count, "jobs that are submitted before the workers start")
      ->check(CLI::Range(std::uint64_t{10}, kScaleJobsMax))
      ->capture_default_str();
  app.add_option("--submitters", options.submitter_count, "submitters that share the jobs")
      ->check(CLI::Range(std::uint64_t{1}, kScaleSubmittersMax))
      ->capture_default_str();
  app.add_option("--run-ms", options.run_ms_max, "the longest time of most jobs, simulated")
      ->check(CLI::Range(1, 3'600'000))
      ->capture_default_str();
  app.add_option("--keep-jobs", options.keep_jobs, "finished jobs that are kept; 0 keeps all")->capture_default_str();
  app.add_option("--crash-ms", options.crash_interval_ms, "simulated time between crashes of workers; 0 for none")
      ->check(CLI::Range(0, 3'600'000))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "the seed of the random choices")->capture_default_str();
  app.add_option("--store", folder, "an empty folder for the store, 2 KB per job; it stays")->required();
  app.add_option("--json", json, "a file for the figures");
  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::ParseError& error) {
    const bool is_help = app.exit(error) == 0;
    return static_cast<int>(is_help ? ExitCode::ok : ExitCode::bad_input);
  }
  spdlog::set_level(spdlog::level::warn);
  return static_cast<int>(run(options, folder, json));
}

}  // namespace kq::sim
