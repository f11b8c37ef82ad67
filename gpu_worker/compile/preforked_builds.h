// A pool of pre-forked build children, which wait in their sandbox with an NVRTC that has compiled once.
//
// Fork, sandbox and the first compile of a process take longer than the compile of a small kernel. So once a CUDA
// kernel was built, children are forked ahead for the next ones. Each child builds for one job. A thread of the pool
// forks and reaps children.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/messages.h"
#include "gpu_worker/machine/scratch.h"
#include "gpu_worker/zygote/zygote.h"
#include "sys/log_pump.h"

namespace kq::worker {

inline constexpr std::size_t kPreforkedBuildsMax = 2;       // for one architecture; each takes 60 MB
inline constexpr std::size_t kPreforkedBuildsTotalMax = 4;  // for all architectures; beyond it the oldest is ended

// A pre-forked build child.
struct PreforkedBuild {
  std::shared_ptr<Zygote> zygote;
  std::string arch;
  std::uint64_t id = 0;
  std::shared_ptr<const std::uint32_t> place;  // number of its directory and user, free again when this is destroyed
  Scratch scratch;
  sys::LogPump log;
  sys::Fd channel;

  // Writes the job's files to src/ and sends the child its assignment.
  Expected<void> assign(const Lease& lease) const;
};

struct PreforkedBuildsOptions {
  std::string scratch;          // parent of their directories
  std::uint32_t first_uid = 0;  // 0: this process's user
  std::uint64_t host_bytes = 0;
  std::uint64_t scratch_bytes = 0;
  std::vector<int> cores = {};  // processors of the children; empty: all
};

class PreforkedBuilds {
 public:
  explicit PreforkedBuilds(PreforkedBuildsOptions options) : options_(std::move(options)) {}
  ~PreforkedBuilds();  // ends all waiting children

  // Returns a waiting child of this zygote for device code of `arch`, or nothing if there is none. From the first call
  // on children for such builds are forked ahead.
  std::optional<PreforkedBuild> take(const std::shared_ptr<Zygote>& zygote, const std::string& arch);
  // Queues a child that is not needed; the pool's thread ends it.
  void end(PreforkedBuild child);

 private:
  // Which numbers of directories and users are in use.
  struct Places {
    std::mutex mutex;
    std::vector<bool> taken;
  };
  static std::shared_ptr<const std::uint32_t> place_in(const std::shared_ptr<Places>& places);
  Expected<PreforkedBuild> make(std::shared_ptr<Zygote> zygote, const std::string& arch) const;
  bool is_wanted(const PreforkedBuild& child) const { return child.zygote == zygote_ && child.arch == arch_; }
  bool needs_more() const;
  void reap(PreforkedBuild child);
  void work();

  const PreforkedBuildsOptions options_;
  const std::shared_ptr<Places> places_ = std::make_shared<Places>();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Zygote> zygote_;     // whose children were wanted last; null: none were wanted yet
  std::string arch_;                   // for which they were wanted
  bool has_failed_ = false;            // the last fork failed: none is tried until a child is wanted
  std::list<PreforkedBuild> waiting_;  // the oldest one first
  std::list<PreforkedBuild> ending_;
  std::vector<std::shared_ptr<const std::uint32_t>> lost_;  // places of children that could not be killed
  bool stopped_ = false;
  std::thread worker_;
};

}  // namespace kq::worker
