// Build children that wait: behind their walls, with an NVRTC that has compiled once. A child's first compile takes 7
// ms of 26 for memory and code that it touches for the first time, and the fork and the walls before it as long; so
// once a CUDA kernel was built here, some children wait for the next ones. Each builds for one job, as any other child
// does.
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

inline constexpr std::size_t kReadyBuildsMax = 2;       // that wait for kernels for one architecture; each takes 60 MB
inline constexpr std::size_t kReadyBuildsOfAllMax = 4;  // the oldest goes

struct ReadyBuild {
  std::shared_ptr<Zygote> zygote;
  std::string arch;
  std::uint64_t id = 0;
  std::shared_ptr<const std::uint32_t> place;  // its directory and its user, nobody else's until this goes
  Scratch scratch;
  sys::LogPump log;
  sys::Fd channel;

  // The job's files and what it is to build.
  Expected<void> assign(const Lease& lease) const;
};

struct ReadyBuildsOptions {
  std::string scratch;          // parent of their directories
  std::uint32_t first_uid = 0;  // 0 keeps ours
  std::uint64_t host_bytes = 0;
  std::uint64_t scratch_bytes = 0;
};

class ReadyBuilds {
 public:
  explicit ReadyBuilds(ReadyBuildsOptions options) : options_(std::move(options)) {}
  ~ReadyBuilds();  // those that wait are gone then

  // One of this zygote's that waits, for device code of `arch`; nothing where none does. From the first time on some
  // will.
  std::optional<ReadyBuild> take(const std::shared_ptr<Zygote>& zygote, const std::string& arch);
  // Of one that is of no use after all: it ends behind the caller's back.
  void end(ReadyBuild child);

 private:
  // Numbers that are in use.
  struct Places {
    std::mutex mutex;
    std::vector<bool> taken;
  };
  static std::shared_ptr<const std::uint32_t> place_in(const std::shared_ptr<Places>& places);
  Expected<ReadyBuild> make(std::shared_ptr<Zygote> zygote, const std::string& arch) const;
  bool is_wanted(const ReadyBuild& child) const { return child.zygote == zygote_ && child.arch == arch_; }
  bool is_short() const;
  void take_down(ReadyBuild child);
  void work();

  const ReadyBuildsOptions options_;
  const std::shared_ptr<Places> places_ = std::make_shared<Places>();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Zygote> zygote_;  // whose children were wanted last, and for which architecture; null: none were
  std::string arch_;
  bool has_failed_ = false;        // to make one: none is tried until somebody wants one
  std::list<ReadyBuild> waiting_;  // the oldest first
  std::list<ReadyBuild> ending_;
  std::vector<std::shared_ptr<const std::uint32_t>> lost_;  // places of those that would not go
  bool stopped_ = false;
  std::thread worker_;
};

}  // namespace kq::worker
