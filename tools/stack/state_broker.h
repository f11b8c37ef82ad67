// The broker of a state folder for one command, such as the cancellation of what an interrupted sweep has left.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/base/error.h"
#include "producer/client/client.h"
#include "tools/stack/stack.h"

namespace kq::tools {

// Connects to the broker of a state folder, and starts it where none runs. It must be constructed before a thread is
// started, and it outlives its clients.
class StateBroker {
 public:
  // `programs` is the folder of the programs. `sleep` returns true once a stop signal has arrived. `say` prints a
  // sentence about what was started.
  StateBroker(std::string programs, Sleep sleep, std::function<void(const std::string&)> say)
      : programs_(std::move(programs)), sleep_(std::move(sleep)), say_(std::move(say)) {}
  StateBroker(const StateBroker&) = delete;
  StateBroker& operator=(const StateBroker&) = delete;
  ~StateBroker();  // stops the broker that it started

  // `given` is a state folder, or the folder `store` in it. `key` is the path of a key file or empty; a broker that
  // this class or a sweep started needs none. The Error is not_found where the folder has no store.
  Expected<producer::Client> connect(const std::string& given, const std::string& key);

 private:
  const std::string programs_;
  const Sleep sleep_;
  const std::function<void(const std::string&)> say_;
  std::unique_ptr<Stack> stack_;
};

}  // namespace kq::tools
