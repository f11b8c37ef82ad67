#include "gpu_worker/lane/judge_link.h"

#include <poll.h>
#include <sys/wait.h>

#include <array>

#include "core/codec/codec.h"
#include "sys/cores.h"
#include "sys/process.h"

namespace kq::worker {
namespace {

constexpr std::int64_t kOpenLimitMs = 60'000;  // a first CUDA context initialisation on a loaded machine

template <class T>
Expected<std::optional<T>> next(int socket, std::int64_t timeout_ms) {
  auto packet = sys::receive_packet(socket, timeout_ms);
  if (!packet) return our_fault("the judge has ended");
  if (!*packet) return std::optional<T>();
  auto message = decode_message<JudgeReply>((*packet)->bytes);
  if (!message) return our_fault("the judge sent an invalid message: " + message.error().message);
  if (T* body = std::get_if<T>(&message->body)) return std::optional<T>(std::move(*body));
  return our_fault("the judge sent a message of the wrong kind");
}

}  // namespace

Expected<std::unique_ptr<JudgeLink>> JudgeLink::start(const std::string& program, DeviceKind device, int index,
                                                      const std::vector<int>& cores) {
  KQ_TRY_VALUE(auto pair, sys::packet_pair());
  std::unique_ptr<JudgeLink> judge(new JudgeLink);
  const auto pid = sys::start_process({.argv = {program, "--device", std::string(to_string(device)), "--index",
                                                std::to_string(index), "--cores", sys::core_list(cores)},
                                       .environment = {{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                                                       {"CUDA_DEVICE_MAX_CONNECTIONS", "1"},
                                                       {"CUDA_DEVICE_MAX_COPY_CONNECTIONS", "1"}},
                                       .socket = pair.second.get(),
                                       .ignores_drain_signals = true});
  if (!pid) return failure(pid.error());
  judge->socket_ = std::move(pair.first);
  pair.second = sys::Fd();
  auto ready = next<JudgeReady>(judge->socket_.get(), kOpenLimitMs);
  if (ready && *ready) {
    judge->pid_ = *pid;
    judge->device_ = (*ready)->device;
    return judge;
  }
  int status = 0;
  if (!ready && ::waitpid(*pid, &status, 0) == *pid && WIFEXITED(status) &&
      WEXITSTATUS(status) == static_cast<int>(ExitCode::nothing)) {
    return failure(
        {ErrorKind::not_found, "no " + std::string(to_string(device)) + " device " + std::to_string(index) + " here"});
  }
  if (ready) sys::end_process(*pid);
  return our_fault("the judge did not start: " + program);
}

JudgeLink::~JudgeLink() {
  sys::end_process(pid_);
}

bool JudgeLink::alive() const {
  pollfd state{socket_.get(), 0, 0};
  return ::poll(&state, 1, 0) <= 0 || (state.revents & (POLLHUP | POLLERR)) == 0;
}

Expected<void> JudgeLink::send_warm_up_page(const channel::WarmUpPage& warm_ups) {
  return sys::send_packet(socket_.get(), encode_message(Message<JudgeRequest>{0, WarmUpPageShared{}}),
                          std::array{warm_ups.fd()});
}

Expected<void> JudgeLink::send_plan(const Plan& plan, std::span<const int> channels) {
  return sys::send_packet(socket_.get(), encode_message(Message<JudgeRequest>{0, plan}), channels);
}

Expected<void> JudgeLink::send_child_exit(const ChildExited& exited) {
  return sys::send_packet(socket_.get(), encode_message(Message<JudgeRequest>{0, exited}));
}

Expected<std::optional<Report>> JudgeLink::report(std::int64_t timeout_ms) {
  return next<Report>(socket_.get(), timeout_ms);
}

}  // namespace kq::worker
