#include "tests/bench/first_lease.h"

#include "core/codec.h"
#include "tests/bench/kq_jobs.h"
#include "tests/bench/measure.h"

namespace kq::bench {
namespace {

constexpr int kAskAgainMs = 20;
constexpr std::int64_t kWaitNsMax = 300'000'000'000;

}  // namespace

std::int64_t await_first_lease(int port) {
  zmq::context_t context;
  const std::int64_t start_ns = now_ns();
  const auto epoch = static_cast<std::uint64_t>(start_ns);
  const std::string hello = encode_message(Message<WorkerRequest>{0, hello_of("first", epoch, 1)});
  while (now_ns() < start_ns + kWaitNsMax) {
    // A fresh socket each time until one is answered: ZeroMQ waits ever longer between its own attempts to connect.
    KqSocket socket(context, port + 1);
    socket.send(hello);
    if (!socket.receive(kAskAgainMs)) continue;
    while (const auto bytes = socket.receive(1'000)) {
      const auto message = decode_message<WorkerReply>(view(*bytes));
      if (message && std::holds_alternative<LeaseBatch>(message->body)) return now_ns();
    }
  }
  give_up("no lease came within five minutes");
}

}  // namespace kq::bench
