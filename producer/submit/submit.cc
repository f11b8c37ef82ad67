#include "producer/submit/submit.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>

#include "core/bytes/hash.h"
#include "core/limits.h"
#include "producer/client/sentences.h"
#include "sys/error_text.h"

namespace kq::producer {
namespace {

// Adds to an error how many jobs were answered before it, and that the same call continues with the others.
Error stopped_after(Error error, std::size_t done, std::size_t total) {
  if (done > 0) {
    error.message += "; " + std::to_string(done) + " of " + counted(total, "job") +
                     " were answered before, submit again to go on, nothing runs twice";
  }
  return error;
}

Error not_all_acknowledged(const Client& client, std::size_t jobs, std::size_t acks) {
  return {ErrorKind::our_fault, "broker " + client.url() + " answered " + std::to_string(jobs) + " jobs with " +
                                    std::to_string(acks) + " acknowledgements"};
}

// Sends batches. Jobs for which the broker has no room are sent again, after pauses that grow.
class BatchSender {
 public:
  BatchSender(Client& client, const SubmitOptions& options) : client_(client), options_(options) {
    if (options.timeout_ms) deadline_ms_ = client.now_ms() + *options.timeout_ms;
  }

  // Asks whether a broker is running. A caller that set a timeout also waits that long for a broker that is starting.
  Expected<BrokerReply> ask_for_broker() {
    return client_.ask_for<BrokerReply>(BrokerQuery{},
                                        patience_ms(deadline_ms_ ? kSubmitTimeoutMs : kFirstAnswerTimeoutMs));
  }

  BatchEnd send(const SubmitBatch& batch, Busy busy) {
    BatchEnd end{std::vector<JobAck>(batch.jobs.size()), std::nullopt};
    std::vector<std::size_t> open(batch.jobs.size());
    std::iota(open.begin(), open.end(), 0);
    for (JobAck& ack : end.acks) ack.acceptance = Acceptance::busy;
    for (std::int64_t pause_ms = 0;;) {
      const bool whole = open.size() == batch.jobs.size();
      const Expected<SubmitAck> ack =
          client_.ask_for<SubmitAck>(whole ? batch : part_of(batch, open), patience_ms(kSubmitTimeoutMs));
      if (ack && ack->jobs.size() != open.size()) {
        end.error = not_all_acknowledged(client_, open.size(), ack->jobs.size());
      } else if (!ack) {
        end.error = ack.error();
      }
      if (end.error) return end;
      // From here on every acknowledged job is on the broker's disk.
      std::vector<std::size_t> still_open;
      std::int64_t asked_ms = kBusyPauseMsMin;
      for (std::size_t i = 0; i < open.size(); ++i) {
        end.acks[open[i]] = ack->jobs[i];
        if (ack->jobs[i].acceptance != Acceptance::busy) continue;
        still_open.push_back(open[i]);
        asked_ms = std::max<std::int64_t>(asked_ms, ack->jobs[i].retry_after_ms);
      }
      busy.answered += open.size() - still_open.size();
      if (still_open.empty()) return end;
      const bool some_taken = still_open.size() < open.size();
      pause_ms = std::min(std::max(asked_ms, some_taken ? 0 : 2 * pause_ms), kBusyPauseMsMax);
      open = std::move(still_open);
      busy.waiting = open.size();
      busy.reason = end.acks[open.front()].reason;
      busy.retry_ms = pause_ms;
      if (const auto waited = wait_for_room(busy); !waited) {
        end.error = waited.error();
        return end;
      }
    }
  }

 private:
  std::int64_t patience_ms(std::int64_t most_ms) const {
    return deadline_ms_ ? std::clamp(*deadline_ms_ - client_.now_ms(), kResendMs, most_ms) : most_ms;
  }

  Expected<void> wait_for_room(const Busy& busy) {
    const std::int64_t left_ms = deadline_ms_ ? *deadline_ms_ - client_.now_ms() : busy.retry_ms;
    if (left_ms <= 0) {
      return failure(
          Error{ErrorKind::gave_up, "gave up waiting for room, broker " + client_.url() + " is busy: " + busy.reason});
    }
    options_.busy(busy);
    return client_.pause(std::min(left_ms, busy.retry_ms));
  }

