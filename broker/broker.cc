#include "broker/broker.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "broker/intake.h"
#include "broker/leasing.h"
#include "broker/queries.h"
#include "broker/results.h"
#include "broker/sessions.h"
#include "core/codec.h"
#include "store/keys.h"
#include "store/reader.h"

namespace kq {
namespace {

Expected<void> handle(Step& step, FromClient event) {
  return std::visit(
      [&]<class Request>(Request& request) -> Expected<void> {
        const auto& [peer, message, who] = event;
        if constexpr (std::is_same_v<Request, SubmitBatch>) {
          return submit(step, peer, message.request_id, request);
        } else if constexpr (requires { answer(step, peer, message.request_id, request); }) {
          return answer(step, peer, message.request_id, request);
        } else {
          step.ready.send_to_client(peer, message.request_id, Refused{"this broker does not do that yet"});
          return {};
        }
      },
      event.message.body);
}

struct WorkerVisitor {
  Step& step;
  const std::string& peer;
  std::uint64_t request_id;

  Expected<void> operator()(Hello& hello) const { return greet(step, peer, request_id, hello); }
  Expected<void> operator()(Heartbeat& beat) const { return heartbeat(step, peer, request_id, beat); }
  Expected<void> operator()(ResultBatch& batch) const { return take_results(step, peer, request_id, std::move(batch)); }
  Expected<void> operator()(Goodbye& goodbye) const { return farewell(step, peer, goodbye); }
};

Expected<void> handle(Step& step, FromWorker event) {
  return std::visit(WorkerVisitor{step, event.peer, event.message.request_id}, event.message.body);
}

Expected<void> handle(Step& step, Undelivered event) {
  return take_back(step, event);
}

Expected<void> handle(Step& step, Tick) {
  // From here on what earlier turns finished is read from the store.
  step.state.jobs.forget_finished();
  step.state.new_best.clear();
  if (auto done = expire(step); !done) return done;
  if (auto done = forget_silent(step); !done) return done;
  if (auto done = dispatch(step); !done) return done;
  if (const auto next = step.state.jobs.next_deadline_ms()) step.ready.wake_at(*next);
  return {};
}

Expected<Sequence> first_free_sequence(const Store& store) {
  const auto bytes = store.get(Family::meta, kNextSequenceKey);
  if (!bytes) return failure(bytes.error());
  if (!*bytes) return Sequence{1};
  const auto seq = sequence_from(**bytes);
  if (!seq) return our_fault("store, family 'meta', next_sequence: 8 bytes of a sequence were expected");
  return *seq;
}

Expected<std::vector<JobRecord>> unfinished_jobs(const Store& store) {
  std::vector<JobRecord> records;
  std::optional<Error> damage;
  const auto visit = [&](std::string_view, std::string_view value) {
    auto record = decode<JobRecord>(value);
    if (!record) {
      damage = Error{ExitCode::our_fault, "store, family 'state': " + record.error().message};
    } else if (record->state != JobState::finished) {
      records.push_back(std::move(*record));
    }
    return !damage;
  };
  if (const auto scanned = store.scan(Family::state, "", "", visit); !scanned) return failure(scanned.error());
  if (damage) return failure(std::move(*damage));
  return records;
}

Expected<void> restore(State& state, JobRecord record, std::int64_t now_ms) {
  const auto submission = read_body(*state.store, record.seq);
  if (!submission) return failure(submission.error());
  if (!*submission) return our_fault("store, family 'body': job " + std::to_string(record.seq) + " has none");
  Job job{.record = std::move(record),
          .lane = requirements_of(**submission),
          .problem = (*submission)->problem.hash,
          .run = ""};
  if (job.record.state == JobState::queued) {
    state.scheduler.add(job.lane, job.record.seq, job.problem);
  } else {
    job.tenure = {.worker = "", .device = {}, .deadline_ms = now_ms + state.options.lease_ms, .counts = false};
  }
  state.jobs.insert(std::move(job));
  return {};
}

}  // namespace

Expected<Broker> Broker::recover(const Store& store, const BrokerOptions& options, std::int64_t now_ms) {
  State state{.options = options, .store = &store};
  const auto next = first_free_sequence(store);
  if (!next) return failure(next.error());
  state.next_sequence = *next;
  auto records = unfinished_jobs(store);
  if (!records) return failure(std::move(records.error()));
  for (JobRecord& record : *records) {
    state.next_sequence = std::max(state.next_sequence, record.seq + 1);
    if (auto restored = restore(state, std::move(record), now_ms); !restored)
      return failure(std::move(restored.error()));
  }
  return Broker(std::move(state));
}

Expected<Ready> Broker::step(Event event, std::int64_t now_ms) {
  Ready ready;
  Step step{state_, ready, now_ms};
  auto done = std::visit([&](auto& alternative) { return handle(step, std::move(alternative)); }, event);
  if (!done) return failure(std::move(done.error()));
  return ready;
}

}  // namespace kq
