#include "broker/broker.h"

#include <utility>

#include "broker/gc/retention.h"
#include "broker/jobs/lease.h"
#include "broker/jobs/result.h"
#include "broker/jobs/submit.h"
#include "broker/recovery.h"
#include "broker/requests/operate.h"
#include "broker/requests/queries.h"
#include "broker/requests/session.h"
#include "broker/tables/builds.h"

namespace kq::broker {
namespace {

Expected<void> handle(Step& step, FromClient event) {
  const Caller caller{.peer = event.peer, .request_id = event.message.request_id, .who = event.who};
  return std::visit([&](auto& request) { return answer(step, caller, std::move(request)); }, event.message.body);
}

struct WorkerVisitor {
  Step& step;
  const std::string& peer;
  std::uint64_t request_id;

  Expected<void> operator()(Hello& hello) const { return greet(step, peer, request_id, hello); }
  Expected<void> operator()(Heartbeat& beat) const { return heartbeat(step, peer, request_id, beat); }
  Expected<void> operator()(ResultBatch& batch) const { return take_results(step, peer, request_id, std::move(batch)); }
  Expected<void> operator()(BuildResult& result) const { return take_build(step, peer, request_id, std::move(result)); }
  Expected<void> operator()(Goodbye& goodbye) const { return farewell(step, peer, goodbye); }
};

Expected<void> handle(Step& step, FromWorker event) {
  return std::visit(WorkerVisitor{step, event.peer, event.message.request_id}, event.message.body);
}

Expected<void> handle(Step& step, Undelivered event) {
  return take_back(step, event);
}

Expected<void> handle(Step& step, store::Space space) {
  if (space.nearly_full != step.state.space.nearly_full) {
    step.ready.note(space.nearly_full ? NoteLevel::warning : NoteLevel::info,
                    space.nearly_full ? "the disk is nearly full: new jobs are answered busy, results still land"
                                      : "the disk has room again: new jobs are taken");
  }
  step.state.space = space;
  return {};
}

// The order matters: windows and timers are read from what earlier turns committed, before this one changes any of it.
Expected<void> handle(Step& step, Tick tick) {
  if (tick.away_ms > 0) excuse_all(step, tick.away_ms);
  step.state.jobs.forget(step.state.options.queued_kept);
  step.state.blobs.shrink();
  if (step.state.board_ns.size() > step.state.options.board_places_kept) step.state.board_ns.clear();
  forget_unused_names(step);
  for (const auto part : {refill_windows, fire_timers, expire_leases, expire_builds, forget_silent, retain}) {
    if (auto done = part(step); !done) return done;
  }
  return {};
}

Expected<void> handle(Step& step, Dispatch) {
  if (auto done = dispatch(step); !done) return done;
  if (auto done = hand_out_builds(step); !done) return done;
  return answer_watchers(step);
}

}  // namespace

Expected<Broker> Broker::recover(const store::Store& store, const BrokerOptions& options, std::int64_t now_ms) {
  KQ_TRY_VALUE(auto state, recovered(store, options, now_ms));
  return Broker(std::move(state));
}

Expected<Ready> Broker::step(Event event, std::int64_t now_ms) {
  Ready ready;
  KQ_TRY(step(std::move(event), now_ms, ready));
  return ready;
}

Expected<void> Broker::step(Event event, std::int64_t now_ms, Ready& turn) {
  Step step{state_, turn, now_ms};
  return std::visit([&](auto& alternative) { return handle(step, std::move(alternative)); }, event);
}

}  // namespace kq::broker
