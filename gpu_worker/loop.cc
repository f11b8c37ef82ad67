#include "gpu_worker/loop.h"

#include <spdlog/spdlog.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "core/codec/codec.h"
#include "gpu_worker/lane/archive_ahead.h"
#include "gpu_worker/lane/job_text.h"
#include "sys/clock.h"

namespace kq::worker {
namespace {

// The loop checks its signals and timers at least this often.
constexpr std::int64_t kPollMs = 100;

// How long the worker has to be without builds and runs before it makes ahead what later jobs need: prefixes of torch's
// headers and the archive of the driver's code. A sweep sends its jobs sooner after the worker's start.
constexpr std::int64_t kIdleBeforePreparationMs = 1'000;

// A queue of events with many writers and one reader. wake_fd() is readable while the queue is not empty.
class Mailbox {
 public:
  int wake_fd() const { return wake_.get(); }

  void put(WorkerEvent event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    (void)::eventfd_write(wake_.get(), 1);
  }
  std::optional<WorkerEvent> take() {
    const std::lock_guard lock(mutex_);
    if (events_.empty()) {
      eventfd_t count = 0;
      (void)::eventfd_read(wake_.get(), &count);
      return std::nullopt;
    }
    WorkerEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

 private:
  sys::Fd wake_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  std::mutex mutex_;
  std::deque<WorkerEvent> events_;
};

// Threads that run tasks from one queue. A task gets the number of its thread. The worker's credit bounds the queue.
class ThreadPool {
 public:
  using Task = std::function<void(std::size_t)>;
  explicit ThreadPool(std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) threads_.emplace_back([this, i] { serve(i); });
  }
  ~ThreadPool() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  void add(Task task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

 private:
  void serve(std::size_t self) {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return closed_ || !tasks_.empty(); });
      if (closed_) return;  // the broker leases jobs that have not started to another worker
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task(self);
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool closed_ = false;
  std::vector<std::thread> threads_;  // the last member, because the threads start when all others exist
};

// Ends all running jobs in its destructor. Their leases were returned, or the broker will notice that they are missing.
struct AbortAtEnd {
  std::vector<std::unique_ptr<Lane>>& lanes;
  ~AbortAtEnd() {
    for (const auto& lane : lanes) lane->abort();
  }
};

void report_if_lost(const Lane& lane, std::size_t device, Mailbox& mailbox) {
  if (auto reason = lane.quarantine()) mailbox.put(DeviceLost{device, std::move(*reason)});
}

void log_result(const Lease& lease, const Expected<Result>& result, bool stopped) {
  const std::string& label = lease.submission.label;
  if (stopped) {
    spdlog::debug("job {} attempt {} {}: cancelled", lease.id.seq, lease.id.attempt, label);
  } else if (!result) {
    spdlog::warn("job {} attempt {} {}: {}", lease.id.seq, lease.id.attempt, label, result.error().message);
  } else {
    spdlog::debug("job {} attempt {} {}: {}", lease.id.seq, lease.id.attempt, label,
                  to_string(name_of(result->verdict)));
  }
}

// Returns the lease whose build or run an event ends, or nothing.
struct EndedLease {
  std::optional<LeaseId> operator()(const BuildDone& done) const { return done.lease; }
  std::optional<LeaseId> operator()(const RunDone& done) const { return done.lease; }
  std::optional<LeaseId> operator()(const BrokerMessage&) const { return std::nullopt; }
  std::optional<LeaseId> operator()(const DeviceLost&) const { return std::nullopt; }
  std::optional<LeaseId> operator()(const DrainRequested&) const { return std::nullopt; }
  std::optional<LeaseId> operator()(const Tick&) const { return std::nullopt; }
};

// Returns the kinds of the devices that a worker builds for.
std::set<DeviceKind> kinds_of(const WorkerOptions& options) {
  std::set<DeviceKind> kinds;
  for (const auto* devices : {&options.devices, &options.builds_for}) {
    for (const DeviceInfo& device : *devices) kinds.insert(device.kind);
  }
  return kinds;
}

// Feeds the pure Worker with events and does what it asks for.
class Loop {
 public:
  Loop(net::ClientLink& broker, std::vector<std::unique_ptr<Lane>>& lanes, const LoopOptions& options)
      : options_(options),
        broker_(broker),
        lanes_(lanes),
        epoch_(options.worker.epoch),
        worker_(options.worker),
        kinds_(kinds_of(options.worker)),
        is_making_headers_ahead_(options.makes_headers_ahead),
        builder_(options.builder, BuildCache(options.cache_dir, options.cache_bytes_max), options.zygote),
        build_threads_(std::max(options.worker.build_slots, options.worker.build_slots_without_jobs) + kQuickSlots),
        abort_at_end_{lanes} {
    broker_.wake_on(mailbox_.wake_fd());
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      archives_.push_back(std::make_unique<ArchiveAhead>());
      lane_threads_.push_back(std::make_unique<ThreadPool>(1));
    }
  }

