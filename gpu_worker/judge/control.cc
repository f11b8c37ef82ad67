#include "gpu_worker/judge/control.h"

#include "core/codec/codec.h"

namespace kq::judge {

Expected<void> Control::send_reply(const JudgeReply& reply) {
  return sys::send_packet(socket_, encode_message(Message<JudgeReply>{0, reply}));
}

Expected<PlanPacket> Control::next_plan() {
  for (;;) {
    KQ_TRY_VALUE(auto packet, receive(-1));
    if (!packet) continue;
    exits_.erase(ChildRole::submission);
    if (packet->plan.fresh_calibrator) exits_.erase(ChildRole::calibrator);
    if (packet->plan.fresh_reference) exits_.erase(ChildRole::reference);
    return std::move(*packet);
  }
}

Expected<std::optional<int>> Control::exit_of(ChildRole role, std::int64_t timeout_ms) {
  auto known = [&] {
    const auto exit = exits_.find(role);
    return exit == exits_.end() ? std::nullopt : std::optional(exit->second);
  };
  if (known()) return known();
  KQ_TRY_VALUE(const auto packet, receive(timeout_ms));
  if (packet) return our_fault("the control process sent a plan while another one runs");
  return known();
}

Expected<std::optional<PlanPacket>> Control::receive(std::int64_t timeout_ms) {
  auto packet = sys::receive_packet(socket_, timeout_ms);
  if (!packet) return failure({ErrorKind::not_found, "the control process is gone: " + packet.error().message});
  if (!*packet) return std::optional<PlanPacket>();
  auto message = decode_message<JudgeRequest>((*packet)->bytes);
  if (!message) return our_fault("the control process sent a malformed message: " + message.error().message);
  if (const auto* exited = std::get_if<ChildExited>(&message->body)) {
    exits_[exited->role] = exited->wait_status;
    return std::optional<PlanPacket>();
  }
  std::vector<sys::Fd>& fds = (*packet)->fds;
  if (std::holds_alternative<WarmUpPageShared>(message->body)) {
    KQ_TRY_VALUE(auto page, fds.size() == 1 ? channel::WarmUpPage::map(std::move(fds.front()))
                                            : our_fault("the control process sent no page of concurrent warm-ups"));
    concurrent_warm_ups_.emplace(std::move(page));
    device_.set_concurrent_warm_ups(&*concurrent_warm_ups_);
    return std::optional<PlanPacket>();
  }
  Plan& plan = std::get<Plan>(message->body);
  const std::size_t channel_count = 1 + (plan.fresh_calibrator ? 1 : 0) + (plan.fresh_reference ? 1 : 0);
  if (fds.size() != channel_count) {
    return our_fault("the control process sent a plan with " + std::to_string(fds.size()) + " channels, must be " +
                     std::to_string(channel_count));
  }
  Channels channels;
  auto next = fds.begin();
  if (plan.fresh_calibrator) channels.calibrator = std::move(*next++);
  if (plan.fresh_reference) channels.reference = std::move(*next++);
  channels.submission = std::move(*next);
  return std::optional<PlanPacket>(PlanPacket{plan, std::move(channels)});
}

}  // namespace kq::judge
