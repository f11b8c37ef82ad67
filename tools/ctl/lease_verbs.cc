#include "tools/ctl/lease_verbs.h"

#include <algorithm>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "core/base/own_share.h"
#include "producer/client/sentences.h"
#include "sys/nearest.h"
#include "tools/ctl/broker_objects.h"
#include "tools/ctl/broker_requests.h"
#include "tools/ctl/listing.h"
#include "tools/ctl/world.h"

namespace kq::tools {
namespace {

void print_outcome(const CtlWorld& world, bool json, producer::JsonObject object, const std::string& sentence) {
  if (json) {
    world.out << producer::to_text(producer::Json{std::move(object)}) << '\n';
  } else {
    world.out << printable(sentence) << '\n';
  }
}

// Returns the other names of the submitter among the queued jobs: a kq sweep submits as NAME/RUN.
Expected<std::vector<std::string>> own_shares_of(producer::Client& client, const std::string& submitter) {
  std::set<std::string> names;
  KQ_TRY(each_page(client, JobsQuery{.state = JobState::queued}, [&](const JobsReply& page) {
    for (const JobRow& row : page.jobs) {
      const std::string& name = row.job.submitter;
      if (name != submitter && is_submitter(submitter, name, row.job.run)) names.insert(name);
    }
    return Expected<void>();
  }));
  return std::vector(names.begin(), names.end());
}

// Returns what the sentence on a pause must add where the broker knows no job of the submitter: the name may be
// misspelt, and the real submitter goes on.
Expected<std::string> unknown_text(producer::Client& client, const std::string& submitter) {
  bool is_known = false;
  KQ_TRY(each_page(client, JobsQuery{.state = JobState::queued}, [&](const JobsReply& page) {
    for (const JobRow& row : page.jobs) is_known = is_known || is_submitter(submitter, row.job.submitter, row.job.run);
    return Expected<void>();
  }));
  if (is_known) return std::string();
  KQ_TRY_VALUE(const auto known, submitters_of_runs(client));
  if (known.contains(submitter)) return std::string();
  const auto meant = sys::nearest(submitter, std::vector(known.begin(), known.end()));
  return "; no run and no queued job is of this name" + (meant ? "; did you mean " + *meant + "?" : "");
}

// Returns whether what is resumed was paused: the queue, or a submitter or one of its sweeps.
bool was_paused(const Pauses& pauses, const std::string& submitter, const std::vector<std::string>& shares) {
  if (submitter.empty()) return pauses.is_queue_paused;
  return pauses.may_have(submitter) ||
         std::ranges::any_of(shares, [&](const std::string& name) { return pauses.may_have(name); });
}

std::string resumed_text(const Pauses& pauses, const std::string& submitter, bool was_paused) {
  if (!was_paused) return " was not paused" + (pauses.count > 0 ? "; " + pauses_text(pauses) : "");
  if (!submitter.empty() && pauses.is_queue_paused) return " is resumed, and waits for the queue, which is paused";
  return " is resumed: jobs are leased again" +
         (submitter.empty() && pauses.count > 0 ? "; " + pauses_text(pauses) : "");
}

Expected<ExitCode> set_paused(int argc, const char* const* argv, const CtlWorld& world, bool paused) {
  BrokerFlags broker;
  std::string submitter;
  Flags flags(
      argv[0],
      paused
          ? "Stops leasing jobs until kq-ctl resume. Jobs that workers hold already, running or next, still run. The "
            "pause outlives a restart of the broker."
          : "Starts leasing jobs again. A pause of all submitters and a pause of one submitter are ended "
            "separately.");
  flags.option("--submitter", "NAME",
               "only the jobs of this submitter, also those of its sweeps in the queue (default: the jobs of all "
               "submitters)",
               submitter);
  add_flags(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  KQ_TRY_VALUE(auto client, connect(world, broker));
  KQ_TRY_VALUE(const auto stats, ask<StatsReply>(client, StatsQuery{}));
  const Pauses before = pauses_of(stats);
  KQ_TRY(ask<Done>(client, Pause{submitter, paused}));
  std::vector<std::string> shares;
  if (!submitter.empty()) {
    KQ_TRY_VALUE(shares, own_shares_of(client, submitter));
  }
  for (const std::string& name : shares) KQ_TRY(ask<Done>(client, Pause{name, paused}));
  producer::JsonObject object{{"submitter", submitter.empty() ? producer::Json{nullptr} : json_text(submitter)},
                              {"paused", producer::Json{paused}}};
  if (!shares.empty()) object.emplace_back("sweeps", json_texts(shares));
  std::string unknown;
  if (paused && !submitter.empty()) {
    if (shares.empty()) {
      KQ_TRY_VALUE(unknown, unknown_text(client, submitter));
    }
    object.emplace_back("known", producer::Json{unknown.empty()});
  }
  const bool was = was_paused(before, submitter, shares);
  if (!paused) object.emplace_back("was_paused", producer::Json{was});
  print_outcome(world, broker.json, std::move(object),
                (submitter.empty() ? std::string("the queue") : "submitter " + submitter) +
                    (shares.empty() ? "" : " with " + producer::counted(shares.size(), "sweep")) +
                    (paused ? " is paused: no more jobs are leased; jobs that workers hold already still run" + unknown
                            : resumed_text(before, submitter, was)));
  return ExitCode::ok;
}

// Returns null when no worker of that name is connected.
const WorkerStatus* find(const BrokerReply& status, const std::string& name) {
  const auto found = std::find_if(status.workers.begin(), status.workers.end(),
                                  [&](const auto& worker) { return worker.worker == name; });
  return found == status.workers.end() ? nullptr : &*found;
}

// Returns when the worker has no jobs left or is gone. An Error when the timeout is over or a stop signal arrives.
Expected<void> wait_until_idle(const CtlWorld& world, producer::Client& client, const std::string& name,
                               std::optional<double> timeout_s) {
  const std::int64_t start_ms = client.now_ms();
  for (;;) {
    KQ_TRY_VALUE(const auto status, ask<BrokerReply>(client, BrokerQuery{}));
    const WorkerStatus* worker = find(status, name);
    if (worker == nullptr || worker->running == 0) return {};
    if (timeout_s && static_cast<double>(client.now_ms() - start_ms) >= *timeout_s * 1000) {
      return failure(Error{ErrorKind::gave_up, "worker " + name + " still has " +
                                                   producer::counted(worker->running, "job") + " and keeps draining"});
    }
    if (world.sleep(kDrainPollMs))
      return failure(Error{ErrorKind::interrupted, "interrupted; worker " + name + " keeps draining"});
  }
}

// `worker` is null where no worker of the name is connected.
std::string undone_text(const WorkerStatus* worker) {
  if (worker == nullptr) return " is not connected; it gets jobs when it connects";
  return worker->draining ? " gets jobs again" : " was not draining";
}

}  // namespace

Expected<ExitCode> ctl_pause(int argc, const char* const* argv, const CtlWorld& world) {
  return set_paused(argc, argv, world, true);
}

Expected<ExitCode> ctl_resume(int argc, const char* const* argv, const CtlWorld& world) {
  return set_paused(argc, argv, world, false);
}

Expected<ExitCode> ctl_drain(int argc, const char* const* argv, const CtlWorld& world) {
  BrokerFlags broker;
  std::string name;
  bool undo = false;
  bool wait = false;
  std::optional<double> timeout_s;
  Flags flags(argv[0],
              "Gives a worker no new jobs. Jobs that it holds already, running or next, still run. The drain outlives "
              "restarts of the broker and of the worker.");
  flags.argument("worker", "name of the worker, as kq-ctl workers prints it", name);
  flags.flag("--undo", "give the worker jobs again", undo);
  flags.flag("--wait", "return when the worker has no jobs left", wait);
  flags.seconds("--timeout", "give up waiting after this many seconds", timeout_s);
  add_flags(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  if (undo && wait)
    return bad_input(
        "--undo and --wait exclude each other: one gives the worker jobs, the other waits until it has none");
  KQ_TRY_VALUE(auto client, connect(world, broker));
  KQ_TRY_VALUE(const auto status, ask<BrokerReply>(client, BrokerQuery{}));
  const WorkerStatus* const worker = find(status, name);
  // An unknown name is probably a typing error, except with --undo: a drain may be undone after its worker has left.
  if (worker == nullptr && !undo)
    return failure(Error{ErrorKind::not_found, "no worker '" + name + "' is connected; kq-ctl workers lists them"});
  KQ_TRY(ask<Done>(client, Drain{name, !undo}));
  if (wait) {
    KQ_TRY(wait_until_idle(world, client, name, timeout_s));
  }
  print_outcome(world, broker.json, {{"worker", json_text(name)}, {"draining", producer::Json{!undo}}},
                "worker " + name +
                    (undo   ? undone_text(worker)
                     : wait ? " gets no new jobs and has none left"
                            : " gets no new jobs; jobs that it holds already still run"));
  return ExitCode::ok;
}

}  // namespace kq::tools