  Expected<void> run(const std::atomic<bool>& drain, const std::atomic<bool>& stop) {
    bool drain_requested = false;
    while (!finished_ && !stop) {
      log_refusal();
      prepare_when_idle();
      KQ_TRY(receive());
      while (auto event = mailbox_.take()) {
        if (const auto lease = std::visit(EndedLease(), *event)) in_progress_.erase(*lease);
        step(std::move(*event));
      }
      if (is_idle_for_too_long() && !drain_requested) {
        drain_requested = true;
        spdlog::info("the worker had no job for {} s (--idle-exit), so it ends", options_.idle_exit_ms / 1'000);
        step(DrainRequested{});
      }
      // With `stop` the worker ends at once and a second signal would change nothing.
      if (drain && !stop && !drain_requested) {
        drain_requested = true;
        spdlog::info(
            "draining: the worker accepts nothing new and ends when the broker has all its results; a second SIGTERM "
            "ends it at once");
        step(DrainRequested{});
      }
      if (sys::monotonic_now_ms() >= wake_at_ms_) step(Tick{});
    }
    for (auto& [lease, stopping] : in_progress_) stopping.request_stop();
    stop_archives_ahead();
    if (!finished_) broker_.send(encode_message(Message<WorkerRequest>{0, Goodbye{epoch_}}));
    return {};
  }

 private:
  std::int64_t idle_ms() {
    const std::int64_t now_ms = sys::monotonic_now_ms();
    if (!in_progress_.empty()) idle_since_ms_ = now_ms;
    return now_ms - idle_since_ms_;
  }

  // Makes the prefixes that nearly every extension is compiled with and the archives of the driver's code, once, as
  // soon as the worker has had no work for a while. A job that needs one of them sooner makes it itself.
  void prepare_when_idle() {
    if (idle_ms() < kIdleBeforePreparationMs) return;
    if (std::exchange(is_making_headers_ahead_, false)) {
      for (const DeviceKind kind : kinds_) {
        if (const auto made = builder_.make_headers_ahead(kind); !made) spdlog::warn("{}", made.error().message);
      }
    }
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const auto stop = archives_[i]->begin();
      if (!stop) continue;
      lane_threads_[i]->add([this, i, stop = *stop](std::size_t) {
        make_archive(*lanes_[i], stop);
        archives_[i]->end(stop);
      });
    }
  }

  // Makes the archive of the driver's code, with which children of all lanes begin from then on.
  void make_archive(Lane& lane, const std::stop_token& stop) {
    const auto made = lane.make_driver_cache(stop);
    if (!made && !stop.stop_requested()) spdlog::warn("{}", made.error().message);
    if (made && !made->empty()) spdlog::info("the child that made the archive of the driver's code printed: {}", *made);
    for (const auto& each : lanes_) each->replace_outdated_children();
  }

  void stop_archives_ahead() {
    for (const auto& archive : archives_) archive->stop();
  }

  bool is_idle_for_too_long() { return options_.idle_exit_ms > 0 && idle_ms() >= options_.idle_exit_ms; }

  void log_refusal() {
    auto reason = broker_.refusal();
    if (reason == refusal_) return;
    if (reason) spdlog::warn("the broker refuses the connection, which is tried again: {}", *reason);
    refusal_ = std::move(reason);
  }

