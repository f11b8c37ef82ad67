#include "tests/bench/floor.h"

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "core/blob.h"
#include "core/codec/codec.h"
#include "store/keys.h"
#include "store/rocks/rocks_store.h"
#include "tests/bench/kq_jobs.h"
#include "tests/bench/measure.h"

namespace kq::bench {
namespace {

constexpr std::size_t kBatch = 64, kInFlight = 4;
constexpr std::size_t kJobs = 60'000 / kBatch * kBatch;

struct FloorJob {
  std::uint64_t number = 0;
  Submission submission;
  Blob blob;
  std::string result;  // empty until the worker has run the job
};
using Batch = std::vector<FloorJob>;

// A queue of batches between two threads.
class BatchQueue {
 public:
  void put(Batch batch) {
    const std::lock_guard lock(mutex_);
    batches_.push_back(std::move(batch));
    arrived_.notify_one();
  }
  // Waits until there is a batch, and removes and returns all batches.
  std::deque<Batch> take() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return !batches_.empty(); });
    return std::exchange(batches_, {});
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Batch> batches_;
};

void check(Decompressor& decompressor, const Blob& blob) {
  if (const auto content = view_of(decompressor, blob); !content) give_up(content.error().message);
}

class Floor {
 public:
  Floor(store::Store& store, const Bodies& bodies) : store_(store), bodies_(bodies) {}

  void run() {
    std::thread client([this] { produce(); }), worker([this] { work(); });
    serve();
    client.join();
    worker.join();
  }

 private:
  void produce() {
    Compressor compressor;
    std::size_t in_flight = 0;
    for (std::uint64_t number = 0; number < kJobs;) {
      Batch batch;
      for (; batch.size() < kBatch; ++number) {
        std::string body = bodies_.body(number);
        const Hash hash = sha256(body);
        batch.push_back({.number = number,
                         .submission = submission_of(hash, std::to_string(number), "floor"),
                         .blob = packed(compressor, hash, std::move(body)),
                         .result = {}});
      }
      to_server_.put(std::move(batch));
      if (++in_flight == kInFlight) in_flight -= to_client_.take().size();
    }
  }

  void serve() {
    Decompressor decompressor;
    for (std::size_t finished = 0; finished < kJobs;) {
      std::deque<Batch> batches = to_server_.take();
      std::vector<store::Write> writes;
      for (const Batch& batch : batches) {
        for (const FloorJob& job : batch) {
          if (!job.result.empty()) {
            writes.push_back({store::Family::result, store::sequence_key(job.number), job.result});
            ++finished;
            continue;
          }
          check(decompressor, job.blob);
          writes.push_back({store::Family::body, store::sequence_key(job.number), encode(job.submission)});
          writes.push_back(
              {store::Family::blob, store::blob_key(job.blob.hash, job.blob.packing), std::string(job.blob.bytes)});
        }
      }
      if (const auto done = store_.commit(writes); !done) give_up(done.error().message);
      for (Batch& batch : batches) {
        if (!batch.front().result.empty()) continue;
        to_client_.put({});
        to_worker_.put(std::move(batch));
      }
    }
    to_worker_.put({});
  }

  void work() {
    Decompressor decompressor;
    const std::string result = encode(passed_result({}));
    for (;;) {
      for (Batch& batch : to_worker_.take()) {
        if (batch.empty()) return;
        for (FloorJob& job : batch) {
          check(decompressor, job.blob);
          job.result = result;
        }
        to_server_.put(std::move(batch));
      }
    }
  }

  store::Store& store_;
  const Bodies& bodies_;
  BatchQueue to_server_, to_client_, to_worker_;
};

}  // namespace

nlohmann::json measure_floor(const std::string& dir, const Bodies& bodies) {
  const std::string store_dir = dir + "/floor";
  auto store = store::open_rocks_store(store_dir, store::OpenMode::read_write);
  if (!store) give_up(store.error().message);
  const std::int64_t worked_ns = process_cpu_ns(), begun_ns = now_ns();
  Floor(**store, bodies).run();
  const auto passed_ns = static_cast<double>(now_ns() - begun_ns),
             cpu_ns = static_cast<double>(process_cpu_ns() - worked_ns);
  store->reset();
  std::filesystem::remove_all(store_dir);
  return {{"cycle_floor_jobs_per_s", kJobs * 1e9 / passed_ns}, {"cycle_floor_cpu_us", cpu_ns / 1e3 / kJobs}};
}

}  // namespace kq::bench
