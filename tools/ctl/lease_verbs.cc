#include "tools/ctl/lease_verbs.h"

#include <algorithm>
#include <ostream>

#include "producer/client/sentences.h"
#include "tools/ctl/broker_requests.h"
#include "tools/ctl/listing.h"

namespace kq::tools {
namespace {

void tell(const CtlWorld& world, bool json, producer::JsonObject object, const std::string& sentence) {
  if (json) {
    world.out << producer::to_text(producer::Json{std::move(object)}) << '\n';
  } else {
    world.out << printable(sentence) << '\n';
  }
}

Expected<ExitCode> set_paused(int argc, const char* const* argv, const CtlWorld& world, bool paused) {
  BrokerFlags broker;
  std::string submitter;
  Flags flags(argv[0],
              paused
                  ? "Leases nothing more until kq-ctl resume; what runs goes on. It outlives a restart of the broker."
                  : "Leases again. A pause of everybody and one of a submitter are ended apart.");
  flags.option("--submitter", "NAME", "only this submitter's jobs (default: everybody's)", submitter);
  add_flags(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  KQ_TRY_VALUE(auto client, connect(world, broker));
  KQ_TRY(ask<Done>(client, Pause{submitter, paused}));
  tell(world, broker.json,
       {{"submitter", submitter.empty() ? producer::Json{nullptr} : json_text(submitter)},
        {"paused", producer::Json{paused}}},
       (submitter.empty() ? std::string("the queue") : "submitter " + submitter) +
           (paused ? " is paused: nothing more is leased, what runs goes on" : " is leased again"));
  return ExitCode::ok;
}

// Null: no such worker is connected.
const WorkerStatus* find(const BrokerReply& status, const std::string& name) {
  const auto found = std::find_if(status.workers.begin(), status.workers.end(),
                                  [&](const auto& worker) { return worker.worker == name; });
  return found == status.workers.end() ? nullptr : &*found;
}

// Until the worker has nothing left or is gone. An Error: gave up, or interrupted.
Expected<void> wait_until_idle(const CtlWorld& world, producer::Client& client, const std::string& name,
                               std::optional<double> timeout_s) {
  const std::int64_t start_ms = client.now_ms();
  for (;;) {
    KQ_TRY_VALUE(const auto status, ask<BrokerReply>(client, BrokerQuery{}));
    const WorkerStatus* worker = find(status, name);
    if (worker == nullptr || worker->running == 0) return {};
    if (timeout_s && static_cast<double>(client.now_ms() - start_ms) >= *timeout_s * 1000) {
      return failure(Error{
          ErrorKind::gave_up,
          "worker " + name + " still has " + producer::counted(worker->running, "job") + "; it goes on draining"});
    }
    if (world.nap(kDrainPollMs))
      return failure(Error{ErrorKind::interrupted, "interrupted; worker " + name + " goes on draining"});
  }
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
              "Gives a worker nothing new; what it has goes on. It outlives restarts of the broker and of the worker.");
  flags.argument("worker", "its name, as kq-ctl workers prints it", name);
  flags.flag("--undo", "give it jobs again", undo);
  flags.flag("--wait", "return when it has nothing left", wait);
  flags.seconds("--timeout", "give up waiting after this many seconds", timeout_s);
  add_flags(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  if (undo && wait) return bad_input("--undo gives it work and --wait waits until it has none; use one of them");
  KQ_TRY_VALUE(auto client, connect(world, broker));
  KQ_TRY_VALUE(const auto status, ask<BrokerReply>(client, BrokerQuery{}));
  const bool connected = find(status, name) != nullptr;
  // An unknown name is most likely a slip; but a drain may be undone after its worker has gone.
  if (!connected && !undo)
    return failure(Error{ErrorKind::not_found, "no worker '" + name + "' is connected; kq-ctl workers lists them"});
  KQ_TRY(ask<Done>(client, Drain{name, !undo}));
  if (wait) {
    KQ_TRY(wait_until_idle(world, client, name, timeout_s));
  }
  tell(world, broker.json, {{"worker", json_text(name)}, {"draining", producer::Json{!undo}}},
       "worker " + name +
           (undo   ? " gets jobs again"
            : wait ? " gets nothing new and has nothing left"
                   : " gets nothing new; what it has goes on"));
  return ExitCode::ok;
}

}  // namespace kq::tools
