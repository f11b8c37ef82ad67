#include "tests/bench/crowd.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "core/codec/codec.h"
#include "tests/bench/kq_jobs.h"
#include "tests/bench/measure.h"

namespace kq::bench {
namespace {

constexpr std::size_t kWorkerThreads = 2;
constexpr std::size_t kGreedyBatch = 200;
constexpr std::int64_t kSettleNs = 500'000'000;  // time after the last submission for its acknowledgement and lease
constexpr std::int64_t kStartNsMax = 30'000'000'000;
constexpr int kPollMs = 1;

// The first number of the greedy submitter's jobs. Jobs from this number on are not measured.
constexpr std::uint64_t kGreedyNumber = std::uint64_t{1} << 40;

struct Worker {
  KqSocket socket;
  Hello hello;
  std::optional<LeaseId> lease{};
  std::int64_t due_ns = 0;
  std::int64_t beat_ns = 0;
  bool welcome = false;

  void send(WorkerRequest request) { socket.send(encode_message(Message<WorkerRequest>{0, std::move(request)})); }
};

std::string submit_bytes(std::uint64_t request_id, const Bodies& bodies, std::uint64_t first, std::size_t n,
                         const std::string& author) {
  SubmitBatch batch{.run = "crowd", .jobs = {}, .blobs = {problem_blob()}, .submitter = author};
  for (std::uint64_t number = first; number < first + n; ++number) {
    std::string body = bodies.body(number);
    const Hash hash = sha256(body);
    batch.jobs.push_back(submission_of(hash, std::to_string(number), author));
    batch.blobs.push_back({hash, std::move(body)});
  }
  return encode_message(Message<ClientRequest>{request_id, std::move(batch)});
}

class CrowdRun {
 public:
  CrowdRun(int port, const Bodies& bodies, const Crowd& crowd)
      : port_(port),
        bodies_(bodies),
        crowd_(crowd),
        job_count_(static_cast<std::size_t>(crowd.pace_per_s * static_cast<double>(crowd.submitter_count) *
                                            static_cast<double>(crowd.seconds))),
        due_ns_(job_count_) {
    context_.set(zmq::ctxopt::max_sockets, static_cast<int>(crowd.worker_count + crowd.submitter_count + 16));
  }

  nlohmann::json run() {
    if (crowd_.greedy_job_count > 0) submit_greedily();
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kWorkerThreads; ++i) threads.emplace_back([this, i] { work(i); });
    const std::int64_t give_up_ns = now_ns() + kStartNsMax;
    while (welcome_count_ < crowd_.worker_count) {
      if (now_ns() > give_up_ns)
        give_up("only " + std::to_string(welcome_count_) + " workers were welcomed within 30 s");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    submit();
    std::this_thread::sleep_for(std::chrono::nanoseconds(kSettleNs));
    stop_ = true;
    for (std::thread& thread : threads) thread.join();
    return {{"submitted", job_count_},
            {"leased_share", static_cast<double>(leases_.size()) / static_cast<double>(job_count_)},
            {"put_p50_us", acks_.percentile_us(50)},
            {"put_p99_us", acks_.percentile_us(99)},
            {"lease_p50_us", leases_.percentile_us(50)},
            {"lease_p99_us", leases_.percentile_us(99)}};
  }

