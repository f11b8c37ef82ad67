// Runs rows on a device lane with its real judge, zygote and children, for runtime_test.py.
//
// The program opens the lane and prints a line of JSON. Then it reads one line of JSON for each row, runs the row and
// prints one line of JSON:
//
//   <-  {"ready": true, "judge": PID, "zygote": PID, "scratch": DIR, "uids": [N, ...]}
//   ->  {"entry": FILE, "problem": FILE, "backend": "torch", "trials": [CORRECTNESS, WARMUP, TIMED]}
//   <-  {"verdict": "wrong_answer", "reason": "value", "message": "...", "log": "...", "median_ns": N, "samples": N,
//        "sandbox": "uid,...", "judge": PID, "zygote": PID}   or   {"error": "one sentence"}
//
// The static guard is a part of the build lane, which this program does not have. Therefore rows run that the guard
// would reject. A worker has no switch that turns its guard off.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "gpu_worker/lane/lane.h"
#include "sys/process.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The limits of the lane for rows that time out. Other lanes have the normal limits, which suit a busy machine.
constexpr std::uint32_t kHastyCallLimitMs = 1'500;
constexpr std::uint32_t kHastyLoadLimitMs = 4'000;
constexpr std::int64_t kRunLimitMs = 30'000;
// A limit that no call reaches, so that every timed call is also timed in bursts, even on a CPU.
constexpr std::uint32_t kBurstBelowNs = 2'000'000'000;
constexpr std::uint64_t kHostBytes = 512ull << 20;
// User ids for children, as the worker chooses them: unused ids below 65534 (nobody), different in each lane of a test.
constexpr std::uint32_t kFirstUid = 62'000, kLanesMax = 140;
static_assert(kFirstUid + kLanesMax * kUidsPerLane < 65'534);
std::uint32_t first_uid(std::uint32_t number) {
  return ::geteuid() == 0 ? kFirstUid + number % kLanesMax * kUidsPerLane : 0;
}

std::string content_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

LaneOptions options_of(const std::string& python, const std::string& root, DeviceKind device, const std::string& pace,
                       std::uint32_t number) {
  const std::string programs = sys::program_directory();
  Limits limits;
  if (pace == "hasty") {
    limits.first_launch_limit_ms = 0;
    limits.call_limit_ms = kHastyCallLimitMs;
    limits.load_limit_ms = kHastyLoadLimitMs;
  }
  limits.timed_budget_ms = 200;
  if (pace == "bursts")
    limits.bursts = Bursts::always,
    limits.burst_below_ns = kBurstBelowNs;  // on a GPU the option `bursts` of the lane decides
  limits.host_bytes_max = kHostBytes;
  return {.device = device,
          .index = 0,
          .worker = "rows",
          .judge_program = programs + "/kq-judge",
          .zygote = {.python = python,
                     .harness = programs + "/../share/kq/harness",
                     .stub = programs + "/../lib/kq/libkqstub.so",
                     .device = device,
                     .device_index = 0},
          .scratch = root + "/scratch",
          .first_uid = first_uid(number),
          .limits = limits,
          .run_limit_ms = kRunLimitMs,
          .bursts = pace == "bursts" ? Bursts::always : Bursts::doubt,
          // The suite tests what happens to rows that no audit detects, except where streams and graphs are allowed.
          .audits = pace == "allowed"};
}

Lease lease_of(const json& order, const DeviceInfo& device, const std::string& pace) {
  const std::string entry = order.at("entry");
  const std::string problem = order.at("problem");
  const std::string source = content_of_file(entry);
  const std::string reference = content_of_file(problem);
  Lease lease;
  lease.id = {1, 1};
  lease.device = device;
  lease.submission.label = "row";
  lease.submission.backend = parse_enum<Backend>(order.at("backend").get<std::string>()).value_or(Backend::torch);
  lease.submission.files = {{fs::path(entry).filename(), sha256(source)}};
  lease.submission.problem.name = "problem";
  lease.submission.problem.file = fs::path(problem).filename();
  lease.submission.problem.hash = sha256(reference);
  const auto& trials = order.at("trials");
  lease.submission.trials = {.correctness = trials.at(0), .warmup = trials.at(1), .timed = trials.at(2)};
  if (pace == "allowed") {
    lease.submission.trials.streams = Streams::joined;
    lease.submission.trials.graphs = Graphs::allow;
  }
  lease.blobs = {{sha256(source), source}, {sha256(reference), reference}};
  return lease;
}

json answer_of(const Expected<Result>& result) {
  if (!result) return {{"error", result.error().message}};
  const Evidence* evidence = evidence_of(result->verdict);
  const Measurement* measurement = measurement_of(result->verdict);
  return {{"verdict", to_string(name_of(result->verdict))},
          {"reason", evidence == nullptr ? "" : evidence->reason},
          {"message", evidence == nullptr ? "" : evidence->message},
          {"log", result->log},
          {"median_ns", measurement == nullptr ? 0.0 : measurement->submission.median_ns},
          {"samples", result->samples.submission_ns.size()},
          {"sandbox", result->sandbox}};
}

void say(const json& line) {
  std::cout << line.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
}

int run(const std::string& python, const std::string& root, DeviceKind device, const std::string& pace,
        std::uint32_t number) {
  ::signal(SIGPIPE, SIG_IGN);
  fs::create_directories(root + "/built");
  const worker::LaneOptions options = options_of(python, root, device, pace, number);
  auto lane = worker::Lane::open(options);
  if (!lane) {
    say({{"error", lane.error().message}});
    return 3;
  }
  const auto zygote_of = [&] {
    const auto zygote = (*lane)->zygote();
    return zygote ? (*zygote)->process() : 0;
  };
  std::vector<std::uint32_t> uids(options.first_uid == 0 ? 1 : worker::kUidsPerLane);
  std::iota(uids.begin(), uids.end(), options.first_uid);
  say({{"ready", true},
       {"judge", (*lane)->judge_process()},
       {"zygote", zygote_of()},
       {"scratch", options.scratch},
       {"uids", uids}});
  for (std::string line; std::getline(std::cin, line);) {
    const json order = json::parse(line);
    const Lease lease = lease_of(order, (*lane)->device(), pace);
    json answer = answer_of((*lane)->run(lease, {.verdict = {}, .dir = root + "/built"}));
    (*lane)->wait_until_idle();
    answer["judge"] = (*lane)->judge_process();
    answer["zygote"] = zygote_of();
    say(answer);
  }
  return 0;
}

}  // namespace
}  // namespace kq::worker

int main(int argc, char** argv) {
  const auto device = argc == 6 ? kq::parse_enum<kq::DeviceKind>(argv[3]) : std::nullopt;
  const std::string pace = argc == 6 ? argv[4] : "";
  if (device && (pace == "hasty" || pace == "patient" || pace == "bursts" || pace == "allowed")) {
    const auto number = static_cast<std::uint32_t>(std::strtoul(argv[5], nullptr, 10));
    return kq::worker::run(argv[1], argv[2], *device, pace, number);
  }
  std::cerr
      << "usage: lane_rows PYTHON FOLDER cpu|cuda hasty|patient|bursts|allowed NUMBER, which must differ between lanes "
         "that run at the same time\n";
  return 2;
}
