#include "tools/fleet/plan.h"

#include <algorithm>
#include <optional>

#include "producer/client/sentences.h"
#include "producer/client/wait.h"

namespace kq::tools {
namespace {

using Kind = FleetAction::Kind;
using State = FleetJob::State;
using producer::counted;

constexpr std::string_view kJobLabel = "slurm-";  // deploy/slurm/worker.sbatch gives the label to its worker
constexpr std::uint32_t kGpusMax = 64;

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

// The workers of the fleet by batch job. Of two with the same job, of which one was killed, the later one counts.
std::map<std::string, const WorkerStatus*> workers_by_job(const std::vector<WorkerStatus>& workers) {
  std::map<std::string, const WorkerStatus*> found;
  for (const WorkerStatus& worker : workers) {
    for (const std::string& label : worker.labels) {
      if (!label.starts_with(kJobLabel)) continue;
      const WorkerStatus*& known = found[label.substr(kJobLabel.size())];
      if (known == nullptr || known->last_seen_ms <= worker.last_seen_ms) known = &worker;
    }
  }
  return found;
}

// What plan() counts for one pool.
struct PoolState {
  std::uint64_t unfinished = 0;  // jobs of the queue that count for this pool, and jobs that its workers have
  std::uint32_t needed = 0;
  std::uint32_t wanted = 0;                    // `needed` within the limits of the fleet
  std::vector<const FleetJob*> pending;        // in the order in which surplus jobs are cancelled
  std::vector<const FleetJob*> running;        // in the order in which surplus workers are drained
  std::vector<const WorkerStatus*> workers{};  // connected

  std::uint32_t live() const { return static_cast<std::uint32_t>(pending.size() + running.size()); }
};

class Planner {
 public:
  Planner(const FleetView& view, const FleetLimits& limits, FleetMemory& memory, std::int64_t now_ms)
      : view_(view),
        limits_(limits),
        memory_(memory),
        now_ms_(now_ms),
        workers_(workers_by_job(view.workers)),
        pools_(view.pools.size()) {}

  std::vector<FleetAction> actions() {
    sort_jobs();
    count_demand();
    share_limits();
    for (PoolState& pool : pools_) cancel_and_drain(pool);
    start();
    return std::move(actions_);
  }

 private:
  const WorkerStatus* worker_of(const FleetJob& job) const {
    const auto found = workers_.find(job.id);
    return found == workers_.end() ? nullptr : found->second;
  }
  // Returns how many jobs and builds the worker of a batch job has.
  std::uint32_t load_of(const FleetJob& job) const {
    const WorkerStatus* worker = worker_of(job);
    return worker == nullptr ? 0 : worker->running + worker->building;
  }

  // Sorts the batch jobs into the pools and forgets all jobs that have ended.
  void sort_jobs() {
    FleetMemory kept;
    for (const FleetJob& job : view_.jobs) {
      if (job.state == State::failed && now_ms_ - job.ended_ms < kFleetFailureWindowMs) ++failed_;
      if (job.state == State::pending) pools_[job.pool].pending.push_back(&job);
      if (job.state == State::ending) ++leaving_;
      if (job.state == State::running) sort_running(job, kept);
    }
    memory_ = std::move(kept);
    for (PoolState& pool : pools_) {
      std::stable_sort(pool.pending.begin(), pool.pending.end(),
                       [](const auto* a, const auto* b) { return a->submitted_ms > b->submitted_ms; });
      std::stable_sort(pool.running.begin(), pool.running.end(),
                       [this](const auto* a, const auto* b) { return load_of(*a) < load_of(*b); });
    }
  }
  void sort_running(const FleetJob& job, FleetMemory& kept) {
    const auto since = [this](const auto& known, const std::string& id) {
      const auto found = known.find(id);
      return found == known.end() ? now_ms_ : found->second;
    };
    if (memory_.drained.contains(job.id)) {
      kept.drained.insert(job.id);
      ++leaving_;
      return;
    }
    PoolState& pool = pools_[job.pool];
    pool.running.push_back(&job);
    if (const WorkerStatus* worker = worker_of(job)) {
      pool.workers.push_back(worker);
      pool.unfinished += worker->running;
      if (load_of(job) == 0) kept.idle_since_ms[job.id] = since(memory_.idle_since_ms, job.id);
    } else {
      kept.absent_since_ms[job.id] = since(memory_.absent_since_ms, job.id);
    }
  }

