// The launcher's end of a channel (gpu_worker/channel/channel.h): the commands of a submission, answered without
// Python.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gpu_worker/channel/channel.h"
#include "gpu_worker/child/launcher/binding.h"
#include "gpu_worker/child/launcher/gpu.h"

namespace kq::launcher {

// The page that the judge sends first; null when it does not, or sends another layout.
channel::Page* receive_page(int channel);

class Server {
 public:
  // `gpu` is the child's, or why it has none: then that is the answer to every command. `source` is where the build's
  // files are.
  Server(Outcome<std::unique_ptr<Gpu>> gpu, channel::Page& page, int channel, std::string source);

  // Until the judge is gone; looks this often whether it is, when there is nothing to do.
  void run(std::int64_t look_ns = 1'000'000'000);
  // One command, into the page.
  void answer(channel::Command command, std::uint32_t number);

 private:
  Outcome<void> handle(channel::Command command);
  Outcome<void> attach();
  Outcome<void> load();
  Outcome<void> null_call();
  Outcome<void> call(std::uint64_t shift);
  Outcome<void> burst();

  Outcome<std::unique_ptr<Gpu>> gpu_;
  channel::Page& page_;
  int channel_;
  std::string source_;
  std::uint64_t window_ = 0;
  std::uint64_t window_bytes_ = 0;
  std::optional<LaunchPlan> plan_;
  std::optional<Binding> binding_;
};

}  // namespace kq::launcher
