#include "producer/gateway/popcorn/job.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include "core/base/enum_names.h"
#include "core/limits.h"
#include "producer/formats/recognise.h"

namespace kq::gateway::popcorn {
namespace {

// Returns why no submission to the board can be judged in this mode, or nothing.
std::optional<std::string> unfit(const Board& board, Mode mode) {
  if (auto why = producer::popcorn::unfit(board)) return why;
  if (mode == Mode::test && board.tests.empty()) return "leaderboard " + board.name + " has no tests";
  if (mode != Mode::test && board.benchmarks.empty()) return "leaderboard " + board.name + " has no benchmarks";
  return std::nullopt;
}

// Returns what is wrong with the client's file, or nothing.
std::optional<std::string> unfit(const ClientFile& file) {
  if (!file.name.ends_with(".py")) return "the file " + file.name + " must be a Python file, name.py";
  if (file.text.empty()) return "the file " + file.name + " is empty";
  if (file.text.size() > kSubmissionBytesMax)
    return "the file " + file.name + " has " + std::to_string(file.text.size()) + " bytes, at most " +
           std::to_string(kSubmissionBytesMax) + " are possible";
  if (file.text.find('\0') != std::string::npos) return "the file " + file.name + " is no text: it has NUL bytes";
  if (const auto wrong = name_error(file.name)) return "the name of the file " + *wrong;
  return std::nullopt;
}

void put_file(producer::PackedJob& job, producer::FileRef file) {
  job.submission.files.push_back({file.name, sha256(*file.text)});
  job.files.push_back(std::move(file));
}

std::uint32_t limit_s(const Board& board, Mode mode) {
  switch (mode) {
    case Mode::test:
      return board.test_s;
    case Mode::benchmark:
    case Mode::profile:
      return board.benchmark_s;
    case Mode::leaderboard:
      return board.test_s + board.benchmark_s + board.ranked_s;
  }
  return board.ranked_s;
}

void set_mode(Submission& submission, Mode mode) {
  submission.trials.correctness = producer::popcorn::kCheckedCalls;
  submission.trials.timed = mode == Mode::test ? 0 : producer::popcorn::kTimedCalls;
  if (mode == Mode::test) submission.problem.workloads = {{std::string(kTestPrefix) + "*"}};
  if (mode == Mode::benchmark || mode == Mode::profile)
    submission.problem.workloads = {{std::string(kBenchmarkPrefix) + "*"}};
  if (mode == Mode::profile) submission.trials.profile = Profiler::ncu;
}

// Returns "H100" of "NVIDIA H100 80GB HBM3" and "RTX_4090" of "NVIDIA GeForce RTX 4090".
std::string short_name(const std::string& model) {
  std::istringstream words(model);
  std::string name, word;
  while (words >> word) {
    if (word == "NVIDIA" || word == "GeForce" || word == "Tesla" || word == "Quadro") continue;
    name += (name.empty() ? "" : "_") + word;
    if (word != "RTX" && word != "GTX" && word != "TITAN") break;
  }
  return name.empty() ? "GPU" : name.substr(0, name.find('-'));
}

std::string long_name(std::string model) {
  std::ranges::replace_if(
      model, [](char c) { return c == ' ' || c == '/'; }, '_');
  return model;
}

}  // namespace

std::vector<Gpu> gpus_of(const BrokerReply& broker) {
  std::map<std::string, std::set<std::string>> models;  // by short name
  bool has_cpu = false;
  for (const WorkerStatus& worker : broker.workers) {
    for (const DeviceInfo& device : worker.devices) {
      if (device.kind == DeviceKind::cpu) has_cpu = true;
      if (device.kind == DeviceKind::cuda) models[short_name(device.model)].insert(device.model);
    }
  }
  std::vector<Gpu> gpus;
  for (const auto& [name, of_name] : models) {
    for (const std::string& model : of_name)
      gpus.push_back({.name = of_name.size() == 1 ? name : long_name(model), .wish = DeviceWish::cuda, .model = model});
  }
  if (has_cpu) gpus.push_back({.name = "CPU", .wish = DeviceWish::cpu, .model = ""});
  return gpus;
}

Expected<producer::PackedJob> job_of(const Board& board, Mode mode, const Gpu& gpu, const ClientFile& file) {
  if (const auto why = unfit(board, mode)) return bad_input(*why);
  if (const auto why = unfit(file)) return bad_input(*why);
  KQ_TRY_VALUE(auto files, producer::popcorn::judged_files(board, file.text));
  producer::PackedJob job;
  for (producer::FileRef& one : files.submission) put_file(job, std::move(one));
  Submission& submission = job.submission;
  submission.backend = producer::recognise_backend("submission.py", file.text);
  submission.problem.name = "popcorn/" + board.name;
  submission.problem.file = files.problem.name;
  submission.problem.hash = sha256(*files.problem.text);
  job.files.push_back(std::move(files.problem));
  submission.device = gpu.wish;
  submission.gpu_model = gpu.model;
  set_mode(submission, mode);
  submission.time_limit_ms = limit_s(board, mode) * 1'000;
  submission.tags = {{std::string(kBoardTag), board.name},
                     {std::string(kModeTag), std::string(to_string(mode))},
                     {std::string(kGpuTag), gpu.name},
                     {std::string(kFileTag), file.name},
                     {std::string(kRankingTag), std::string(to_string(board.ranking))}};
  return job;
}

}  // namespace kq::gateway::popcorn
