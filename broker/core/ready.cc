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
  const auto [place, is_first] = warnings_.try_emplace(kind, Warning{.note = notes_.size(), .first_text = text});
  note(is_first ? NoteLevel::warning : NoteLevel::debug, std::move(text));
  if (is_first) return;
  place->second.more_count += 1;
  update_text(kind, place->second);
}

void Ready::update_text(const std::string& kind, const Warning& warning) {
  notes_[warning.note].text =
      warning.first_text + " (and " + std::to_string(warning.more_count) + " more " + kind + ")";
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
  for (auto& [kind, warning] : later.warnings_) {
    const auto [place, is_first] =
        warnings_.try_emplace(kind, Warning{notes_.size() + warning.note, warning.first_text, warning.more_count});
    if (is_first) continue;
    later.notes_[warning.note] = {NoteLevel::debug, warning.first_text};
    place->second.more_count += 1 + warning.more_count;
    update_text(kind, place->second);
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
