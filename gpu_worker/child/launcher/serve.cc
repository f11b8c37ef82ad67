#include "gpu_worker/child/launcher/serve.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "gpu_worker/child/runtime/runtime.h"
#include "sys/fd.h"

namespace kq::launcher {
namespace {

using channel::Command;
using channel::Failure;
using channel::Page;
using channel::Status;

constexpr std::int64_t kReceiveLimitMs = 60'000, kNoLimit = -1;
constexpr std::size_t kCubinBytesMax = 256u << 20;

// Returns the descriptor that arrives with this one-byte tag, or none if none arrives in time. Descriptors with other
// tags are closed: the judge also sends those that a launcher does not use.
sys::Fd receive(int channel, char tag, std::int64_t limit_ms) {
  for (;;) {
    auto packet = sys::receive_packet(channel, limit_ms);
    if (!packet || !*packet) return sys::Fd();
    if ((*packet)->bytes == std::string_view(&tag, 1) && (*packet)->fds.size() == 1)
      return std::move((*packet)->fds.front());
  }
}

Outcome<std::string> content_of(const std::string& path, std::size_t bytes_max) {
  const sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  std::string bytes;
  std::string piece(64u << 10, '\0');
  for (;;) {
    const ssize_t n = file ? ::read(file.get(), piece.data(), piece.size()) : -1;
    if (n < 0 || bytes.size() > bytes_max)
      return tl::unexpected(
          Fault{Failure::load_failed, "the build left no usable " + path.substr(path.rfind('/') + 1)});
    if (n == 0) return bytes;
    bytes.append(piece.data(), static_cast<std::size_t>(n));
  }
}

bool is_judge_gone(int channel) {
  pollfd watched{channel, 0, 0};
  return ::poll(&watched, 1, 0) > 0 && (watched.revents & POLLHUP) != 0;
}

}  // namespace

Page* receive_page(int channel) {
  const sys::Fd file = receive(channel, 'P', kNoLimit);  // a pre-forked launcher waits here for its job
  void* const at = file ? ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0) : MAP_FAILED;
  if (at == MAP_FAILED) return nullptr;
  auto* const page = static_cast<Page*>(at);
  return page->magic == channel::kMagic && page->page_bytes == sizeof(Page) ? page : nullptr;
}

Server::Server(Outcome<std::unique_ptr<Gpu>> gpu, Page& page, int channel, std::string source)
    : gpu_(std::move(gpu)), page_(page), channel_(channel), source_(std::move(source)) {}

void Server::run(std::int64_t check_ns) {
  std::uint32_t seen = page_.done;
  for (;;) {
    if (kq_wait_go(&page_, seen, check_ns) != 0) {
      seen = page_.go;
      kq_begin(&page_);  // the clock starts at once, because a launcher has nothing to prepare
      answer(page_.command, seen);
      kq_post_done(&page_, seen);
    } else if (is_judge_gone(channel_)) {
      return;
    }
  }
}

void Server::answer(Command command, std::uint32_t number) {
  auto done = handle(command);
  if (done) {
    (void)kq_finish(&page_, number);  // a failure is reported by synchronize(), with the driver's error text
    if (!channel::is_staging(command)) done = (*gpu_)->synchronize();
  }
  page_.status = done ? Status::ok : Status::failed;
  page_.failure = done ? Failure::none : done.error().failure;
  const std::string text = done ? std::string() : done.error().text.substr(0, channel::kTextMax - 1);
  std::memcpy(page_.text, text.data(), text.size());
  page_.text_bytes = static_cast<std::uint32_t>(text.size());
}

Outcome<void> Server::handle(Command command) {
  if (!gpu_) return tl::unexpected(gpu_.error());
  switch (command) {
    case Command::attach:
      return attach();
    case Command::load:
      return load();
    case Command::call:
      return call(0);
    case Command::burst:
      return burst();
    case Command::null_call:
      return null_call();
    case Command::stage:
    case Command::stage_burst:
      return {};
    case Command::none:
    case Command::put_state:
    case Command::make_inputs:
    case Command::compile:
    case Command::call_compiled:
    case Command::answer:
    case Command::truth:
    case Command::check:
    case Command::inspect:
      break;
  }
  return tl::unexpected(Fault{Failure::runtime_error,
                              "a launcher knows no command " + std::to_string(static_cast<std::uint32_t>(command))});
}

Outcome<void> Server::attach() {
  const sys::Fd file = receive(channel_, 'W', kReceiveLimitMs);
  if (!file) return tl::unexpected(Fault{Failure::runtime_error, "the judge sent no window"});
  if (window_ != 0) {
    if (auto unmapped = (*gpu_)->unmap(window_, window_bytes_); !unmapped) return unmapped;
  }
  const std::uint64_t bytes = page_.window_bytes;
  KQ_TRY_VALUE(const auto mapped, (*gpu_)->map(file.get(), bytes));
  window_ = mapped;
  window_bytes_ = bytes;
  return {};
}

Outcome<void> Server::load() {
  KQ_TRY_VALUE(const auto text, content_of(source_ + "/launch", kLaunchBytesMax));
  auto plan = parse_launch(text);
  if (!plan) return tl::unexpected(Fault{Failure::load_failed, plan.error().message});
  auto binding = Binding::bind(*plan, tables_of(page_));
  if (!binding) return tl::unexpected(Fault{Failure::load_failed, binding.error()});
  KQ_TRY_VALUE(const auto cubin, content_of(source_ + "/module.cubin", kCubinBytesMax));
  if (const auto loaded = (*gpu_)->load(cubin, *plan); !loaded) {
    const bool is_load_failure = loaded.error().failure == Failure::runtime_error;
    return tl::unexpected(Fault{is_load_failure ? Failure::load_failed : loaded.error().failure, loaded.error().text});
  }
  plan_ = std::move(*plan);
  binding_ = std::move(*binding);
  return {};
}

// The window is preferred to new memory: an allocation may wait while the driver frees the memory of the previous
// child.
Outcome<void> Server::null_call() {
  const std::uint64_t bytes = page_.touch_bytes;
  return window_ != 0 && bytes <= window_bytes_ ? (*gpu_)->write(window_, bytes) : (*gpu_)->write_own(bytes);
}

// Calls the kernel on the slot of the window that begins at `shift`. A slot holds inputs, states and outputs.
Outcome<void> Server::call(std::uint64_t shift) {
  if (!binding_ || window_ == 0) return tl::unexpected(Fault{Failure::runtime_error, "nothing is loaded yet"});
  for (const Binding::Copy& copy : binding_->fill(window_ + shift, page_)) {
    if (auto copied = (*gpu_)->copy(copy.to, copy.from, copy.bytes); !copied) return copied;
  }
  return (*gpu_)->launch(*plan_, binding_->parameters());
}

// The tables of outputs stay as the judge wrote them, because the kernel writes its outputs directly into the window.
Outcome<void> Server::burst() {
  std::uint32_t returned = 0;
  for (int slot = kq_next_slot(&page_, returned); slot >= 0; slot = kq_next_slot(&page_, ++returned)) {
    if (auto called = call(static_cast<std::uint64_t>(slot) * page_.slot_bytes); !called) return called;
  }
  return {};
}

}  // namespace kq::launcher
