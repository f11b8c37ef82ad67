#include "tests/bench/cycle.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace kq::bench {
namespace {

constexpr std::int64_t kStillNsMax = 60'000'000'000;

class Cycle {
 public:
  Cycle(Peer& peer, const Bodies& bodies, const Shape& shape)
      : peer_(peer),
        bodies_(bodies),
        shape_(shape),
        end_number_(shape.first_number + (shape.producer_count > 0 ? shape.job_count : 0)),
        next_number_(shape.first_number),
        put_ns_(end_number_ - shape.first_number),
        taken_(std::max(end_number_, shape.first_number + 1)) {}

  Outcome run() {
    const std::int64_t cpu_ns = process_cpu_ns();
    const std::int64_t start_ns = now_ns();
    last_ns_ = start_ns;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < shape_.producer_count; ++i) threads.emplace_back([this, i] { produce(i); });
    for (std::size_t i = 0; i < shape_.consumer_count; ++i) threads.emplace_back([this, i] { consume(i); });
    watch();
    for (std::thread& thread : threads) thread.join();
    outcome_.seconds = static_cast<double>(last_ns_ - start_ns) / 1e9;
    const double per_job_us = 1e-3 / static_cast<double>(shape_.job_count);
    outcome_.process_cpu_us = static_cast<double>(process_cpu_ns() - cpu_ns) * per_job_us;
    outcome_.producer_cpu_us = static_cast<double>(producer_cpu_ns_) * per_job_us;
    outcome_.consumer_cpu_us = static_cast<double>(consumer_cpu_ns_) * per_job_us;
    count_lost();
    return std::move(outcome_);
  }

 private:
  class ConsumerTally final : public Tally {
   public:
    explicit ConsumerTally(Cycle& cycle) : cycle_(cycle) {}

    void took(std::string_view body) override {
      const std::uint64_t number = Bodies::number_in(body);
      if (number >= cycle_.taken_.size()) give_up("the queue delivered a job that was never put");
      if (cycle_.taken_[number].exchange(1, std::memory_order_relaxed) != 0) ++doubled;
      if (number >= cycle_.shape_.first_number) {
        life.add(now_ns() - cycle_.put_ns_[number - cycle_.shape_.first_number].load(std::memory_order_acquire));
      }
    }
    void finished(std::size_t n) override {
      if (n == 0) return;
      cycle_.finished_count_ += n;
      cycle_.last_ns_ = now_ns();
    }

    Latencies life;
    std::uint64_t doubled = 0;

   private:
    Cycle& cycle_;
  };

  void produce(std::size_t number) {
    const auto producer = peer_.producer(number);
    Latencies latencies;
    std::vector<std::int64_t> sent_ns;  // of each job put, in order
    std::size_t acknowledged = 0;
    const std::size_t window = shape_.batch * shape_.in_flight;
    for (bool more = true;;) {
      while (more && sent_ns.size() - acknowledged + shape_.batch <= window) more = put_batch(*producer, sent_ns);
      if (acknowledged == sent_ns.size()) break;
      const std::size_t n = producer->wait_acks();
      const std::int64_t now = now_ns();
      for (std::size_t i = 0; i < n; ++i) latencies.add(now - sent_ns[acknowledged++]);
      if (shape_.consumer_count > 0) continue;
      finished_count_ += n;
      last_ns_ = now;
    }
    producer_cpu_ns_ += thread_cpu_ns();
    const std::lock_guard lock(mutex_);
    outcome_.put.merge(latencies);
  }

  // Puts one message of jobs. Returns whether more jobs are left.
  bool put_batch(Producer& producer, std::vector<std::int64_t>& sent_ns) {
    std::size_t n = 0;
    for (; n < shape_.batch; ++n) {
      const std::uint64_t number = next_number_.fetch_add(1);
      if (number >= end_number_) break;
      std::string body = bodies_.body(number);
      sent_ns.push_back(now_ns());
      put_ns_[number - shape_.first_number].store(sent_ns.back(), std::memory_order_release);
      producer.put(std::move(body));
    }
    if (n > 0) producer.flush();
    return n == shape_.batch;
  }

  void consume(std::size_t number) {
    const auto consumer = peer_.consumer(number, shape_.at_once);
    ConsumerTally tally(*this);
    while (finished_count_ < shape_.job_count) consumer->round(tally);
    consumer_cpu_ns_ += thread_cpu_ns();
    const std::lock_guard lock(mutex_);
    outcome_.life.merge(tally.life);
    outcome_.doubled += tally.doubled;
  }

  // Waits until all jobs are finished. Gives up when no job makes progress for a minute, because producers and
  // consumers may wait for ever.
  void watch() {
    while (finished_count_ < shape_.job_count) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (now_ns() - last_ns_ > kStillNsMax) {
        give_up("nothing happened for a minute; " + std::to_string(finished_count_) + " of " +
                std::to_string(shape_.job_count) + " jobs were finished");
      }
    }
  }

  void count_lost() {
    if (shape_.consumer_count == 0) return;
    const auto taken = static_cast<std::uint64_t>(
        std::count_if(taken_.begin(), taken_.end(), [](const auto& mark) { return mark.load() != 0; }));
    if (taken < shape_.job_count) outcome_.lost = shape_.job_count - taken;
  }

  Peer& peer_;
  const Bodies& bodies_;
  const Shape shape_;
  const std::uint64_t end_number_;
  std::atomic<std::uint64_t> next_number_;
  std::vector<std::atomic<std::int64_t>> put_ns_;
  std::vector<std::atomic<std::uint8_t>> taken_;
  std::atomic<std::uint64_t> finished_count_ = 0;
  std::atomic<std::int64_t> last_ns_ = 0;
  std::atomic<std::int64_t> producer_cpu_ns_ = 0;
  std::atomic<std::int64_t> consumer_cpu_ns_ = 0;
  std::mutex mutex_;
  Outcome outcome_;
};

}  // namespace

Outcome run_cycle(Peer& peer, const Bodies& bodies, const Shape& shape) {
  return Cycle(peer, bodies, shape).run();
}

}  // namespace kq::bench