  Client& client_;
  const SubmitOptions& options_;
  std::optional<std::int64_t> deadline_ms_;
};

}  // namespace

Prepared prepare(const SubmitRequest& request) {
  Inspected inspected = inspect(request);
  Prepared prepared{.run = inspected.source.run,
                    .submitter = request.submitter,
                    .jobs = {},
                    .notes = std::move(inspected.notes),
                    .left_out_count = inspected.left_out_count,
                    .mistakes = std::move(inspected.mistakes)};
  const auto visited = inspected.source.each([&](PackedJob&& job) {
    prepared.jobs.push_back(std::move(job));
    return Expected<void>();
  });
  if (!visited) prepared.mistakes.push_back(visited.error().message);
  return prepared;
}

std::size_t SubmitSummary::answered_count() const {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

void SubmitSummary::add(SubmittedJob job) {
  count_one(job.ack.acceptance);
  jobs.push_back(std::move(job));
}

WaitList SubmitSummary::to_wait_for() const {
  WaitList waited;
  for (const SubmittedJob& job : jobs) {
    if (job.ack.seq != 0) waited.add({job.ack.seq, job.needs});
  }
  return waited;
}

Expected<void> each_batch(const JobSource& source, const VisitBatch& visit) {
  std::vector<PackedJob> waiting;
  const auto texts_bytes = [](const PackedJob& job) {
    std::size_t bytes = 0;
    for (const FileRef& file : job.files) bytes += file.text ? file.text->size() : 0;
    return bytes;
  };
  std::size_t bytes = 0;  // bytes of the texts that are held in memory because they are no files
  const auto hand_out = [&]() -> Expected<void> {
    Expected<SubmitBatch> batch = next_batch(source.run, waiting);
    if (!batch) return failure(batch.error());
    batch->submitter = source.submitter;
    if (const auto visited = visit(*batch); !visited) return visited;
    const auto rest = waiting.begin() + static_cast<std::ptrdiff_t>(batch->jobs.size());
    for (auto job = waiting.begin(); job != rest; ++job) bytes -= texts_bytes(*job);
    waiting.erase(waiting.begin(), rest);
    return {};
  };
  const auto gathered = source.each([&](PackedJob&& job) {
    bytes += texts_bytes(job);
    waiting.push_back(std::move(job));
    return waiting.size() < kSubmitJobsMax && bytes < kSubmitBytesMax ? Expected<void>() : hand_out();
  });
  if (!gathered) return gathered;
  while (!waiting.empty()) {
    if (const auto handed = hand_out(); !handed) return handed;
  }
  return {};
}

BatchEnd send_batch(Client& client, const SubmitBatch& batch, const SubmitOptions& options) {
  return BatchSender(client, options)
      .send(batch, {.waiting = 0, .answered = 0, .total = batch.jobs.size(), .reason = {}});
}

SubmitSummary submit(Client& client, const JobSource& source, const SubmitOptions& options) {
  SubmitSummary summary{.run = source.run, .jobs = {}, .stopped = std::nullopt};
  // A short request first makes the call fail soon where no broker is running. A running broker may take longer for
  // each batch.
  BatchSender sender(client, options);
  const auto there = sender.ask_for_broker();
  if (there) options.connected();
  const auto send = [&](const SubmitBatch& batch) -> Expected<void> {
    BatchEnd end = sender.send(
        batch, {.waiting = 0, .answered = summary.answered_count(), .total = source.job_count, .reason = {}});
    for (std::size_t i = 0; i < end.acks.size(); ++i) {
      if (end.acks[i].acceptance == Acceptance::busy) continue;  // the broker did not take the job
      const Submission& submission = batch.jobs[i];
      SubmittedJob job{submission.label, std::move(end.acks[i]), requirements_of(submission)};
      if (!options.answered) {
        summary.add(std::move(job));
      } else {
        summary.count_one(job.ack.acceptance);
        options.answered(std::move(job));
      }
    }
    return end.error ? Expected<void>(failure(*end.error)) : Expected<void>();
  };
  const Expected<void> sent = there ? each_batch(source, send) : failure(there.error());
  if (!sent) summary.stopped = stopped_after(sent.error(), summary.answered_count(), source.job_count);
  return summary;
}

SubmitSummary submit(Client& client, const Prepared& prepared, const SubmitOptions& options) {
  const auto each = [&](const VisitJob& visit) -> Expected<void> {
    for (const PackedJob& job : prepared.jobs) {
      if (const auto visited = visit(PackedJob(job)); !visited) return visited;
    }
    return {};
  };
  return submit(client,
                {.run = prepared.run, .submitter = prepared.submitter, .job_count = prepared.jobs.size(), .each = each},
                options);
}

std::string busy_text(const Busy& busy) {
  const std::string seconds =
      std::to_string(busy.retry_ms / 1000) + "." + std::to_string(busy.retry_ms / 100 % 10) + " s";
  return "broker is busy, " + std::to_string(busy.waiting) + " of " + counted(busy.total, "job") +
         (busy.waiting == 1 ? " waits" : " wait") + " for room: " + busy.reason + "; trying again in " + seconds;
}

BusyReporter::BusyReporter(std::function<std::int64_t()> now_ms, std::function<void(const std::string&)> say)
    : now_ms_(std::move(now_ms)), say_(std::move(say)) {}

void BusyReporter::operator()(const Busy& busy) {
  if (reason_ == busy.reason && now_ms_() - reported_ms_ < kBusyReportMs) return;
  reason_ = busy.reason;
  reported_ms_ = now_ms_();
  say_(busy_text(busy));
}

Expected<std::string> random_salt() {
  std::array<char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return our_fault(sys::error_text("no random numbers for --force-rerun"));
  }
  return to_hex(sha256({bytes.data(), bytes.size()})).substr(0, 32);
}

}  // namespace kq::producer
