#include "tools/fleet/fleet.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <ostream>
#include <set>

#include "core/limits.h"
#include "net/endpoint.h"
#include "producer/client/sentences.h"
#include "tools/cli/flags.h"
#include "tools/cli/text.h"
#include "tools/fleet/plan.h"
#include "tools/fleet/slurm.h"

namespace kq::tools {
namespace {

namespace fs = std::filesystem;
using producer::counted;

const std::string kProgram = "kq-fleet";
constexpr std::uint32_t kWorkersMax = 10'000;

struct Options {
  std::string engine;
  std::string broker = std::string(net::kDefaultBrokerUrl);
  std::string key;
  std::string name;
  std::vector<std::string> gpus;
  std::optional<double> idle_s;
  std::optional<double> every_s;
  FleetLimits limits{.workers_max = 0};
  SlurmOptions slurm;
  bool once = false;
  bool dry_run = false;
};

// A fleet of workers in Slurm.
class Fleet {
 public:
  Fleet(const Options& options, std::vector<FleetPool> pools, producer::Client& client, const FleetWorld& world)
      : options_(options), pools_(std::move(pools)), client_(client), slurm_(options.slurm, world.run), world_(world) {}

  // Looks once at the queue and at Slurm, and starts, cancels and drains what is necessary.
  Expected<void> round() {
    FleetView view{.pools = pools_};
    KQ_TRY_VALUE(auto status, client_.ask_for<BrokerReply>(BrokerQuery{}));
    KQ_TRY(read_lanes(view.lanes));
    KQ_TRY_VALUE(view.jobs, slurm_.jobs(view.pools));
    if (options_.once) world_.out << summary(view, status) << '\n';
    view.workers = std::move(status.workers);
    std::set<std::string> notes;
    std::optional<Error> failed;
    for (const FleetAction& action : plan(view, options_.limits, memory_, world_.unix_now_ms())) {
      if (action.kind == FleetAction::Kind::say) {
        if (!notes_.contains(action.reason)) world_.out << printable(action.reason) << '\n';
        notes.insert(action.reason);
      } else if (auto done = act(action, view); !done && !failed) {
        failed = std::move(done.error());
      }
      world_.out.flush();
    }
    notes_ = std::move(notes);
    if (failed) return failure(*std::move(failed));
    return {};
  }

 private:
  Expected<void> read_lanes(std::vector<LaneRow>& lanes) {
    QueueQuery query{.limit = kQueryRowsMax};
    for (bool more = true; more;) {
      KQ_TRY_VALUE(auto page, client_.ask_for<QueueReply>(query));
      more = page.more && !page.lanes.empty();
      query.skip += static_cast<std::uint32_t>(page.lanes.size());
      std::ranges::move(page.lanes, std::back_inserter(lanes));
    }
    return {};
  }

  std::string summary(const FleetView& view, const BrokerReply& status) const {
    std::size_t running = 0;
    std::size_t pending = 0;
    for (const FleetJob& job : view.jobs) {
      running += job.state == FleetJob::State::running ? 1 : 0;
      pending += job.state == FleetJob::State::pending ? 1 : 0;
    }
    return counted(status.queued, "queued job") + ", " + counted(status.leased, "leased job") + "; " +
           counted(running, "Slurm job") + " of the fleet " + (running == 1 ? "runs, " : "run, ") +
           std::to_string(pending) + (pending == 1 ? " waits" : " wait") + " to start";
  }

