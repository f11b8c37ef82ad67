#include "broker/script/script.h"

#include <charconv>
#include <type_traits>
#include <utility>
#include <vector>

#include "broker/invariants.h"
#include "broker/script/script_text.h"
#include "store/keys.h"

namespace kq::broker {
namespace {

// ---- text -> event --------------------------------------------------------------------------------------------------

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    pieces.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return pieces;
}

std::uint64_t number_in(std::string_view text, std::uint64_t fallback) {
  std::uint64_t number = fallback;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// A job is "label" or "label:source".
std::string source_of(const std::string& job) {
  return job.substr(job.find(':') + 1);
}

Submission submission_in(const std::string& job, const Command& command) {
  Submission submission;
  submission.label = job.substr(0, job.find(':'));
  submission.author = command.text("author");
  submission.files = {{"kernel.py", sha256(source_of(job))}};
  submission.problem.name = command.text("problem", "relu");
  submission.problem.file = submission.problem.name + ".py";
  submission.problem.hash = sha256(submission.problem.name);
  submission.problem.precision =
      parse_enum<Precision>(command.text("precision", "as_given")).value_or(Precision::as_given);
  submission.problem.device_count = static_cast<std::uint32_t>(command.number("device_count", 1));
  submission.device = parse_enum<DeviceWish>(command.text("device", "any")).value_or(DeviceWish::any);
  submission.gpu_model = command.text("gpu_model");
  submission.salt = command.text("salt");
  submission.trials.baseline = parse_enum<Baseline>(command.text("baseline", "eager")).value_or(Baseline::eager);
  submission.backend = parse_enum<Backend>(command.text("backend", "torch")).value_or(Backend::torch);
  submission.priority = parse_enum<Priority>(command.text("priority", "normal")).value_or(Priority::normal);
  submission.labels = split(command.text("labels"), '+');
  const auto time = [&](std::string_view value) {
    const std::string ms = command.text(value);
    return ms.empty() ? 0 : kStartMs + static_cast<std::int64_t>(number_in(ms, 0));
  };
  submission.not_before_ms = time("not_before");
  submission.deadline_ms = time("deadline");
  return submission;
}

SubmitBatch batch_in(const Command& command) {
  SubmitBatch batch{.run = command.text("run", "r"), .jobs = {}, .blobs = {}, .submitter = command.text("by")};
  const std::string blobs = command.text("blobs", "all");
  const auto add = [&](const std::string& content) {
    if (blobs != "none") batch.blobs.push_back({sha256(content), blobs == "wrong" ? "not " + content : content});
  };
  add(command.text("problem", "relu"));
  for (const std::string& job : split(command.text("jobs"), ',')) {
    batch.jobs.push_back(submission_in(job, command));
    add(source_of(job));
  }
  return batch;
}

// Examples: "cpu", "H200", "H200:80" with the size of its memory, "B200:80:sm_100" with an architecture (default
// sm_90), "H200:80:sm_90:2" for a lane of two.
DeviceInfo device_in(const std::string& text) {
  const auto parts = split(text, ':');
  const bool is_cpu = parts.at(0) == "cpu";
  DeviceInfo device;
  device.kind = is_cpu ? DeviceKind::cpu : DeviceKind::cuda;
  device.model = parts[0];
  device.arch = is_cpu ? "" : parts.size() > 2 ? parts[2] : "sm_90";
  device.memory_bytes = parts.size() > 1 ? number_in(parts[1], 0) : 80;
  device.device_count = parts.size() > 3 ? static_cast<std::uint32_t>(number_in(parts[3], 0)) : 1;
  return device;
}

// "sm_90" or "cpu".
DeviceInfo target_in(const std::string& text) {
  const bool is_cpu = text == "cpu";
  return {.kind = is_cpu ? DeviceKind::cpu : DeviceKind::cuda, .model = {}, .uuid = {}, .arch = is_cpu ? "" : text};
}

// "seq/attempt".
LeaseId lease_in(const std::string& text) {
  const auto parts = split(text, '/');
  return {number_in(parts.at(0), 0), static_cast<Attempt>(number_in(parts.back(), 0))};
}

std::vector<LeaseId> leases_in(const Command& command) {
  std::vector<LeaseId> leases;
  for (const std::string& lease : split(command.text("leases"), ',')) leases.push_back(lease_in(lease));
  return leases;
}

// "seq/attempt/ms" for a build of extensions, "seq/attempt/ms/quick" for another build.
std::vector<BuildInProgress> builds_in(const Command& command) {
  std::vector<BuildInProgress> builds;
  for (const std::string& build : split(command.text("builds"), ',')) {
    const auto parts = split(build, '/');
    builds.push_back({.lease = {number_in(parts.at(0), 0), static_cast<Attempt>(number_in(parts.at(1), 0))},
                      .ms = static_cast<std::uint32_t>(number_in(parts.at(2), 0)),
                      .extensions = parts.size() < 4});
  }
  return builds;
}

Result result_in(const Command& command) {
  const auto name = parse_enum<VerdictName>(command.text("verdict", "passed")).value_or(VerdictName::passed);
  Measurement measurement;
  measurement.submission.sample_count = 5;
  measurement.submission.median_ns = static_cast<double>(command.number("median", 1000));
  measurement.reference.sample_count = 5;
  measurement.reference.median_ns = static_cast<double>(command.number("reference", 2000));
  Result result;
  result.device = device_in(command.text("device", "cpu"));
  result.samples.submission_ns = {static_cast<std::int64_t>(command.number("median", 1000))};
  if (name == VerdictName::passed) {
    result.verdict = Passed{measurement, {}};
  } else if (name == VerdictName::suspect) {
    result.verdict = Suspect{measurement, {}, {}};
  } else {
    Evidence evidence;
    evidence.message = command.text("message");
    result.verdict = ended(name, std::move(evidence));
  }
  result.log = command.text("log");
  return result;
}

Hello hello_in(const Command& command, const std::string& worker) {
  Hello hello{.worker = command.text("name", worker),
              .epoch = command.number("epoch", 1),
              .devices = {},
              .credit = static_cast<std::uint32_t>(command.number("credit", 1)),
              .evaluator = command.text("evaluator", kEvaluatorVersion),
              .labels = split(command.text("labels"), '+')};
  for (const std::string& backend : split(command.text("backends"), ','))
    hello.backends.push_back(parse_enum<Backend>(backend).value_or(Backend::torch));
  for (const std::string& target : split(command.text("builds_for"), ','))
    hello.builds_for.push_back(target_in(target));
  for (const std::string& device : split(command.text("devices", hello.builds_for.empty() ? "cpu" : ""), ','))
    hello.devices.push_back(device_in(device));
  return hello;
}

// `object` gives the bytes of the artifact; `hash=wrong` gives it a wrong hash.
BuildResult build_result_in(const Command& command, std::uint64_t epoch) {
  BuildResult result{.epoch = epoch,
                     .build = {command.number("seq", 1), 0},
                     .object = std::nullopt,
                     .message = command.text("message")};
  if (!command.values.contains("object")) return result;
  const DeviceInfo target = target_in(command.text("for", "sm_90"));
  const std::string bytes = command.text("object");
  result.object = BuildObject{.kind = target.kind,
                              .arch = target.arch,
                              .key = sha256("key"),
                              .hash = sha256(command.text("hash", bytes)),
                              .bytes = bytes};
  return result;
}

ResultBatch results_in(const Command& command, std::uint64_t epoch) {
  ResultBatch batch{.epoch = epoch, .results = {}, .errors = {}};
  for (const LeaseId& lease : leases_in(command)) {
    if (command.name == "error") {
      batch.errors.push_back({lease, command.text("message", "no disk")});
    } else {
      batch.results.push_back({lease, result_in(command)});
    }
  }
  return batch;
}

std::optional<ClientRequest> operation_in(const Command& command) {
  std::vector<Sequence> seqs;
  for (const std::string& seq : split(command.text("seqs"), ',')) seqs.push_back(number_in(seq, 0));
  const auto limit = static_cast<std::uint32_t>(command.number("limit", 100));
  if (command.name == "status")
    return StatusQuery{std::move(seqs), static_cast<std::uint32_t>(command.number("wait", 0))};
  if (command.name == "cancel") return CancelJobs{std::move(seqs), command.text("by")};
  if (command.name == "share" || command.name == "unshare") {
    return ShareRun{.run = command.text("run", "r"),
                    .names = split(command.text("with"), ','),
                    .shared = command.name == "share",
                    .submitter = command.text("by")};
  }
  if (command.name == "file") {
    return FileQuery{.run = command.text("run", "r"),
                     .label = command.text("label"),
                     .hash = sha256(command.text("of", command.text("label")))};
  }
  if (command.name == "retry") return RetryJobs{std::move(seqs)};
  if (command.name == "purge") return PurgeDead{std::move(seqs)};
  if (command.name == "pause" || command.name == "resume") return Pause{command.text("of"), command.name == "pause"};
  if (command.name == "drain" || command.name == "undrain") return Drain{command.text("name"), command.name == "drain"};
  if (command.name == "jobs") {
    const auto state = parse_enum<JobState>(command.text("state", "queued")).value_or(JobState::queued);
    return JobsQuery{.state = state, .after_seq = command.number("after", 0), .limit = limit};
  }
  if (command.name == "runs") return RunsQuery{.after = command.text("after"), .limit = limit};
  if (command.name == "dead") return DeadQuery{.after_seq = command.number("after", 0), .limit = limit};
  if (command.name == "queue")
    return QueueQuery{.limit = limit, .skip = static_cast<std::uint32_t>(command.number("skip", 0))};
  return std::nullopt;
}

std::optional<ClientRequest> client_request_in(const Command& command) {
  if (command.name == "submit") return batch_in(command);
  if (command.name == "run") {
    return RunQuery{.run = command.text("run", "r"),
                    .after_label = command.text("after"),
                    .limit = static_cast<std::uint32_t>(command.number("limit", 100)),
                    .with_samples = command.number("samples", 0) != 0};
  }
  if (command.name == "board")
    return BoardQuery{.after_key = "", .limit = static_cast<std::uint32_t>(command.number("limit", 100))};
  if (command.name == "broker") return BrokerQuery{};
  return operation_in(command);
}

std::optional<WorkerRequest> worker_request_in(const Command& command, const std::string& worker) {
  const std::uint64_t epoch = command.number("epoch", 1);
  if (command.name == "hello") return hello_in(command, worker);
  if (command.name == "heartbeat")
    return Heartbeat{epoch, leases_in(command), builds_in(command), command.number("early", 0) != 0};
  if (command.name == "result" || command.name == "error") return results_in(command, epoch);
  if (command.name == "built") return build_result_in(command, epoch);
  if (command.name == "goodbye") return Goodbye{epoch};
  return std::nullopt;
}

std::optional<Event> event_in(const Command& command) {
  const std::uint64_t id = command.number("id", 1);
  const std::string worker = command.text("worker", "w");
  if (command.name == "undelivered") return Undelivered{worker, leases_in(command)};
  if (command.name == "disk")
    return store::Space{.free_bytes = command.number("free", 0), .nearly_full = command.number("full", 0) != 0};
  if (auto request = client_request_in(command)) {
    const std::string user = command.text("user");
    const Role role = user.empty() || user == "root" ? Role::admin : user == "web" ? Role::gateway : Role::submit;
    const Identity identity{.name = user, .role = role};
    return FromClient{command.text("client", "c"), {id, std::move(*request)}, identity};
  }
  if (auto request = worker_request_in(command, worker)) return FromWorker{worker, {id, std::move(*request)}};
  return std::nullopt;
}

}  // namespace

// ---- running a script ----------------------------------------------------------------------------------------------

std::string Command::text(std::string_view value, std::string_view fallback) const {
  const auto place = values.find(value);
  return place == values.end() ? std::string(fallback) : place->second;
}

std::uint64_t Command::number(std::string_view value, std::uint64_t fallback) const {
  return number_in(text(value), fallback);
}

Command parse_command(std::string_view line) {
  std::vector<std::string> parts{""};
  bool in_quotes = false;
  for (const char c : line) {
    if (c == '"') {
      in_quotes = !in_quotes;
    } else if (c == ' ' && !in_quotes) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  Command command{.name = parts.front(), .values = {}};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    if (equals != std::string::npos) command.values.emplace(parts[i].substr(0, equals), parts[i].substr(equals + 1));
  }
  return command;
}

Script::Script(store::Store& store) : store_(store), now_ms_(kStartMs) {
  start({});
}

std::string Script::run(std::string_view line) {
  const Command command = parse_command(line);
  if (command.name == "start") return start(command);
  if (command.name == "lose") return lose(command);
  if (command.name == "begin") {
    open_turn_.emplace();
    return step(Tick{}, *open_turn_);
  }
  if (command.name == "commit") return close(*std::exchange(open_turn_, std::nullopt));
  if (command.name == "advance") {
    now_ms_ += static_cast<std::int64_t>(command.number("ms", 0));
    return run_event(std::nullopt);
  }
  if (command.name == "tick") return run_event(std::nullopt);
  auto event = event_in(command);
  if (!event) return "script: unknown command '" + command.name + "'\n";
  return run_event(std::move(*event));
}

// Starts a new broker over the same store, perhaps with other limits.
std::string Script::start(const Command& command) {
  options_.unfinished_jobs_max = command.number("jobs_max", options_.unfinished_jobs_max);
  options_.submitter_jobs_max = command.number("submitter_jobs_max", options_.submitter_jobs_max);
  options_.submitter_bytes_max = command.number("submitter_bytes_max", options_.submitter_bytes_max);
  options_.submitters_max = command.number("submitters_max", options_.submitters_max);
  options_.classes_max = command.number("classes_max", options_.classes_max);
  options_.submitter_classes_max = command.number("submitter_classes_max", options_.submitter_classes_max);
  options_.sessions_max = command.number("sessions_max", options_.sessions_max);
  options_.lease_batch_bytes_max = command.number("lease_batch_bytes_max", options_.lease_batch_bytes_max);
  options_.leases_per_step_max = command.number("leases_per_step_max", options_.leases_per_step_max);
  options_.timers_per_step_max = command.number("timers_per_step_max", options_.timers_per_step_max);
  options_.artifacts_max = command.number("objects_max", options_.artifacts_max);
  options_.builds_ahead_max = command.number("builds_ahead_max", options_.builds_ahead_max);
  options_.keep_ms = static_cast<std::int64_t>(command.number("keep_ms", static_cast<std::uint64_t>(options_.keep_ms)));
  options_.keep_jobs = command.number("keep_jobs", options_.keep_jobs);
  options_.keep_ms_min =
      static_cast<std::int64_t>(command.number("keep_ms_min", static_cast<std::uint64_t>(options_.keep_ms_min)));
  options_.jobs_removed_per_step_max = command.number("jobs_removed_per_step_max", options_.jobs_removed_per_step_max);
  auto broker = Broker::recover(store_, options_, now_ms_);
  if (!broker) return "broker: " + broker.error().message + "\n";
  broker_.emplace(std::move(*broker));
  return "";
}

// Erases a blob, given by its content, or the body of a job from the store.
std::string Script::lose(const Command& command) {
  store::Write write{store::Family::blob, store::hash_key(sha256(command.text("blob"))), std::nullopt};
  if (command.values.contains("body"))
    write = {store::Family::body, store::sequence_key(command.number("body", 0)), std::nullopt};
  const auto committed = store_.commit(std::span(&write, 1));
  return committed ? "" : "script: " + committed.error().message + "\n";
}

std::string Script::run_event(std::optional<Event> event) {
  if (open_turn_) return event ? step(std::move(*event), *open_turn_) : "";
  Ready turn;
  std::string text = step(Tick{}, turn);
  if (event) text += step(std::move(*event), turn);
  return text + close(std::move(turn));
}

std::string Script::close(Ready turn) {
  std::string text = step(Dispatch{}, turn);
  return text + finish(std::move(turn));
}

std::string Script::step(Event event, Ready& turn) {
  auto ready = broker_->step(std::move(event), now_ms_);
  if (!ready) return "broker: " + ready.error().message + "\n";
  turn.merge(std::move(*ready));
  const auto broken = broken_invariant(broker_->state());
  return broken ? "broken: " + *broken + "\n" : "";
}

std::string Script::finish(Ready turn) {
  std::string text;
  for (const BackupOrder& order : turn.backups()) text += "backup to " + order.dir + " for " + order.peer + "\n";
  for (const store::Write& write : turn.writes()) text += "write " + shown(write) + "\n";
  const auto sends = commit(std::move(turn), store_);
  if (!sends) return text + "commit: " + sends.error().message + "\n";
  for (const Send& send : *sends) text += "send " + shown(send) + "\n";
  return text;
}

std::string run_script(std::string_view text, store::Store& store) {
  Script script(store);
  std::string file, output;
  bool in_output = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line == "----") {
      in_output = true;
      file += "----\n" + std::exchange(output, "");
    } else if (line.empty()) {
      in_output = false;
      file += "\n";
    } else if (!in_output) {
      file.append(line) += '\n';
      if (!line.starts_with('#')) output += script.run(line);
    }
  }
  return file;
}

}  // namespace kq::broker
