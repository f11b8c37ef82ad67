#include "tests/bench/first_lease.h"

#include "core/codec/codec.h"
#include "tests/bench/kq_jobs.h"
#include "tests/bench/measure.h"

namespace kq::bench {
namespace {

constexpr int kAskAgainMs = 100;
constexpr std::int64_t kWaitNsMax = 300'000'000'000;

}  // namespace

std::int64_t await_first_lease(int port) {
  zmq::context_t context;
  // Every hello uses the same connection, because leases for an earlier connection would be lost.
  KqSocket socket(context, port + 1);
  const std::int64_t start_ns = now_ns();
  const auto epoch = static_cast<std::uint64_t>(start_ns);
  const std::string hello = encode_message(Message<WorkerRequest>{0, hello_of("first", epoch, 1)});
  socket.send(hello);
  for (bool welcome = false; now_ns() < start_ns + kWaitNsMax;) {
    const auto bytes = socket.receive(kAskAgainMs);
    if (!bytes && !welcome) socket.send(hello);
    if (!bytes) continue;
    const auto message = decode_message<WorkerReply>(view(*bytes));
    if (!message) give_up(message.error().message);
    if (std::holds_alternative<LeaseBatch>(message->body)) return now_ns();
    welcome = welcome || std::holds_alternative<Welcome>(message->body);
  }
  give_up("no lease came within five minutes");
}

}  // namespace kq::bench
