#include "broker/standby/history.h"

#include <algorithm>
#include <sstream>

#include "store/commit_log.h"

namespace kq::broker {

Expected<History> History::read(const store::Store& store) {
  KQ_TRY_VALUE(const auto text, store.get(store::Family::meta, kHistoryKey));
  return text ? parse(*text) : History();
}

const Epoch& History::last() const {
  static const Epoch none;
  return epochs_.empty() ? none : epochs_.back();
}

bool History::is_ancestor(std::uint64_t number, std::uint64_t tag, std::uint64_t position, std::uint64_t end) const {
  const auto place =
      std::ranges::find_if(epochs_, [&](const Epoch& epoch) { return epoch.number == number && epoch.tag == tag; });
  if (place == epochs_.end()) return false;
  const auto next = std::next(place);
  return position <= (next == epochs_.end() ? end : next->position);
}

Expected<void> History::begin(store::Store& store, std::uint64_t number, std::uint64_t tag, const std::string& holder) {
  store::CommitLog* log = store.commit_log();
  epochs_.push_back({.number = number, .position = log == nullptr ? 0 : log->position(), .tag = tag, .holder = holder});
  if (epochs_.size() > kEpochsMax) epochs_.erase(epochs_.begin());
  const store::Write write{store::Family::meta, std::string(kHistoryKey), text()};
  return store.commit({&write, 1});
}

std::string History::text() const {
  std::string text;
  for (const Epoch& epoch : epochs_) {
    text += std::to_string(epoch.number) + " " + std::to_string(epoch.position) + " " + std::to_string(epoch.tag) +
            " " + epoch.holder + "\n";
  }
  return text;
}

Expected<History> History::parse(std::string_view text) {
  History history;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    Epoch epoch;
    words >> epoch.number >> epoch.position >> epoch.tag >> std::ws;
    std::getline(words, epoch.holder);
    if (words.bad() || epoch.number == 0 || epoch.holder.empty() || epoch.number <= history.last().number)
      return our_fault("the store's record of its epochs is damaged: '" + line + "'");
    history.epochs_.push_back(std::move(epoch));
  }
  return history;
}

}  // namespace kq::broker