  // Waits for a message of the broker, an event in the mailbox or the next timer.
  Expected<void> receive() {
    KQ_TRY_VALUE(auto packet,
                 broker_.receive(std::clamp<std::int64_t>(wake_at_ms_ - sys::monotonic_now_ms(), 0, kPollMs)));
    if (!packet) return {};
    auto message = decode_message<WorkerReply>(*packet);
    if (message) {
      step(BrokerMessage{std::move(message->body)});
    } else {
      spdlog::warn("the broker sent an invalid message: {}", message.error().message);
    }
    return {};
  }

  void step(WorkerEvent event) {
    WorkerReady ready = worker_.step(std::move(event), sys::monotonic_now_ms());
    for (const std::string& note : ready.notes) spdlog::warn("{}", note);
    if (ready.connected) spdlog::info("connected to the broker at {}", options_.broker_url);
    if (ready.unanswered)
      spdlog::warn("no broker answers at {}, which must be its port for workers; the worker goes on trying",
                   options_.broker_url);
    for (const BuildStart& start : ready.builds) start_build(start);
    for (RunStart& start : ready.runs) start_run(std::move(start));
    for (const LeaseId& id : ready.stops) in_progress_[id].request_stop();
    if (!ready.stops.empty()) stop_archives_ahead();  // the job may wait for one
    for (const WorkerRequest& request : ready.sends) broker_.send(encode_message(Message<WorkerRequest>{0, request}));
    wake_at_ms_ = ready.wake_at_ms;
    finished_ = finished_ || ready.finished;
  }

  void start_build(const BuildStart& start) {
    for (const auto& lane : lanes_) lane->expect(*start.lease);
    build_threads_.add([this, lease = start.lease, is_beside_jobs = start.is_beside_jobs,
                        stop = in_progress_[start.lease->id].get_token()](std::size_t slot) {
      const bool for_another_worker = lease->id.attempt == 0;
      const BuildPlace place{.slot = slot, .may_use_all_cores = !is_beside_jobs};
      auto built =
          for_another_worker ? builder_.build_object(*lease, stop, place) : builder_.build(*lease, stop, place);
      // Without a zygote no job gets as far as a run, so a zygote that does not start is noticed here.
      for (std::size_t i = 0; i < lanes_.size(); ++i) report_if_lost(*lanes_[i], i, mailbox_);
      mailbox_.put(BuildDone{lease->id, std::move(built)});
    });
  }

  void start_run(RunStart start) {
    const bool uses_archive = may_use_driver_code(*start.lease);
    if (!uses_archive) stop_archives_ahead();
    lane_threads_[start.device]->add([this, device = start.device, lease = start.lease, built = std::move(start.built),
                                      uses_archive, stop = in_progress_[start.lease->id].get_token()](std::size_t) {
      Lane& lane = *lanes_[device];
      if (uses_archive) make_archive(lane, stop);
      auto result = lane.run(*lease, built, stop);
      log_result(*lease, result, stop.stop_requested());
      // The loss is reported before the result, so that no other run starts on the device.
      report_if_lost(lane, device, mailbox_);
      mailbox_.put(RunDone{lease->id, std::move(result)});
    });
  }

  const LoopOptions& options_;
  net::ClientLink& broker_;
  std::vector<std::unique_ptr<Lane>>& lanes_;
  const std::uint64_t epoch_;
  Worker worker_;
  const std::set<DeviceKind> kinds_;  // of the devices that this worker builds for
  bool finished_ = false;
  bool is_making_headers_ahead_ = false;  // prefixes are still to be made, when there is no work
  std::int64_t idle_since_ms_ = sys::monotonic_now_ms();
  std::int64_t wake_at_ms_ = 0;
  std::optional<std::string> refusal_;
  std::map<LeaseId, std::stop_source> in_progress_;  // builds and runs that have started and not ended
  Mailbox mailbox_;
  Builder builder_;
  ThreadPool build_threads_;
  std::vector<std::unique_ptr<ArchiveAhead>> archives_;  // of each lane
  std::vector<std::unique_ptr<ThreadPool>> lane_threads_;
  const AbortAtEnd abort_at_end_;  // destroyed before the threads, which wait for their tasks
};

}  // namespace

Expected<void> work(net::ClientLink& broker, std::vector<std::unique_ptr<Lane>>& lanes, const LoopOptions& options,
                    const std::atomic<bool>& drain, const std::atomic<bool>& stop) {
  return Loop(broker, lanes, options).run(drain, stop);
}

}  // namespace kq::worker
