#include "tests/sim/trace.h"

#include "core/codec/codec.h"
#include "tests/sim/workload.h"

namespace kq::sim {
namespace {

// Collects the contents of a message as text. A message type without an overload is described by its name alone.
struct Details {
  std::string text;

  void add(const std::string& word) { text += " " + word; }
  void add(const std::vector<LeaseId>& leases) {
    for (const LeaseId& lease : leases) add(tag_of(lease));
  }
  void add(const std::vector<Sequence>& seqs) {
    for (const Sequence seq : seqs) add(std::to_string(seq));
  }

  void operator()(const SubmitBatch& batch) {
    for (const Submission& job : batch.jobs) add("'" + job.label + "'");
  }
  void operator()(const SubmitAck& ack) {
    for (const JobAck& job : ack.jobs) add(std::to_string(job.seq) + " " + std::string(to_string(job.acceptance)));
  }
  void operator()(const StatusQuery& query) { add(query.seqs); }
  void operator()(const StatusReply& reply) {
    for (const JobStatus& job : reply.jobs) {
      add(std::to_string(job.seq) + " " + std::string(to_string(job.state)));
      if (job.state == JobState::queued) add(std::string(to_string(job.why)) + (job.served ? "" : " unserved"));
      if (job.state == JobState::finished) add(job.verdict);
    }
  }
  void operator()(const CancelJobs& cancel) { add(cancel.seqs); }
  void operator()(const RetryJobs& retry) { add(retry.seqs); }
  void operator()(const PurgeDead& purge) { add(purge.seqs); }
  void operator()(const Pause& pause) { add(std::string(pause.paused ? "" : "off ") + "'" + pause.submitter + "'"); }
  void operator()(const Drain& drain) { add(std::string(drain.draining ? "" : "off ") + drain.worker); }
  void operator()(const ActionReply& reply) {
    for (const JobAction& job : reply.jobs) {
      add(std::to_string(job.seq) + (job.done ? " done " : " not done ") + std::string(to_string(job.state)));
    }
  }
  void operator()(const Refused& refused) { add(refused.reason); }
  void operator()(const Hello& hello) { add(hello.worker + " credit " + std::to_string(hello.credit)); }
  void operator()(const Heartbeat& heartbeat) { add(heartbeat.leases); }
  void operator()(const ResultBatch& batch) {
    for (const AttemptResult& one : batch.results) {
      add(tag_of(one.lease) + " " + std::string(to_string(name_of(one.result.verdict))));
    }
    for (const AttemptError& one : batch.errors) add(tag_of(one.lease) + " " + one.message);
  }
  void operator()(const LeaseBatch& batch) {
    for (const Lease& lease : batch.leases) add(tag_of(lease.id) + " '" + lease.submission.label + "'");
  }
  void operator()(const BuildResult& result) {
    add(tag_of(result.build) + " " + (result.object ? "built" : result.message));
  }
  void operator()(const BuildBatch& batch) {
    for (const Lease& build : batch.builds) add(std::to_string(build.id.seq) + " '" + build.submission.label + "'");
  }
  void operator()(const ResultAck& ack) { add(ack.leases); }
  void operator()(const Revoke& revoke) { add(revoke.leases); }
};

template <class Union>
std::string text_of(std::string_view bytes) {
  const auto message = decode_message<Union>(bytes);
  if (!message) return "unreadable: " + message.error().message;
  Details details;
  const auto name = std::visit(
      [&]<class Body>(const Body& body) {
        if constexpr (requires { details(body); }) details(body);
        return AlternativeName<Body>::value;
      },
      message->body);
  return std::string(name) + details.text;
}

}  // namespace

std::string text_to_broker(net::Side from, std::string_view bytes) {
  return from == net::Side::client ? text_of<ClientRequest>(bytes) : text_of<WorkerRequest>(bytes);
}

std::string text_from_broker(net::Side to, std::string_view bytes) {
  return to == net::Side::client ? text_of<ClientReply>(bytes) : text_of<WorkerReply>(bytes);
}

}  // namespace kq::sim
