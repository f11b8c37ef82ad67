// Makes precompiled headers behind the builds' back. Nobody waits for one: a build that has none yet compiles the same header as a text, which takes g++
// twice as long and comes to the same code.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>

#include "core/error.h"
#include "core/hash.h"

namespace kq {

class HeaderMaker {
 public:
  // Blocking. False: here it cannot be made. An Error was an accident.
  using Make = std::function<Expected<bool>(std::stop_token)>;

  ~HeaderMaker() { thread_ = {}; }  // what it is at is told to stop, and waited for

  // One at a time: the header is not made where another one is, for who wants it next asks again. What could not be made is not tried again.
  void want(const Hash& header, Make make);
  bool is_making();

 private:
  static constexpr std::size_t kFailedMax = 64;  // then all are tried again

  std::mutex mutex_;
  bool is_busy_ = false;
  std::set<Hash> failed_;
  std::jthread thread_;
};

}  // namespace kq
