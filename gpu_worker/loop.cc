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
#include <stop_token>
#include <string>
#include <thread>

#include "core/bytes/codec.h"
#include "sys/clock.h"

namespace kq::worker {
namespace {

// The loop looks at its signals and timers at least this often.
constexpr std::int64_t kLookMs = 100;

// Many writers, one reader: its descriptor is readable while something is in it.
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

// Threads that do one thing after another, each told which of them it is. What is queued is bounded by the worker's
// credit.
class Crew {
 public:
  using Task = std::function<void(std::size_t)>;
  explicit Crew(std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) threads_.emplace_back([this, i] { serve(i); });
  }
  ~Crew() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  void ask(Task task) {
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
      if (closed_) return;  // what has not begun will be leased to somebody else
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
  std::vector<std::thread> threads_;  // last: they start when everything above is there
};

// Whoever leaves while jobs run does not wait for them: they have been given back, or will be missed.
struct AbortAtEnd {
  std::vector<std::unique_ptr<Lane>>& lanes;
  ~AbortAtEnd() {
    for (const auto& lane : lanes) lane->abort();
  }
};

void tell_if_lost(const Lane& lane, std::size_t device, Mailbox& mailbox) {
  if (auto why = lane.quarantine()) mailbox.put(DeviceLost{device, std::move(*why)});
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

}  // namespace

Expected<void> work(net::ClientLink& broker, std::vector<std::unique_ptr<Lane>>& lanes, const LoopOptions& options,
                    const std::atomic<bool>& drain, const std::atomic<bool>& stop) {
  Worker worker(options.worker);
  Mailbox mailbox;
  broker.wake_on(mailbox.wake_fd());
  Builder builder(options.builder, BuildCache(options.cache_dir, options.cache_bytes_max), options.zygote);
  Crew build_crew(options.worker.build_slots);
  std::vector<std::unique_ptr<Crew>> lane_crews;
  for (std::size_t i = 0; i < lanes.size(); ++i) lane_crews.push_back(std::make_unique<Crew>(1));

  // Goes before the crews, who wait for what they are doing.
  const AbortAtEnd abort_at_end{lanes};

  bool finished = false;
  bool drain_told = false;
  std::int64_t wake_at_ms = 0;
  std::optional<std::string> refusal;
  std::map<LeaseId, std::stop_source> going;  // what the crews were asked to do and have not done
  const auto obey = [&](WorkerReady ready) {
    for (const std::string& note : ready.notes) spdlog::warn("{}", note);
    for (BuildStart& start : ready.builds) {
      for (const auto& lane : lanes) lane->expect(start.lease->submission.backend);
      build_crew.ask([&mailbox, &builder, &lanes, lease = start.lease,
                      stop = going[start.lease->id].get_token()](std::size_t slot) {
        const bool for_others = lease->id.attempt == 0;
        auto built = for_others ? builder.build_object(*lease, stop, slot) : builder.build(*lease, stop, slot);
        // A zygote that does not start is seen here first, and no job may come as far as its lane.
        for (std::size_t i = 0; i < lanes.size(); ++i) tell_if_lost(*lanes[i], i, mailbox);
        mailbox.put(BuildDone{lease->id, std::move(built)});
      });
    }
    for (RunStart& start : ready.runs) {
      lane_crews[start.device]->ask([&mailbox, &lane = *lanes[start.device], device = start.device, lease = start.lease,
                                     built = std::move(start.built),
                                     stop = going[start.lease->id].get_token()](std::size_t) {
        auto result = lane.run(*lease, built, stop);
        log_result(*lease, result, stop.stop_requested());
        // First, so that nothing is begun there any more.
        tell_if_lost(lane, device, mailbox);
        mailbox.put(RunDone{lease->id, std::move(result)});
      });
    }
    for (const LeaseId& id : ready.stops) going[id].request_stop();
    for (const WorkerRequest& request : ready.sends) broker.send(encode_message(Message<WorkerRequest>{0, request}));
    wake_at_ms = ready.wake_at_ms;
    finished = finished || ready.finished;
  };

  while (!finished && !stop) {
    if (auto why = broker.refusal(); why != refusal) {
      if (why) spdlog::warn("the broker refuses the connection, which is tried again: {}", *why);
      refusal = std::move(why);
    }
    KQ_TRY_VALUE(auto packet,
                 broker.receive(std::clamp<std::int64_t>(wake_at_ms - sys::monotonic_now_ms(), 0, kLookMs)));
    if (packet) {
      auto message = decode_message<WorkerReply>(*packet);
      if (message) {
        obey(worker.step(BrokerMessage{std::move(message->body)}, sys::monotonic_now_ms()));
      } else {
        spdlog::warn("the broker sent something unreadable: {}", message.error().message);
      }
    }
    while (auto event = mailbox.take()) {
      if (const auto* built = std::get_if<BuildDone>(&*event)) going.erase(built->lease);
      if (const auto* run = std::get_if<RunDone>(&*event)) going.erase(run->lease);
      obey(worker.step(std::move(*event), sys::monotonic_now_ms()));
    }
    if (drain && !stop && !drain_told) {  // who is to end at once says nothing of a second signal
      drain_told = true;
      spdlog::info(
          "asked to end: it takes nothing new, and ends when all it has is with the broker; a second signal ends it at "
          "once");
      obey(worker.step(DrainRequested{}, sys::monotonic_now_ms()));
    }
    if (sys::monotonic_now_ms() >= wake_at_ms) obey(worker.step(Tick{}, sys::monotonic_now_ms()));
  }
  for (auto& [lease, stopping] : going) stopping.request_stop();
  if (!finished) broker.send(encode_message(Message<WorkerRequest>{0, Goodbye{options.worker.epoch}}));
  return {};
}

}  // namespace kq::worker
