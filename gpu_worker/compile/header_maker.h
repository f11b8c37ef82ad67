// Makes the prefixes of torch's headers that extensions are compiled with (harness/extensions/torch_prefix.py).
//
// A prefix takes a minute or more. It is made in a thread of its own, one prefix at a time, so that no build waits for
// it: until a prefix is there, builds compile torch's headers as they are, which takes longer and gives the same code.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "core/bytes/hash.h"
#include "gpu_worker/zygote/zygote.h"

namespace kq::worker {

inline constexpr std::size_t kHeaderOrdersMax = 16;  // prefixes that wait to be made
inline constexpr std::size_t kFailedHeadersMax = 64;

struct HeaderOrder {
  Hash group{};         // of the compilers
  std::string variant;  // "extension-O1"
  std::shared_ptr<Zygote> zygote;
  std::string arch;
  bool is_ahead = false;  // no build waits for the prefix, so that it takes only processor time that nothing else wants
};

class HeaderMaker {
 public:
  // Makes one prefix and returns whether that succeeded. It is called by the maker's thread only.
  using Make = std::function<bool(const HeaderOrder&, std::stop_token)>;
  explicit HeaderMaker(Make make) : make_(std::move(make)) {}

  // Queues a prefix, unless it is queued already or could not be made. Does not wait. A prefix that is queued ahead,
  // and not begun, is no longer ahead when a build requests it.
  void request(HeaderOrder order);
  // Returns when no prefix is queued or being made.
  void wait_until_idle();

 private:
  using Name = std::pair<Hash, std::string>;
  void work(const std::stop_token& stop);

  const Make make_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<HeaderOrder> queue_;  // the first one is being made
  std::set<Name> failed_;          // never tried again by this process
  std::jthread worker_;            // the last member, because it uses the others
};

}  // namespace kq::worker
