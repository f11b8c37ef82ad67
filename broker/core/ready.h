// Ready is what a step wants done: writes to commit, messages to send, notes to log, and when to wake.
//
// "Save before send" is in the type: the messages cannot be read. commit() alone returns them, after it has made the
// writes durable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "broker/core/event.h"
#include "store/store.h"

namespace kq::broker {

struct BackupOrder {
  std::string peer;
  std::uint64_t request_id = 0;
  std::string dir;
};

class Ready {
 public:
  void write(store::Family family, std::string key, std::string value);
  void erase(store::Family family, std::string key);
  void send_to_client(const std::string& peer, std::uint64_t request_id, ClientReply reply);
  void send_to_worker(const std::string& peer, std::uint64_t request_id, WorkerReply reply);
  void note(NoteLevel level, std::string text);
  // Adds a warning of a kind that may come by the hundred, for example when a worker with many leases falls silent. In
  // each turn a kind, such as "failures of w", has one warning: the first text, and how many more there were. The
  // others become debug notes.
  void warn(const std::string& kind, std::string text);
  void wake_at(std::int64_t ms);  // the earliest call counts
  // Orders a copy of the store as of this turn's commit. The shell makes it and answers Done or Refused.
  void backup(const std::string& peer, std::uint64_t request_id, std::string dir);

  // Appends what a later step of the same turn wants, so that both are committed together.
  void merge(Ready later);

  const std::vector<store::Write>& writes() const { return writes_; }
  const std::vector<Note>& notes() const { return notes_; }
  const std::vector<BackupOrder>& backups() const { return backups_; }
  std::optional<std::int64_t> wake_at_ms() const { return wake_at_ms_; }

 private:
  friend Expected<std::vector<Send>> commit(Ready ready, store::Store& store);

  struct Warning {
    std::size_t note = 0;  // index into notes_
    std::string first_text;
    std::uint64_t more_count = 0;
  };
  void update_text(const std::string& kind, const Warning& warning);

  std::vector<store::Write> writes_;
  std::vector<Send> sends_;
  std::vector<Note> notes_;
  std::map<std::string, Warning> warnings_;  // by kind
  std::vector<BackupOrder> backups_;
  std::optional<std::int64_t> wake_at_ms_;
};

// Makes the writes durable, then returns the messages. After an error nothing may be sent, and the process ends.
Expected<std::vector<Send>> commit(Ready ready, store::Store& store);

}  // namespace kq::broker