  // Returns whether the workers of a pool can run the jobs of a lane. Their devices decide where some are connected;
  // otherwise the name of the pool does.
  bool can_run(std::size_t at, const Requirements& needs) const {
    const FleetPool& pool = view_.pools[at];
    const auto has_label = [&](const std::string& label) {
      return label == pool.gpu || std::ranges::find(limits_.labels, label) != limits_.labels.end();
    };
    if (!pool.is_wanted || !std::ranges::all_of(needs.labels, has_label)) return false;
    bool is_known = false;
    for (const WorkerStatus* worker : pools_[at].workers) {
      for (const DeviceInfo& device : worker->devices) {
        is_known = true;
        if (serves(device, needs)) return true;
      }
    }
    if (is_known) return false;
    if (pool.gpu.empty()) return true;
    if (needs.wish == DeviceWish::cpu) return false;
    return needs.gpu_model.empty() || lower(needs.gpu_model).find(lower(pool.gpu)) != std::string::npos;
  }

  void count_demand() {
    std::uint64_t unserved = 0;
    std::string example;
    for (const LaneRow& lane : view_.lanes) {
      if (lane.paused) continue;
      std::size_t at = 0;
      while (at < pools_.size() && !can_run(at, lane.needs)) ++at;
      if (at < pools_.size()) {
        pools_[at].unfinished += lane.queued;
      } else if (!lane.served) {
        unserved += lane.queued;
        example = producer::needs_text(lane.needs);
      }
    }
    if (unserved > 0)
      notes_.push_back(counted(unserved, "queued job") + " cannot run on any pool of this fleet; one needs " + example);
    for (std::size_t at = 0; at < pools_.size(); ++at) {
      const FleetPool& pool = view_.pools[at];
      const std::uint64_t of_one =
          std::uint64_t{limits_.jobs_per_device} * (pool.gpu.empty() ? 1 : std::max(pool.gpus, 1u));
      if (pool.is_wanted)
        pools_[at].needed = static_cast<std::uint32_t>(
            std::min<std::uint64_t>((pools_[at].unfinished + of_one - 1) / of_one, limits_.workers_max));
    }
  }

  // Gives the workers that the fleet may have to the pools, each time one to the pool that lacks most.
  void share_limits() {
    std::uint32_t given = 0;
    while (given < limits_.workers_max) {
      PoolState* next = nullptr;
      for (PoolState& pool : pools_) {
        const bool lacks_more = next == nullptr || pool.needed - pool.wanted > next->needed - next->wanted;
        if (pool.needed > pool.wanted && lacks_more) next = &pool;
      }
      if (next == nullptr && given < limits_.workers_min) next = &pools_.front();
      if (next == nullptr) return;
      ++next->wanted;
      next->needed = std::max(next->needed, next->wanted);
      ++given;
    }
  }

  std::string need_text(const PoolState& pool) const {
    return counted(pool.unfinished, "job") + (pool.unfinished == 1 ? " needs " : " need ") +
           counted(pool.wanted, "worker");
  }