  Expected<void> act(const FleetAction& action, const FleetView& view) {
    using Kind = FleetAction::Kind;
    if (action.kind == Kind::start) {
      const FleetPool& pool = view.pools[action.pool];
      const std::string what = counted(action.count, "worker") + " of pool " + name_of(pool);
      if (options_.dry_run) return print("would start " + what, action.reason);
      KQ_TRY_VALUE(const auto job, slurm_.start(pool, action.count));
      return print("started " + what + " as Slurm job " + job, action.reason);
    }
    const bool drains = action.kind == Kind::drain;
    if (options_.dry_run) return print((drains ? "would drain " : "would cancel ") + action.job, action.reason);
    KQ_TRY(drains ? slurm_.drain(action.job) : slurm_.cancel(action.job));
    if (drains) memory_.drained.insert(action.job);
    return print((drains ? "drained Slurm job " : "cancelled waiting Slurm job ") + action.job, action.reason);
  }

  Expected<void> print(const std::string& what, const std::string& reason) {
    world_.out << printable(what + ": " + reason) << '\n';
    return {};
  }

  const Options& options_;
  const std::vector<FleetPool> pools_;
  producer::Client& client_;
  const Slurm slurm_;
  const FleetWorld& world_;
  FleetMemory memory_;
  std::set<std::string> notes_;  // sentences of the last round, which are not printed again
};

// Runs rounds until a stop signal arrives. A failure ends the program at once with --once, or where the first round
// finds that the command line is wrong.
Expected<void> run_rounds(Fleet& fleet, const Options& options, const FleetWorld& world) {
  const auto every_ms = static_cast<std::int64_t>(options.every_s.value_or(10) * 1'000);
  int failed_count = 0;
  for (bool is_first = true;; is_first = false) {
    const auto done = fleet.round();
    if (!done && done.error().kind == ErrorKind::interrupted) break;
    if (options.once || (!done && is_first && done.error().kind == ErrorKind::bad_input)) return done;
    failed_count = done ? 0 : failed_count + 1;
    if (failed_count >= kFleetFailedRoundsMax) return done;
    const std::int64_t pause_ms = std::min(every_ms << failed_count, std::max(kFleetPauseMsMax, every_ms));
    if (!done)
      world.err << kProgram << ": " << printable(done.error().message) << "; the fleet tries again in "
                << age_text(pause_ms) << std::endl;
    if (world.sleep(pause_ms)) break;
  }
  world.err << kProgram << ": the fleet stops; its workers go on and end by themselves when they are idle" << std::endl;
  return {};
}

void declare(Flags& flags, Options& options) {
  flags.argument("engine", "batch system that runs the workers: slurm", options.engine);
  flags.option("--broker", "URL", "URL of the broker (default " + options.broker + ")", options.broker, "KQ_BROKER");
  flags.option("--key", "FILE", "key file of the fleet, of a submitter, for a broker that requires keys", options.key,
               "KQ_KEY");
  flags.option("--worker-key", "FILE", "key file of the workers, at a path that the nodes see",
               options.slurm.worker_key, "KQ_WORKER_KEY");
  flags.number("--max", "the most workers, necessary", options.limits.workers_max, 1, kWorkersMax);
  flags.number("--min", "the fewest workers (default 0)", options.limits.workers_min, 0, kWorkersMax);
  flags.repeatable_option("--gpu", "MODEL[:N]",
                          "a pool of workers with N GPUs (default 1) of a model, as Slurm's --gres names it; MODEL "
                          "becomes their label; may be repeated (default: one pool without --gres)",
                          options.gpus);
  flags.number("--jobs-per-device", "unfinished jobs for which the queue needs a device (default 10)",
               options.limits.jobs_per_device, 1, 1'000'000);
  flags.seconds("--idle", "seconds for which a surplus worker is idle before it ends (default 60)", options.idle_s);
  flags.seconds("--every", "seconds between two looks at the queue (default 10)", options.every_s);
  flags.repeatable_option("--label", "NAME", "a further label of every worker; may be repeated", options.limits.labels);
  flags.option("--script", "FILE", "job script of a worker (default: deploy/slurm/worker.sbatch)",
               options.slurm.script);
  flags.repeatable_option("--sbatch", "WORD", "a further argument of sbatch, as --sbatch=--partition=gpu",
                          options.slurm.arguments);
  flags.option("--name", "NAME", "name of the fleet, by which it knows its jobs (default: the broker's URL)",
               options.name);
  flags.flag("--once", "look at the queue once, do what is necessary, and end", options.once);
  flags.flag("--dry-run", "print decisions without carrying them out", options.dry_run);
}

// Completes the options. Returns the pools.
Expected<std::vector<FleetPool>> complete(Options& options, const FleetWorld& world) {
  if (options.engine != "slurm") return bad_input("there is no engine '" + options.engine + "'; the engine is slurm");
  KQ_TRY(net::parse_broker_urls(options.broker));
  if (options.limits.workers_max == 0) return bad_input("--max is missing: the most workers that the fleet may have");
  if (options.limits.workers_min > options.limits.workers_max)
    return bad_input("--min " + std::to_string(options.limits.workers_min) + " is more than --max " +
                     std::to_string(options.limits.workers_max));
  for (const std::string& label : options.limits.labels) {
    const auto reason = name_error(label);
    if (reason) return bad_input("--label '" + label + "' " + *reason);
    if (label.find(' ') != std::string::npos) return bad_input("--label '" + label + "' has a space");
  }
  std::vector<FleetPool> pools;
  for (const std::string& text : options.gpus) {
    KQ_TRY_VALUE(const auto pool, parse_pool(text));
    if (std::ranges::find(pools, pool) != pools.end()) return bad_input("--gpu " + text + " is given twice");
    pools.push_back(pool);
  }
  if (pools.empty()) pools.push_back({});
  SlurmOptions& slurm = options.slurm;
  if (slurm.script.empty()) slurm.script = world.programs + "/../share/kq/slurm/worker.sbatch";
  std::error_code error;
  slurm.script = fs::weakly_canonical(slurm.script, error).string();
  if (!fs::is_regular_file(slurm.script, error)) return bad_input("the job script " + slurm.script + " does not exist");
  slurm.name = options.name.empty() ? options.broker : options.name;
  if (const auto reason = name_error(slurm.name)) return bad_input("--name '" + slurm.name + "' " + *reason);
  slurm.broker = options.broker;
  slurm.labels = options.limits.labels;
  if (fs::exists(world.programs + "/kq-worker", error)) slurm.worker = world.programs + "/kq-worker";
  if (!slurm.worker_key.empty()) slurm.worker_key = fs::absolute(slurm.worker_key, error).string();
  options.limits.idle_ms = static_cast<std::int64_t>(options.idle_s.value_or(60) * 1'000);
  // Workers end by themselves a while after the fleet would have drained them, unless the fleet is to keep some.
  constexpr std::uint32_t kMarginS = 60;
  slurm.idle_exit_s =
      options.limits.workers_min > 0 ? 0 : static_cast<std::uint32_t>(options.limits.idle_ms / 1'000) * 2 + kMarginS;
  return pools;
}

}  // namespace

int run_fleet(int argc, const char* const* argv, const FleetWorld& world) {
  Options options;
  Flags flags(kProgram,
              "Keeps as many workers in a batch system as the queue of a broker needs: starts workers while jobs wait, "
              "cancels those that have not started, and lets idle ones end. Never ends a running job.");
  declare(flags, options);
  if (const auto code = flags.parse(argc, argv)) return static_cast<int>(*code);
  const auto fail = [&](const Error& error) {
    world.err << kProgram << ": " << printable(error.message) << std::endl;
    return static_cast<int>(exit_code(error.kind));
  };
  auto pools = complete(options, world);
  if (!pools) return fail(pools.error());
  auto client = world.connect(options.broker, options.key);
  if (!client) return fail(client.error());
  Fleet fleet(options, *std::move(pools), *client, world);
  const auto done = run_rounds(fleet, options, world);
  return done ? static_cast<int>(ExitCode::ok) : fail(done.error());
}

}  // namespace kq::tools
