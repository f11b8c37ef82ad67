#include "broker/broker.h"

#include <utility>

#include "broker/gc/retention.h"
#include "broker/jobs/lease.h"
#include "broker/jobs/lifecycle.h"
#include "broker/jobs/prebuild.h"
#include "broker/jobs/result.h"
#include "broker/jobs/submit.h"
#include "broker/recovery.h"
#include "broker/requests/operate.h"
#include "broker/requests/queries.h"
#include "broker/requests/session.h"
#include "broker/requests/share.h"

namespace kq::broker {
namespace {

Expected<void> handle(Step& step, FromClient event) {
  const Caller caller{.peer = event.peer, .request_id = event.message.request_id, .identity = event.identity};
  return std::visit([&](auto& request) { return answer(step, caller, std::move(request)); }, event.message.body);
}

struct WorkerRequestHandler {
  Step& step;
  const std::string& peer;
  std::uint64_t request_id;

  Expected<void> operator()(Hello& hello) const { return handle_hello(step, peer, request_id, hello); }
  Expected<void> operator()(Heartbeat& beat) const { return handle_heartbeat(step, peer, request_id, beat); }
  Expected<void> operator()(ResultBatch& batch) const {
    return handle_results(step, peer, request_id, std::move(batch));
  }
  Expected<void> operator()(BuildResult& result) const {
    return handle_build_result(step, peer, request_id, std::move(result));
  }
  Expected<void> operator()(Goodbye& goodbye) const { return handle_goodbye(step, peer, goodbye); }
};

Expected<void> handle(Step& step, FromWorker event) {
  return std::visit(WorkerRequestHandler{step, event.peer, event.message.request_id}, event.message.body);
}

Expected<void> handle(Step& step, const Undelivered& event) {
  return requeue_undelivered(step, event);
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

// The order matters: windows and timers are read from the store, which shows the queue of the last commit, before this
// turn changes the queue.
Expected<void> handle(Step& step, Tick tick) {
  if (tick.stalled_ms > 0) extend_deadlines(step, tick.stalled_ms);
  shrink_job_table(step);
  step.state.blobs.shrink();
  step.state.rights.shrink();
  step.state.boards.shrink(step.state.options.board_rows_cached_max, step.state.options.boards_cached_max);
  delete_unused_names(step);
  for (const auto part : {refill_windows, fire_timers, expire_leases, expire_builds, drop_silent_sessions, retain}) {
    KQ_TRY(part(step));
  }
  return {};
}

Expected<void> handle(Step& step, Dispatch) {
  KQ_TRY(dispatch(step));
  KQ_TRY(dispatch_builds(step));
  return answer_watchers(step);
}

}  // namespace

Expected<Broker> Broker::recover(const store::Store& store, const BrokerOptions& options, std::int64_t now_ms) {
  KQ_TRY_VALUE(auto state, recover_state(store, options, now_ms));
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
