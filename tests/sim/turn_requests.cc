#include "tests/sim/turn_requests.h"

#include <algorithm>

#include "core/codec/codec.h"
#include "store/keys.h"

namespace kq::sim {

void TurnRequests::record(const net::Packet& packet) {
  if (packet.peer.side == net::Side::client) return record_client_request(packet);
  const auto message = decode_message<WorkerRequest>(packet.bytes);
  const auto* batch = message ? std::get_if<ResultBatch>(&message->body) : nullptr;
  if (batch == nullptr) return;
  for (const AttemptResult& result : batch->results) reported_.insert(result.lease);
}

void TurnRequests::record_client_request(const net::Packet& packet) {
  const auto message = decode_message<ClientRequest>(packet.bytes);
  if (!message) return;
  const bool is_admin = packet.who.role == Role::admin;
  if (const auto* batch = std::get_if<SubmitBatch>(&message->body)) {
    const std::string& submitter = packet.who.name.empty() ? batch->submitter : packet.who.name;
    for (const Submission& job : batch->jobs) submitted_[submission_key(job)].push_back({job, submitter, batch->run});
  } else if (const auto* cancel = std::get_if<CancelJobs>(&message->body)) {
    for (const Sequence seq : cancel->seqs) cancelled_[seq].push_back(packet.who);
  } else if (const auto* retry = std::get_if<RetryJobs>(&message->body); retry != nullptr && is_admin) {
    retried_.insert(retry->seqs.begin(), retry->seqs.end());
  } else if (const auto* purge = std::get_if<PurgeDead>(&message->body); purge != nullptr && is_admin) {
    purged_.insert(purge->seqs.begin(), purge->seqs.end());
  }
}

void TurnRequests::clear() {
  *this = {};
}

const std::vector<RequestedJob>& TurnRequests::submissions(const Hash& key) const {
  static const std::vector<RequestedJob> none;
  const auto place = submitted_.find(key);
  return place == submitted_.end() ? none : place->second;
}

bool TurnRequests::cancels(const JobRecord& job) const {
  const auto place = cancelled_.find(job.seq);
  if (place == cancelled_.end()) return false;
  if (std::ranges::any_of(place->second, [](const Identity& who) { return who.role == Role::admin; })) return true;
  return cancels_for(job.seq, job.submitter) &&
         std::ranges::all_of(job.also_for, [&](const std::string& name) { return cancels_for(job.seq, name); });
}

bool TurnRequests::cancels_for(Sequence seq, const std::string& submitter) const {
  const auto place = cancelled_.find(seq);
  return place != cancelled_.end() &&
         std::ranges::any_of(place->second, [&](const Identity& who) { return who.name == submitter; });
}

void Switches::record(const net::Packet& packet) {
  if (packet.peer.side != net::Side::client || packet.who.role != Role::admin) return;
  const auto message = decode_message<ClientRequest>(packet.bytes);
  if (!message) return;
  const auto open = [&](std::string_view prefix, const std::string& name, bool on) {
    const std::string key = std::string(prefix) + name;
    certain_.erase(key);
    open_[key] = {packet.peer, message->request_id, on};
  };
  if (const auto* pause = std::get_if<Pause>(&message->body))
    open(store::kPausedPrefix, pause->submitter, pause->paused);
  if (const auto* drain = std::get_if<Drain>(&message->body))
    open(store::kDrainingPrefix, drain->worker, drain->draining);
}

void Switches::acknowledge(const net::Peer& peer, std::uint64_t request_id) {
  const auto place = std::find_if(open_.begin(), open_.end(), [&](const auto& entry) {
    return entry.second.peer == peer && entry.second.id == request_id;
  });
  if (place == open_.end()) return;
  certain_[place->first] = place->second.on;
  open_.erase(place);
}

bool Switches::is_on(const std::string& key) const {
  const auto place = certain_.find(key);
  return place != certain_.end() && place->second;
}

}  // namespace kq::sim
