#include "gpu_worker/judge/control.h"

#include "core/codec.h"

namespace kq::judge {

Expected<void> Control::say(const JudgeReply& reply) { return send_packet(socket_, encode_message(Message<JudgeReply>{0, reply})); }

Expected<PlanPacket> Control::next_plan() {
  for (;;) {
    auto packet = receive(-1);
    if (!packet) return failure(packet.error());
    if (!*packet) continue;
    submission_exit_.reset();
    if ((*packet)->plan.fresh_reference) reference_exit_.reset();
    return std::move(**packet);
  }
}

Expected<std::optional<int>> Control::exit_of(ChildRole role, std::int64_t timeout_ms) {
  const std::optional<int>& exit = role == ChildRole::reference ? reference_exit_ : submission_exit_;
  if (exit) return exit;
  const auto packet = receive(timeout_ms);
  if (!packet) return failure(packet.error());
  if (*packet) return our_fault("control sent a plan while another one runs");
  return exit;
}

// Takes note of an exit; hands a plan on.
Expected<std::optional<PlanPacket>> Control::receive(std::int64_t timeout_ms) {
  auto packet = receive_packet(socket_, timeout_ms);
  if (!packet) return failure({ExitCode::nothing, "control is gone: " + packet.error().message});
  if (!*packet) return std::optional<PlanPacket>();
  auto message = decode_message<JudgeRequest>((*packet)->bytes);
  if (!message) return our_fault("control sent nonsense: " + message.error().message);
  if (const auto* exited = std::get_if<ChildExited>(&message->body)) {
    (exited->role == ChildRole::reference ? reference_exit_ : submission_exit_) = exited->wait_status;
    return std::optional<PlanPacket>();
  }
  Plan& plan = std::get<Plan>(message->body);
  const std::size_t channels_n = plan.fresh_reference ? 2 : 1;
  if ((*packet)->fds.size() != channels_n) {
    return our_fault("control sent a plan with " + std::to_string((*packet)->fds.size()) + " channels, must be " +
                     std::to_string(channels_n));
  }
  return std::optional<PlanPacket>(PlanPacket{std::move(plan), std::move((*packet)->fds)});
}

}  // namespace kq::judge
