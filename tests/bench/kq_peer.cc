// The peer kq: a producer submits jobs, and a consumer is a worker that answers every lease at once with a passed
// result.
#include <unistd.h>

#include <deque>
#include <memory>
#include <set>

#include "core/blob.h"
#include "core/codec/codec.h"
#include "core/limits.h"
#include "net/zmq/link.h"
#include "tests/bench/kq_jobs.h"
#include "tests/bench/measure.h"
#include "tests/bench/peer.h"

namespace kq::bench {
namespace {

constexpr int kAnswerWaitMs = 10'000;  // then the request is sent again
constexpr int kAnswersMissedMax = 6;

std::uint64_t distinct_epoch() {
  static std::uint64_t last = static_cast<std::uint64_t>(now_ns());
  return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

constexpr int kSendTriesMax = 1'000;  // each try waits briefly

// Connects by the link that kq's programs use.
std::unique_ptr<net::ClientLink> connect(int port, const std::optional<net::ClientKey>& key) {
  auto link = net::connect_client("tcp://127.0.0.1:" + std::to_string(port), key);
  if (!link) give_up(link.error().message);
  return std::move(*link);
}

// Sends a message, and tries again while the link is full.
void insist(net::ClientLink& link, std::string_view bytes) {
  for (int i = 0; i < kSendTriesMax; ++i) {
    if (link.send(bytes)) return;
  }
  give_up("kq-broker does not take messages");
}

std::optional<std::string> next(net::ClientLink& link, std::int64_t wait_ms) {
  auto message = link.receive(wait_ms);
  if (!message) give_up(message.error().message);
  return std::move(*message);
}

class KqProducer final : public Producer {
 public:
  KqProducer(const Address& address, std::size_t number)
      : link_(connect(address.port, issued_key(address.keys, Role::submit))),
        prefix_(std::to_string(getpid()) + "." + std::to_string(number) + "."),
        author_("client" + std::to_string(number)) {
    begin_batch();
    batch_.blobs.push_back(problem_blob());
  }

  void put(std::string body) override {
    const Hash hash = sha256(body);
    batch_.jobs.push_back(submission_of(hash, prefix_ + std::to_string(++job_count_), author_));
    batch_.blobs.push_back(packed(compressor_, hash, std::move(body)));
  }

  void flush() override {
    Message<ClientRequest> message{++last_request_, std::move(batch_)};
    const std::size_t job_count = std::get<SubmitBatch>(message.body).jobs.size();
    unanswered_.push_back({last_request_, job_count, encode_message(message)});
    insist(*link_, unanswered_.back().bytes);
    begin_batch();
  }

  std::size_t wait_acks() override {
    for (int missed = 0; missed < kAnswersMissedMax; ++missed) {
      while (const auto bytes = next(*link_, kAnswerWaitMs)) {
        if (const std::size_t n = acknowledged(*bytes)) return n;
      }
      for (const Request& request : unanswered_) insist(*link_, request.bytes);
      resent_ = true;
    }
    give_up("kq-broker does not answer submissions");
  }

 private:
  struct Request {
    std::uint64_t id;
    std::size_t job_count;
    std::string bytes;
  };

  void begin_batch() { batch_ = {.run = "bench", .jobs = {}, .blobs = {}, .submitter = author_}; }

  // Returns the number of jobs that an answer acknowledges; 0 if the request was answered before.
  std::size_t acknowledged(std::string_view bytes) {
    const auto message = decode_message<ClientReply>(bytes);
    if (!message) give_up(message.error().message);
    if (const auto* refused = std::get_if<Refused>(&message->body))
      give_up("kq-broker refused a batch: " + refused->reason);
    if (unanswered_.empty() || message->request_id != unanswered_.front().id) return 0;
    const auto& ack = std::get<SubmitAck>(message->body);
    if (ack.jobs.size() != unanswered_.front().job_count)
      give_up("kq-broker acknowledged another number of jobs than were sent");
    for (const JobAck& job : ack.jobs) {
      const bool expected = job.acceptance == Acceptance::accepted || (resent_ && job.acceptance == Acceptance::reused);
      if (!expected)
        give_up("kq-broker answered a new job with " + std::string(to_string(job.acceptance)) + ": " + job.reason);
    }
    unanswered_.pop_front();
    return ack.jobs.size();
  }

  const std::unique_ptr<net::ClientLink> link_;
  Compressor compressor_;
  const std::string prefix_;
  const std::string author_;
  SubmitBatch batch_;
  std::deque<Request> unanswered_;
  std::uint64_t last_request_ = 0;
  std::uint64_t job_count_ = 0;
  bool resent_ = false;
};

class KqConsumer final : public Consumer {
 public:
  KqConsumer(const Address& address, std::size_t number, std::size_t at_once)
      : link_(connect(address.port + 1, issued_key(address.keys, Role::work))),
        hello_(hello_of("bench" + std::to_string(number), distinct_epoch(), static_cast<std::uint32_t>(2 * at_once))),
        result_(passed_result(hello_.devices[0])) {
    send(hello_);
  }

  ~KqConsumer() override { send(Goodbye{hello_.epoch}); }

  void round(Tally& tally) override {
    for (auto bytes = next(*link_, kRoundWaitMs); bytes; bytes = next(*link_, 0)) handle(*bytes, tally);
    if (now_ns() < beat_at_ns_) return;
    beat_at_ns_ = now_ns() + std::int64_t{1'000'000'000};
    send(Heartbeat{hello_.epoch, {unfinished_.begin(), unfinished_.end()}});
  }

 private:
  void send(WorkerRequest request) { insist(*link_, encode_message(Message<WorkerRequest>{0, std::move(request)})); }

  void handle(std::string_view bytes, Tally& tally) {
    const auto message = decode_message<WorkerReply>(bytes);
    if (!message) give_up(message.error().message);
    if (const auto* batch = std::get_if<LeaseBatch>(&message->body)) {
      answer(*batch, tally);
    } else if (const auto* ack = std::get_if<ResultAck>(&message->body)) {
      std::size_t finished = 0;
      for (const LeaseId& lease : ack->leases) finished += unfinished_.erase(lease);
      tally.finished(finished);
    } else if (std::holds_alternative<Unknown>(message->body)) {
      send(hello_);
    } else if (const auto* refused = std::get_if<Refused>(&message->body)) {
      give_up("kq-broker refused the worker: " + refused->reason);
    }
  }

  void answer(const LeaseBatch& batch, Tally& tally) {
    ResultBatch results{.epoch = hello_.epoch, .results = {}, .errors = {}};
    results.results.reserve(batch.leases.size());
    for (const Lease& lease : batch.leases) {
      for (const Blob& blob : lease.blobs) {
        if (blob.hash != lease.submission.files[0].hash) continue;
        const auto content = content_of(decompressor_, blob);
        if (!content) give_up("a leased file " + content.error().message);
        tally.took(*content);
      }
      unfinished_.insert(lease.id);
      results.results.push_back({lease.id, result_});
    }
    send(std::move(results));
  }

  const std::unique_ptr<net::ClientLink> link_;
  Decompressor decompressor_;
  const Hello hello_;
  const Result result_;
  std::set<LeaseId> unfinished_;
  std::int64_t beat_at_ns_ = 0;
};

class Kq final : public Peer {
 public:
  explicit Kq(const Address& address) : address_(address) {}

  std::unique_ptr<Producer> producer(std::size_t number) override {
    return std::make_unique<KqProducer>(address_, number);
  }
  std::unique_ptr<Consumer> consumer(std::size_t number, std::size_t at_once) override {
    return std::make_unique<KqConsumer>(address_, number, at_once);
  }

 private:
  const Address address_;
};

}  // namespace

std::unique_ptr<Peer> make_kq(const Address& address) {
  return std::make_unique<Kq>(address);
}

}  // namespace kq::bench