  void cancel_and_drain(PoolState& pool) {
    std::uint32_t surplus = pool.live() - std::min(pool.live(), pool.wanted);
    for (const FleetJob* job : pool.pending) {
      if (surplus == 0) break;
      actions_.push_back({.kind = Kind::cancel, .job = job->id, .reason = need_text(pool)});
      --surplus;
      ++cancelled_;
    }
    for (const FleetJob* job : pool.running) {
      if (const auto reason = drain_reason(*job, pool, surplus > 0)) {
        actions_.push_back({.kind = Kind::drain, .job = job->id, .reason = *reason});
        surplus -= std::min(surplus, 1u);
        ++leaving_;
        ++drained_;
      }
    }
  }
  std::optional<std::string> drain_reason(const FleetJob& job, const PoolState& pool, bool is_surplus) const {
    if (const auto absent = memory_.absent_since_ms.find(job.id); absent != memory_.absent_since_ms.end()) {
      if (now_ms_ - absent->second >= kFleetStartLimitMs)
        return "it has no worker at the broker for " + std::to_string(kFleetStartLimitMs / 60'000) + " minutes";
    }
    if (!is_surplus) return std::nullopt;
    if (total_live() > limits_.workers_max + drained_ + cancelled_)
      return "the fleet has more workers than " + std::to_string(limits_.workers_max);
    const auto idle = memory_.idle_since_ms.find(job.id);
    if (idle == memory_.idle_since_ms.end() || now_ms_ - idle->second < limits_.idle_ms) return std::nullopt;
    return "it is idle for " + std::to_string((now_ms_ - idle->second) / 1'000) + " s, and " + need_text(pool);
  }

  std::uint32_t total_live() const {
    std::uint32_t total = 0;
    for (const PoolState& pool : pools_) total += pool.live();
    return total;
  }

  void start() {
    const std::uint32_t taken = total_live() + leaving_ - cancelled_ - drained_;
    std::uint32_t free = std::min(limits_.workers_max - std::min(limits_.workers_max, taken), kFleetStartsMax);
    for (std::size_t at = 0; at < pools_.size(); ++at) {
      const PoolState& pool = pools_[at];
      const std::uint32_t missing = std::min(pool.wanted - std::min(pool.wanted, pool.live()), free);
      if (missing == 0) continue;
      if (failed_ >= kFleetFailuresMax) {
        notes_.push_back("no worker is started, because " + counted(failed_, "Slurm job") + " of the fleet failed in " +
                         std::to_string(kFleetFailureWindowMs / 60'000) + " minutes; their output says why");
        break;
      }
      actions_.push_back({.kind = Kind::start, .pool = at, .count = missing, .reason = need_text(pool)});
      free -= missing;
    }
    for (std::string& note : notes_) actions_.push_back({.kind = Kind::say, .reason = std::move(note)});
  }

  const FleetView& view_;
  const FleetLimits& limits_;
  FleetMemory& memory_;
  const std::int64_t now_ms_;
  const std::map<std::string, const WorkerStatus*> workers_;
  std::vector<PoolState> pools_;
  std::size_t failed_ = 0;       // batch jobs that failed lately
  std::uint32_t leaving_ = 0;    // batch jobs that end but still occupy their place
  std::uint32_t cancelled_ = 0;  // by the actions
  std::uint32_t drained_ = 0;    // by the actions; counted in leaving_ as well
  std::vector<std::string> notes_;
  std::vector<FleetAction> actions_;
};

}  // namespace

std::string name_of(const FleetPool& pool) {
  return pool.gpu.empty() ? "any" : pool.gpu + ":" + std::to_string(pool.gpus);
}

Expected<FleetPool> parse_pool(const std::string& text) {
  if (text == "any") return FleetPool{};
  const std::size_t colon = text.rfind(':');
  const std::string model = text.substr(0, colon);
  const std::string count = colon == std::string::npos ? "1" : text.substr(colon + 1);
  const bool is_count =
      !count.empty() && count.size() <= 2 && count.find_first_not_of("0123456789") == std::string::npos;
  const bool is_model = !model.empty() && std::ranges::all_of(model, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  });
  if (!is_model || !is_count || std::stoul(count) == 0 || std::stoul(count) > kGpusMax)
    return bad_input("--gpu '" + text +
                     "' is not a GPU model of Slurm, or MODEL:N with N from 1 to 64, such as h100:2");
  return FleetPool{.gpu = model, .gpus = static_cast<std::uint32_t>(std::stoul(count))};
}

std::vector<FleetAction> plan(const FleetView& view, const FleetLimits& limits, FleetMemory& memory,
                              std::int64_t now_ms) {
  return Planner(view, limits, memory, now_ms).actions();
}

}  // namespace kq::tools
