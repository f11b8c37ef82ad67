// Makes the prefixes of torch's headers that extensions are compiled with (harness/extensions/torch_prefix.py).
//
// A prefix takes half a minute or more. It is made in threads of its own. Until it is there, a few builds compile
// torch's headers as they are, which takes longer and gives the same code. More of them would only delay the prefix, so
// that the others wait for it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/bytes/hash.h"
#include "gpu_worker/compile/key_locks.h"
#include "gpu_worker/zygote/zygote.h"

namespace kq::worker {

inline constexpr std::size_t kHeaderOrdersMax = 32;  // prefixes that wait to be made
inline constexpr std::size_t kFailedHeadersMax = 64;
inline constexpr std::size_t kUnaidedBuildsMax = 2;       // builds that do without a prefix while it is being made
inline constexpr std::int64_t kHeaderWaitMsMax = 60'000;  // of a build that waits for a prefix

struct HeaderOrder {
  Hash group{};         // of the compilers
  std::string variant;  // "extension-O1"
  std::shared_ptr<Zygote> zygote;
  std::string arch;
  bool is_ahead = false;  // no build waits for the prefix, so that it takes only processor time that nothing else wants
};

class HeaderMaker {
 public:
  // Makes one prefix and returns whether that succeeded. It is called by the maker's threads only, each of which has a
  // number.
  using Make = std::function<bool(const HeaderOrder&, std::size_t thread, std::stop_token)>;
  // Makes up to `at_once` prefixes at once.
  explicit HeaderMaker(Make make, std::size_t at_once = 1) : make_(std::move(make)), at_once_(at_once) {}

  // Queues a prefix, unless it is queued already or could not be made. Does not wait. A prefix that is queued ahead,
  // and not begun, is no longer ahead when a build requests it, and is made before those that are.
  void request(HeaderOrder order);
  // Returns when no prefix is queued or being made.
  void wait_until_idle();

  // The turn of a build that a queued prefix would make faster. The constructor returns when the prefix is no longer
  // queued, when fewer than kUnaidedBuildsMax builds go on without theirs, or when the time is over. The build goes on
  // until the destruction.
  class Turn {
   public:
    Turn(HeaderMaker& maker, const Hash& group, const std::string& variant, const BuildTime& time);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    HeaderMaker& maker_;
    bool is_unaided_ = false;
  };

 private:
  using Name = std::pair<Hash, std::string>;
  struct Queued {
    HeaderOrder order;
    bool is_begun = false;
  };
  using Queue = std::list<Queued>;
  Queue::iterator find(const Hash& group, const std::string& variant);
  Queue::iterator next();
  void work(std::size_t thread, const std::stop_token& stop);

  const Make make_;
  const std::size_t at_once_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  Queue queue_;  // in the order of the requests
  std::size_t unaided_ = 0;
  std::set<Name> failed_;              // never tried again by this process
  std::vector<std::jthread> workers_;  // the last member, because they use the others
};

}  // namespace kq::worker
