#include "tests/sim/model_client.h"

#include <utility>

#include "core/codec.h"

namespace kq::sim {
namespace {

constexpr std::int64_t kResendMs = 500;
constexpr std::int64_t kTickMs = 250;
constexpr double kAskChance = 0.1;

}  // namespace

ModelClient::ModelClient(Timeline& timeline, Random& random, Network& network, Oracle& oracle, std::string name)
    : timeline_(timeline), random_(random), network_(network), oracle_(oracle), peer_{Side::client, std::move(name)} {
  network_.attach(peer_, [this](const std::string& bytes) { receive(bytes); });
  tick();
}

void ModelClient::submit(SubmitBatch batch) {
  waiting_.push_back(std::move(batch));
  if (waiting_.size() == 1) send_first();
}

void ModelClient::submit_again() {
  if (!acknowledged_.empty()) submit(acknowledged_[random_.below(acknowledged_.size())]);
}

void ModelClient::send_first() {
  if (request_id_ == 0) request_id_ = ++requests_n_;
  sent_at_ms_ = timeline_.now_ms();
  network_.to_broker(peer_, encode_message(Message<ClientRequest>{request_id_, waiting_.front()}));
}

void ModelClient::receive(const std::string& bytes) {
  const auto message = decode_message<ClientReply>(bytes);
  if (!message) return oracle_.violated("a client cannot read its reply: " + message.error().message);
  if (const auto* refused = std::get_if<Refused>(&message->body))
    oracle_.violated("a client was refused: " + refused->reason);
  if (const auto* ack = std::get_if<SubmitAck>(&message->body)) {
    if (message->request_id == request_id_) take(*ack);
  }
  if (const auto* reply = std::get_if<StatusReply>(&message->body)) {
    if (const auto asked = asked_.extract(message->request_id)) take(*reply, asked.mapped());
  }
}

void ModelClient::take(const SubmitAck& ack) {
  SubmitBatch batch = std::move(waiting_.front());
  waiting_.pop_front();
  request_id_ = 0;
  if (ack.jobs.size() != batch.jobs.size()) return oracle_.violated("an acknowledgement of another batch");
  SubmitBatch refused{.run = batch.run, .jobs = {}, .blobs = batch.blobs};
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
    if (ack.jobs[i].acceptance == Acceptance::refused) {
      if (ack.jobs[i].reason.find("retry later") == std::string::npos)
        oracle_.violated("a job was refused: " + ack.jobs[i].reason);
      refused.jobs.push_back(batch.jobs[i]);
    } else {
      oracle_.promised(batch.run, batch.jobs[i], ack.jobs[i].seq);
      jobs_.insert(ack.jobs[i].seq);
    }
  }
  if (refused.jobs.empty()) {
    acknowledged_.push_back(std::move(batch));
  } else {
    waiting_.push_back(std::move(refused));
    sent_at_ms_ = timeline_.now_ms();  // later
    return;
  }
  if (!waiting_.empty()) send_first();
}

void ModelClient::take(const StatusReply& reply, const std::set<Sequence>& asked) {
  std::set<Sequence> answered;
  for (const JobStatus& job : reply.jobs) answered.insert(job.seq);
  if (answered != asked) oracle_.violated("a status reply has not the jobs that were asked for and acknowledged");
}

void ModelClient::ask() {
  if (jobs_.empty()) return;
  const std::uint64_t id = ++requests_n_;
  asked_[id] = jobs_;
  network_.to_broker(peer_, encode_message(Message<ClientRequest>{id, StatusQuery{{jobs_.begin(), jobs_.end()}}}));
}

void ModelClient::tick() {
  if (!waiting_.empty() && timeline_.now_ms() >= sent_at_ms_ + kResendMs) send_first();
  if (random_.chance(kAskChance)) ask();
  timeline_.after(kTickMs, [this] { tick(); });
}

}  // namespace kq::sim
