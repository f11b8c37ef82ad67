#include "broker/queries.h"

#include <optional>
#include <utility>

#include "core/limits.h"
#include "core/version.h"
#include "store/reader.h"

namespace kq {
namespace {

// Nothing for a job that never was.
Expected<std::optional<JobStatus>> status_of(const State& state, Sequence seq) {
  if (const Job* job = state.jobs.find(seq)) {
    const JobRecord& record = job->record;
    JobStatus status{.seq = seq, .state = record.state, .attempt = record.attempt, .verdict = "", .served = false};
    if (job->ending) status.verdict = to_string(job->ending->verdict);
    if (record.state == JobState::queued) status.served = state.workers.serves(job->lane);
    return std::optional(std::move(status));
  }
  const auto record = read_job(*state.store, seq);
  if (!record) return failure(record.error());
  if (!*record) return std::optional<JobStatus>();
  const auto result = read_result(*state.store, seq, false);
  if (!result) return failure(result.error());
  if (!*result) return our_fault("store: job " + std::to_string(seq) + " is not queued, not leased, and has no result");
  return std::optional(JobStatus{.seq = seq,
                                 .state = (*record)->state,
                                 .attempt = (*record)->attempt,
                                 .verdict = std::string(to_string(name_of((*result)->verdict))),
                                 .served = false});
}

template <class Reply>
Expected<void> pass_on(Step& step, const std::string& peer, std::uint64_t request_id, Expected<Reply> reply) {
  if (!reply && reply.error().code != ExitCode::bad_input) return failure(std::move(reply.error()));
  if (!reply) {
    step.ready.send_to_client(peer, request_id, Refused{std::move(reply.error().message)});
  } else {
    step.ready.send_to_client(peer, request_id, std::move(*reply));
  }
  return {};
}

}  // namespace

Expected<void> answer(Step& step, const std::string& peer, std::uint64_t request_id, const StatusQuery& query) {
  if (query.seqs.size() > kQuerySeqsMax) {
    return pass_on<StatusReply>(step, peer, request_id,
                                bad_input(std::to_string(query.seqs.size()) + " jobs in one query, at most " +
                                          std::to_string(kQuerySeqsMax) + " are allowed"));
  }
  StatusReply reply;
  for (const Sequence seq : query.seqs) {
    auto status = status_of(step.state, seq);
    if (!status) return failure(std::move(status.error()));
    if (*status) reply.jobs.push_back(std::move(**status));
  }
  return pass_on<StatusReply>(step, peer, request_id, std::move(reply));
}

Expected<void> answer(Step& step, const std::string& peer, std::uint64_t request_id, const RunQuery& query) {
  if (const auto wrong = name_complaint(query.run))
    return pass_on<RunReply>(step, peer, request_id, bad_input("run " + *wrong));
  return pass_on(step, peer, request_id, read_run(*step.state.store, query));
}

Expected<void> answer(Step& step, const std::string& peer, std::uint64_t request_id, const BoardQuery& query) {
  return pass_on(step, peer, request_id, read_board(*step.state.store, query));
}

Expected<void> answer(Step& step, const std::string& peer, std::uint64_t request_id, const BrokerQuery&) {
  BrokerReply reply{.version = std::string(kVersion),
                    .queued = step.state.jobs.queued_n(),
                    .leased = step.state.jobs.leased_n(),
                    .workers = {}};
  for (const auto& [id, session] : step.state.workers.all()) {
    reply.workers.push_back({.worker = session.worker,
                             .devices = session.devices,
                             .running = static_cast<std::uint32_t>(session.leases.size()),
                             .last_seen_ms = session.last_seen_ms});
  }
  return pass_on<BrokerReply>(step, peer, request_id, std::move(reply));
}

}  // namespace kq