 private:
  void submit_greedily() {
    KqSocket socket(context_, port_);
    for (std::size_t sent = 0; sent < crowd_.greedy_job_count; sent += kGreedyBatch) {
      socket.send(submit_bytes(sent + 1, bodies_, kGreedyNumber + sent, kGreedyBatch, "greedy"));
      if (!socket.receive(10'000)) give_up("kq-broker does not answer the greedy submitter");
    }
  }

  // Submits one job of each submitter in turn at the steady rate, and reads acknowledgements. One thread serves all
  // submitters.
  void submit() {
    std::vector<KqSocket> sockets;
    std::vector<zmq::pollitem_t> items;
    for (std::size_t i = 0; i < crowd_.submitter_count; ++i) {
      sockets.emplace_back(context_, port_);
      items.push_back({sockets.back().handle(), 0, ZMQ_POLLIN, 0});
    }
    const double gap_ns = static_cast<double>(crowd_.seconds) * 1e9 / static_cast<double>(job_count_);
    const std::int64_t start_ns = now_ns();
    std::size_t sent = 0, answered = 0;
    const std::int64_t end_ns = start_ns + crowd_.seconds * 1'000'000'000 + kSettleNs;
    while (answered < job_count_ && now_ns() < end_ns) {
      for (; sent < job_count_; ++sent) {
        const auto due = start_ns + static_cast<std::int64_t>(gap_ns * static_cast<double>(sent));
        if (due > now_ns()) break;
        due_ns_[sent] = due;
        const std::size_t who = sent % sockets.size();
        sockets[who].send(submit_bytes(sent, bodies_, sent, 1, "client" + std::to_string(who)));
      }
      zmq::poll(items, std::chrono::milliseconds(kPollMs));
      for (std::size_t i = 0; i < sockets.size(); ++i) {
        if ((items[i].revents & ZMQ_POLLIN) == 0) continue;
        while (const auto bytes = sockets[i].receive(0)) answered += acknowledged(view(*bytes));
      }
    }
  }

  std::size_t acknowledged(std::string_view bytes) {
    const auto message = decode_message<ClientReply>(bytes);
    if (!message) give_up(message.error().message);
    const auto* ack = std::get_if<SubmitAck>(&message->body);
    if (ack == nullptr || ack->jobs.empty() || ack->jobs[0].acceptance == Acceptance::refused) {
      give_up("kq-broker refused a job" + (ack != nullptr && !ack->jobs.empty() ? ": " + ack->jobs[0].reason : ""));
    }
    acks_.add(now_ns() - due_ns_.at(message->request_id));
    return 1;
  }

  void work(std::size_t part) {
    std::vector<Worker> workers;
    for (std::size_t i = part; i < crowd_.worker_count; i += kWorkerThreads) {
      workers.push_back({KqSocket(context_, port_ + 1),
                         hello_of("crowd" + std::to_string(i), static_cast<std::uint64_t>(now_ns()), 1)});
      workers.back().send(workers.back().hello);
    }
    std::vector<zmq::pollitem_t> items;
    for (Worker& worker : workers) items.push_back({worker.socket.handle(), 0, ZMQ_POLLIN, 0});
    while (!stop_) {
      zmq::poll(items, std::chrono::milliseconds(kPollMs));
      const std::int64_t now = now_ns();
      for (std::size_t i = 0; i < workers.size(); ++i) {
        if ((items[i].revents & ZMQ_POLLIN) != 0) listen(workers[i]);
        if (workers[i].lease && workers[i].due_ns <= now) finish(workers[i]);
        if (workers[i].welcome && workers[i].beat_ns <= now) beat(workers[i], now);
      }
    }
    for (Worker& worker : workers) worker.send(Goodbye{worker.hello.epoch});
  }

  void listen(Worker& worker) {
    while (const auto bytes = worker.socket.receive(0)) {
      const auto message = decode_message<WorkerReply>(view(*bytes));
      if (!message) give_up(message.error().message);
      if (const auto* welcome = std::get_if<Welcome>(&message->body)) {
        if (!worker.welcome) ++welcome_count_;
        worker.welcome = true;
        heartbeat_ns_ = std::int64_t{welcome->heartbeat_ms} * 1'000'000;
        worker.beat_ns = now_ns() + heartbeat_ns_;
      } else if (const auto* batch = std::get_if<LeaseBatch>(&message->body)) {
        take(worker, batch->leases.at(0));
      } else if (std::holds_alternative<Unknown>(message->body)) {
        worker.send(worker.hello);
      }
    }
  }

  void take(Worker& worker, const Lease& lease) {
    const std::int64_t now = now_ns();
    worker.lease = lease.id;
    worker.due_ns = now + crowd_.run_ms * 1'000'000;
    const std::uint64_t number = std::stoull(lease.submission.label);
    if (number >= kGreedyNumber) return;
    const std::lock_guard lock(mutex_);
    leases_.add(now - due_ns_.at(number));
  }

  void finish(Worker& worker) {
    worker.send(ResultBatch{worker.hello.epoch, {{*worker.lease, passed_result(worker.hello.devices[0])}}, {}});
    worker.lease.reset();
  }

  void beat(Worker& worker, std::int64_t now) {
    Heartbeat heartbeat{.epoch = worker.hello.epoch, .leases = {}};
    if (worker.lease) heartbeat.leases.push_back(*worker.lease);
    worker.send(std::move(heartbeat));
    worker.beat_ns = now + heartbeat_ns_;
  }

  const int port_;
  const Bodies& bodies_;
  const Crowd crowd_;
  const std::size_t job_count_;
  std::vector<std::atomic<std::int64_t>> due_ns_;
  std::atomic<std::int64_t> heartbeat_ns_ = 1'000'000'000;
  std::atomic<std::size_t> welcome_count_ = 0;
  std::atomic<bool> stop_ = false;
  Latencies acks_;
  std::mutex mutex_;
  Latencies leases_;
  zmq::context_t context_;
};

}  // namespace

nlohmann::json run_crowd(int port, const Bodies& bodies, const Crowd& crowd) {
  return CrowdRun(port, bodies, crowd).run();
}

}  // namespace kq::bench
