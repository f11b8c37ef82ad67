#include "broker/core/ready.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kq::broker {
namespace {

template <class T>
void append(std::vector<T>& to, std::vector<T> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

void Ready::write(store::Family family, std::string key, std::string value) {
  writes_.push_back({family, std::move(key), std::move(value)});
}

void Ready::erase(store::Family family, std::string key) {
  writes_.push_back({family, std::move(key), std::nullopt});
}

void Ready::send_to_client(const std::string& peer, std::uint64_t request_id, ClientReply reply) {
  sends_.push_back(ToClient{peer, {request_id, std::move(reply)}});
}

void Ready::send_to_worker(const std::string& peer, std::uint64_t request_id, WorkerReply reply) {
  sends_.push_back(ToWorker{peer, {request_id, std::move(reply)}});
}

void Ready::note(NoteLevel level, std::string text) {
  notes_.push_back({level, std::move(text)});
}

void Ready::warn(const std::string& kind, std::string text) {
  const auto [place, is_first] = warned_.try_emplace(kind, Warned{.note = notes_.size(), .first = text});
  note(is_first ? NoteLevel::warning : NoteLevel::debug, std::move(text));
  if (is_first) return;
  place->second.more_n += 1;
  retell(kind, place->second);
}

void Ready::retell(const std::string& kind, const Warned& warned) {
  notes_[warned.note].text = warned.first + " (and " + std::to_string(warned.more_n) + " more " + kind + ")";
}

void Ready::wake_at(std::int64_t ms) {
  wake_at_ms_ = std::min(ms, wake_at_ms_.value_or(ms));
}

void Ready::backup(const std::string& peer, std::uint64_t request_id, std::string dir) {
  backups_.push_back({peer, request_id, std::move(dir)});
}

void Ready::merge(Ready later) {
  append(writes_, std::move(later.writes_));
  append(sends_, std::move(later.sends_));
  for (auto& [kind, warned] : later.warned_) {
    const auto [place, is_first] =
        warned_.try_emplace(kind, Warned{notes_.size() + warned.note, warned.first, warned.more_n});
    if (is_first) continue;
    later.notes_[warned.note] = {NoteLevel::debug, warned.first};
    place->second.more_n += 1 + warned.more_n;
    retell(kind, place->second);
  }
  append(notes_, std::move(later.notes_));
  append(backups_, std::move(later.backups_));
  if (later.wake_at_ms_) wake_at(*later.wake_at_ms_);
}

Expected<std::vector<Send>> commit(Ready ready, store::Store& store) {
  if (!ready.writes_.empty()) {
    KQ_TRY(store.commit(ready.writes_));
  }
  return std::move(ready.sends_);
}

}  // namespace kq::broker
