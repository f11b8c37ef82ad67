#include "broker/script/script_text.h"

#include <string_view>
#include <vector>

#include "core/codec/codec.h"
#include "store/keys.h"

namespace kq::broker {
namespace {

std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

std::string shown(const LeaseId& lease) {
  return std::to_string(lease.seq) + "/" + std::to_string(lease.attempt);
}

std::string shown(const Result& result) {
  std::string text(to_string(name_of(result.verdict)));
  if (!result.device.model.empty()) text += " on " + result.device.model;
  if (const Evidence* evidence = evidence_of(result.verdict); evidence != nullptr && !evidence->message.empty()) {
    text += " " + quoted(evidence->message);
  }
  return text;
}

std::string shown(const JobRecord& job) {
  std::string text = std::string(to_string(job.state)) + " attempt=" + std::to_string(job.attempt);
  if (job.failures > 0) text += " failures=" + std::to_string(job.failures);
  if (!job.last_error.empty()) text += " " + quoted(job.last_error);
  for (std::size_t i = 0; i < job.also_for.size(); ++i) text += (i == 0 ? ", also for " : "+") + job.also_for[i];
  return text;
}

std::string shown(const LeaderboardRow& row) {
  return row.problem + " on " + row.device_model + ": job " + std::to_string(row.seq) + " " + row.label + " " +
         std::to_string(static_cast<std::int64_t>(row.median_ns)) + " ns";
}

// The wished device, and what else the requirements have that is not the default.
std::string shown(const Requirements& needs) {
  std::string text(to_string(needs.wish));
  if (!needs.gpu_model.empty()) text += " " + needs.gpu_model;
  if (needs.memory_above_bytes > 0) text += " above " + std::to_string(needs.memory_above_bytes);
  if (needs.backend != Backend::torch) text += " " + std::string(to_string(needs.backend));
  for (const std::string& label : needs.labels) text += " +" + label;
  if (needs.device_count > 1) text += " x" + std::to_string(needs.device_count);
  return text;
}

std::string shown_meta(const store::Write& write) {
  if (const auto number = store::number_from(store::kClassPrefix, write.key)) {
    const std::string name = "class " + std::to_string(*number);
    return write.value ? name + " = " + shown(*decode<Requirements>(*write.value)) : "no " + name;
  }
  if (const auto number = store::number_from(store::kSubmitterPrefix, write.key)) {
    const std::string name = "submitter " + std::to_string(*number);
    return write.value ? name + " = " + quoted(*write.value) : "no " + name;
  }
  if (write.key == store::kNextSequenceKey || write.key == store::kRetainedFromKey)
    return write.key + " = " + std::to_string(*store::sequence_from(*write.value));
  return (write.value ? "" : "no ") + write.key;
}

std::string shown_queue(const store::Write& write) {
  const store::QueuePlace place = *store::queue_place_from(write.key);
  const std::string job = "queue: job " + std::to_string(place.seq);
  if (!write.value) return job + " out";
  if (store::queue_entry_from(*write.value)->leased) return job + " runs";
  return job + " in lane " + std::to_string(place.lane.needs) + "/" + std::string(to_string(place.lane.priority)) +
         "/" + std::to_string(place.lane.submitter);
}

std::string shown_timer(const store::Write& write) {
  const store::TimerPlace place = *store::timer_place_from(write.key);
  const std::string timer = place.kind == store::TimerKind::may_run ? "job " + std::to_string(place.seq) + " may run"
                                                                    : "job " + std::to_string(place.seq) + " expires";
  return (write.value ? "timer: " : "no timer: ") + timer + " at " + std::to_string(place.at_ms - kStartMs);
}

// "run r a".
std::string shown_label(std::string_view run_key) {
  const std::size_t nul = run_key.find('\0');
  return "run " + std::string(run_key.substr(0, nul)) + " " + std::string(run_key.substr(nul + 1));
}

std::string shown_removal(const store::Write& write) {
  const std::string name(to_string(write.family));
  switch (write.family) {
    case store::Family::run:
      return "no " + shown_label(write.key);
    case store::Family::reuse: {
      const store::ReusePlace place = *store::reuse_place_from(write.key);
      return "no job " + std::to_string(place.seq) + " as " + shown_label(place.run_key);
    }
    case store::Family::ids:
    case store::Family::blob:
    case store::Family::sender:
      return "no " + name + " of " + to_hex(*hash_from_bytes(write.key.substr(0, 32))).substr(0, 8);
    default:
      return "no " + name + " of job " + std::to_string(store::sequence_from(write.key).value_or(0));
  }
}

template <class T>
std::string listed(const std::vector<T>& items, const auto& show) {
  std::string text;
  for (const T& item : items) text += (text.empty() ? "" : "; ") + show(item);
  return text;
}

std::string since_text(std::int64_t unix_ms) {
  return " since " + std::to_string(unix_ms - kStartMs);
}

std::string shown(const JobAck& ack) {
  if (ack.acceptance == Acceptance::refused) return "refused " + quoted(ack.reason);
  if (ack.acceptance == Acceptance::busy)
    return "busy " + quoted(ack.reason) + ", retry after " + std::to_string(ack.retry_after_ms) + " ms";
  return std::string(to_string(ack.acceptance)) + " " + std::to_string(ack.seq) + " " +
         std::string(to_string(ack.state));
}

std::string shown(const JobStatus& status) {
  std::string text = std::to_string(status.seq) + " " + std::string(to_string(status.state));
  if (status.attempt > 0) text += " attempt=" + std::to_string(status.attempt);
  if (!status.verdict.empty()) text += " " + status.verdict;
  if (status.served) text += " served";
  if (status.why != WaitReason::none) text += " " + std::string(to_string(status.why));
  if (status.position > 0)
    text += " position=" + std::to_string(status.position) + " ahead=" + std::to_string(status.ahead);
  if (status.until_ms > 0) text += " until=" + std::to_string(status.until_ms - kStartMs);
  if (status.build_started_ms > 0)
    text += " " + status.worker + " builds" + (status.builds_extensions ? " extensions" : "") +
            since_text(status.build_started_ms);
  return text;
}

std::string shown(const RunRow& row) {
  std::string text = row.entry.submission.label + " job " + std::to_string(row.entry.seq) + " " + shown(row.job);
  if (row.result) text += " " + shown(*row.result) + (row.result->samples.submission_ns.empty() ? "" : " with samples");
  return text;
}

std::string target_text(const DeviceInfo& target) {
  return target.kind == DeviceKind::cpu ? "cpu" : target.arch;
}

std::string shown(const Lease& lease) {
  return shown(lease.id) + " " + lease.submission.label + " on " +
         (lease.device.model.empty() ? target_text(lease.device) : lease.device.model) + ", " +
         std::to_string(lease.blobs.size()) + " blobs" +
         (lease.object ? ", object " + quoted(lease.object->bytes) : "");
}

std::string shown(const JobAction& action) {
  std::string text =
      std::to_string(action.seq) + (action.done ? " done " : " not done ") + std::string(to_string(action.state));
  if (!action.reason.empty()) text += " " + quoted(action.reason);
  return text;
}

std::string shown(const JobRow& row) {
  std::string text = std::to_string(row.job.seq) + " " + row.label + " " + shown(row.job);
  if (!row.job.submitter.empty()) text += " by " + row.job.submitter;
  if (!row.worker.empty()) text += " on " + row.worker;
  if (row.build_started_ms > 0) text += ", built" + since_text(row.build_started_ms);
  return text;
}

std::string shown(const LaneRow& row) {
  std::string text = std::to_string(row.queued) + " " + std::string(to_string(row.priority)) + " " +
                     quoted(row.submitter) + " for " + shown(row.needs);
  if (row.served) text += " served";
  if (row.paused) text += " paused";
  return text;
}

struct BodyText {
  std::string operator()(const SubmitAck& ack) const {
    return listed(ack.jobs, [](auto& job) { return shown(job); });
  }
  std::string operator()(const StatusReply& reply) const {
    return listed(reply.jobs, [](auto& job) { return shown(job); });
  }
  std::string operator()(const RunReply& reply) const {
    return listed(reply.rows, [](auto& row) { return shown(row); }) + (reply.more ? "; and more" : "");
  }
  std::string operator()(const BoardReply& reply) const {
    return listed(reply.rows, [](auto& row) { return shown(row); }) + (reply.more ? "; and more" : "");
  }
  std::string operator()(const BrokerReply& reply) const {
    return std::to_string(reply.queued) + " queued, " + std::to_string(reply.leased) + " leased; " +
           listed(reply.workers, [](auto& worker) {
             std::string text = worker.worker + " runs " + std::to_string(worker.running);
             if (worker.building > 0)
               text += ", builds " + std::to_string(worker.building) + since_text(worker.build_started_ms);
             if (worker.builds_for.empty()) return text;
             return text + ", built " + std::to_string(worker.built_count) + " for " +
                    listed(worker.builds_for, target_text);
           });
  }
  std::string operator()(const Refused& refused) const { return quoted(refused.reason); }
  std::string operator()(const Welcome& welcome) const {
    return "heartbeat " + std::to_string(welcome.heartbeat_ms) + " ms, lease " + std::to_string(welcome.lease_ms) +
           " ms";
  }
  std::string operator()(const LeaseBatch& batch) const {
    return listed(batch.leases, [](auto& lease) { return shown(lease); });
  }
  std::string operator()(const BuildBatch& batch) const {
    return listed(batch.builds, [](auto& build) { return shown(build); });
  }
  std::string operator()(const ResultAck& ack) const {
    return listed(ack.leases, [](auto& lease) { return shown(lease); });
  }
  std::string operator()(const Unknown&) const { return ""; }
  std::string operator()(const Revoke& revoke) const {
    return listed(revoke.leases, [](auto& lease) { return shown(lease); });
  }
  std::string operator()(const ActionReply& reply) const {
    return listed(reply.jobs, [](auto& job) { return shown(job); });
  }
  std::string operator()(const Done&) const { return ""; }
  std::string operator()(const JobsReply& reply) const {
    return listed(reply.jobs, [](auto& row) { return shown(row); }) + (reply.more ? "; and more" : "");
  }
  std::string operator()(const QueueReply& reply) const {
    return listed(reply.lanes, [](auto& row) { return shown(row); }) + "; " + std::to_string(reply.waiting) +
           " waiting" + (reply.more ? "; and more" : "");
  }
  std::string operator()(const RunsReply& reply) const {
    return listed(reply.runs, [](auto& row) { return row.run + " of " + row.submitter; }) +
           (reply.more ? "; and more" : "");
  }
  std::string operator()(const FileReply& file) const { return file.name + " " + quoted(file.bytes.view()); }
  std::string operator()(const StatsReply& reply) const { return std::to_string(reply.metrics.size()) + " metrics"; }
};

}  // namespace

std::string shown(const store::Write& write) {
  const std::string seq = std::to_string(store::sequence_from(write.key).value_or(0));
  if (write.family == store::Family::meta) return shown_meta(write);
  if (write.family == store::Family::queue) return shown_queue(write);
  if (write.family == store::Family::timer) return shown_timer(write);
  if (write.family == store::Family::dead) return (write.value ? "dead letter " : "no dead letter ") + seq;
  if (!write.value) return shown_removal(write);
  const std::string& value = *write.value;
  switch (write.family) {
    case store::Family::meta:
    case store::Family::queue:
    case store::Family::timer:
    case store::Family::dead:
      break;
    case store::Family::reuse: {
      const store::ReusePlace place = *store::reuse_place_from(write.key);
      return "job " + std::to_string(place.seq) + " is also " + shown_label(place.run_key);
    }
    case store::Family::state:
      return "job " + seq + " " + shown(*decode<JobRecord>(value));
    case store::Family::ids:
      return "key of job " + std::to_string(*store::sequence_from(value));
    case store::Family::body:
      return "body of job " + seq + " " + decode<Submission>(value)->label;
    case store::Family::result:
      return "result of job " + seq + " " + shown(*decode<Result>(value));
    case store::Family::samples:
      return "samples of job " + seq;
    case store::Family::blob:
      return "blob " + quoted(value);
    case store::Family::run:
      return shown_label(write.key) + " = job " + std::to_string(decode<RunEntry>(value)->seq);
    case store::Family::sender:
      return quoted(write.key.substr(sizeof(Hash::bytes))) + " has sent a file";
    case store::Family::owner: {
      const auto owner = *decode<RunOwner>(value);
      std::string text = "run " + write.key + " of " + owner.owner;
      for (std::size_t i = 0; i < owner.shared.size(); ++i) text += (i == 0 ? ", shared with " : "+") + owner.shared[i];
      return text;
    }
    case store::Family::object:
      return "object of job " + seq + " " + quoted(decode<BuildObject>(value)->bytes);
    case store::Family::board:
      return "board " + shown(*decode<LeaderboardRow>(value));
    case store::Family::kernel:
      return "kernel " + shown(*decode<LeaderboardRow>(value));
  }
  return "";
}

std::string shown(const Send& send) {
  return std::visit(
      [](const auto& to) {
        return std::visit(
            [&]<class Body>(const Body& body) {
              const std::string text = BodyText{}(body);
              return to.peer + " " + std::string(AlternativeName<Body>::value) + (text.empty() ? "" : ": ") + text;
            },
            to.message.body);
      },
      send);
}

}  // namespace kq::broker
