#include "tools/fleet/slurm.h"

#include <algorithm>
#include <charconv>

#include "tools/cli/text.h"

namespace kq::tools {
namespace {

constexpr int kExitNotStarted = 127;
constexpr std::string_view kComment = "kq-fleet";
// Number, state, time of submission, time of the end, comment. The comment is the last field, because it may have a
// '|'.
constexpr std::string_view kFormat = "%i|%T|%V|%e|%k";
constexpr std::size_t kFieldCount = 5;

std::string comment_of(const FleetPool& pool, const std::string& fleet) {
  return std::string(kComment) + " " + name_of(pool) + " " + fleet;
}

// Returns the pool that a comment names, or nothing if the comment is not one of this fleet.
std::optional<FleetPool> pool_of(const std::string& comment, const std::string& fleet) {
  const std::string head = std::string(kComment) + " ";
  if (!comment.starts_with(head)) return std::nullopt;
  auto pool = parse_pool(comment.substr(head.size(), comment.find(' ', head.size()) - head.size()));
  if (!pool || comment_of(*pool, fleet) != comment) return std::nullopt;
  return *pool;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    if (end > from) lines.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

// Returns what a command printed as one printable line.
std::string one_line(const std::string& output) {
  std::string text;
  for (const std::string& line : lines_of(output)) text += (text.empty() ? "" : "; ") + line;
  return text.empty() ? "it printed nothing" : printable(text);
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::size_t from = 0;
  while (fields.size() + 1 < kFieldCount) {
    const std::size_t end = line.find('|', from);
    if (end == std::string::npos) break;
    fields.push_back(line.substr(from, end - from));
    from = end + 1;
  }
  fields.push_back(line.substr(from));
  return fields;
}

// Returns the Unix time in milliseconds, or 0 for a text such as "N/A".
std::int64_t unix_ms(const std::string& seconds) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(seconds.data(), seconds.data() + seconds.size(), value);
  return error == std::errc() && end == seconds.data() + seconds.size() ? value * 1'000 : 0;
}

FleetJob::State state_of(std::string_view name) {
  using State = FleetJob::State;
  static constexpr std::pair<std::string_view, State> kStates[] = {
      {"PENDING", State::pending},      {"REQUEUED", State::pending},      {"REQUEUE_FED", State::pending},
      {"REQUEUE_HOLD", State::pending}, {"RESV_DEL_HOLD", State::pending}, {"SPECIAL_EXIT", State::pending},
      {"RUNNING", State::running},      {"CONFIGURING", State::running},   {"SUSPENDED", State::running},
      {"STOPPED", State::running},      {"RESIZING", State::running},      {"SIGNALING", State::running},
      {"COMPLETING", State::ending},    {"STAGE_OUT", State::ending},      {"FAILED", State::failed},
      {"BOOT_FAIL", State::failed},     {"OUT_OF_MEMORY", State::failed}};
  for (const auto& [known, state] : kStates) {
    if (known == name) return state;
  }
  return State::ended;  // COMPLETED, CANCELLED, TIMEOUT, PREEMPTED, NODE_FAIL, DEADLINE, REVOKED
}

bool is_job_id(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789_") == std::string::npos;
}

}  // namespace

// Runs a command of Slurm and returns its output. `refused` is the kind of the Error when the command itself fails.
Expected<std::string> Slurm::output_of(const std::vector<std::string>& words, const Variables& environment,
                                       ErrorKind refused) const {
  KQ_TRY_VALUE(auto end, run_(words, environment));
  if (end.exit_code == 0) return std::move(end.output);
  if (end.exit_code == kExitNotStarted)
    return bad_input(words[0] + " cannot be started here; run kq fleet on a machine that has Slurm's commands: " +
                     one_line(end.output));
  return failure(Error{
      refused, words[0] + " failed with exit code " + std::to_string(end.exit_code) + ": " + one_line(end.output)});
}

Expected<std::vector<FleetJob>> Slurm::jobs(std::vector<FleetPool>& pools) const {
  KQ_TRY_VALUE(const auto output,
               output_of({"squeue", "--noheader", "--array", "--me", "--states=all",
                          "--name=" + std::string(kSlurmJobName), "--format=" + std::string(kFormat)},
                         {{"SLURM_TIME_FORMAT", "%s"}}, ErrorKind::our_fault));
  std::vector<FleetJob> jobs;
  for (const std::string& line : lines_of(output)) {
    const std::vector<std::string> fields = split(line);
    if (fields.size() < kFieldCount || !is_job_id(fields[0])) continue;  // a warning of squeue
    auto pool = pool_of(fields[4], options_.name);
    if (!pool) continue;
    auto at = std::ranges::find_if(pools, [&](const FleetPool& known) { return name_of(known) == name_of(*pool); });
    if (at == pools.end()) {
      pool->is_wanted = false;
      at = pools.insert(pools.end(), *pool);
    }
    jobs.push_back({.id = fields[0],
                    .pool = static_cast<std::size_t>(at - pools.begin()),
                    .state = state_of(fields[1]),
                    .submitted_ms = unix_ms(fields[2]),
                    .ended_ms = unix_ms(fields[3])});
  }
  return jobs;
}

Expected<std::string> Slurm::start(const FleetPool& pool, std::uint32_t count) const {
  std::vector<std::string> words{"sbatch"};
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  words.push_back("--parsable");
  words.push_back("--job-name=" + std::string(kSlurmJobName));
  words.push_back("--comment=" + comment_of(pool, options_.name));
  if (!pool.gpu.empty()) words.push_back("--gres=gpu:" + name_of(pool));
  if (count > 1) words.push_back("--array=0-" + std::to_string(count - 1));
  words.push_back(options_.script);
  std::vector<std::string> labels = options_.labels;
  if (!pool.gpu.empty()) labels.push_back(pool.gpu);
  // The fleet's own key is not for the workers, so KQ_KEY is always replaced.
  Variables environment{{"KQ_BROKER", options_.broker},
                        {"KQ_KEY", options_.worker_key},
                        {"KQ_LABELS", joined(labels)},
                        {"KQ_IDLE_EXIT", std::to_string(options_.idle_exit_s)}};
  if (!options_.worker.empty()) environment.emplace_back("KQ_WORKER", options_.worker);
  KQ_TRY_VALUE(const auto output, output_of(words, environment, ErrorKind::bad_input));
  // The output is "NUMBER" or "NUMBER;CLUSTER", perhaps after warnings.
  for (const std::string& line : lines_of(output)) {
    const std::string id = line.substr(0, line.find(';'));
    if (is_job_id(id)) return id;
  }
  return our_fault("sbatch printed no job number: " + one_line(output));
}

Expected<void> Slurm::cancel(const std::string& job) const {
  KQ_TRY(output_of({"scancel", "--state=PENDING", job}, {}, ErrorKind::our_fault));
  return {};
}

Expected<void> Slurm::drain(const std::string& job) const {
  KQ_TRY(output_of({"scancel", "--batch", "--signal=USR1", job}, {}, ErrorKind::our_fault));
  return {};
}

}  // namespace kq::tools
