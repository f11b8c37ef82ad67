// What a step wants done: writes to commit, messages to send once they are committed, notes for the log, when to wake.
//
// "Save before send" is in the type: the messages cannot be read, commit() alone hands them out.
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
  // A warning of a kind that comes by the hundred, as where a worker with many leases falls silent: one line in a turn
  // for each kind, "failures of w", with the first text and how many more there were. Those are told at level debug.
  void warn(const std::string& kind, std::string text);
  void wake_at(std::int64_t ms);  // the earliest wins
  // A copy of the store as of this turn's commit; the shell answers Done, or Refused in words.
  void backup(const std::string& peer, std::uint64_t request_id, std::string dir);

  // Appends what a later step of the same turn wants, to be committed together.
  void merge(Ready later);

  const std::vector<store::Write>& writes() const { return writes_; }
  const std::vector<Note>& notes() const { return notes_; }
  const std::vector<BackupOrder>& backups() const { return backups_; }
  std::optional<std::int64_t> wake_at_ms() const { return wake_at_ms_; }

 private:
  friend Expected<std::vector<Send>> commit(Ready ready, store::Store& store);

  struct Warned {
    std::size_t note = 0;  // among notes_
    std::string first;
    std::uint64_t more_n = 0;
  };
  void retell(const std::string& kind, const Warned& warned);

  std::vector<store::Write> writes_;
  std::vector<Send> sends_;
  std::vector<Note> notes_;
  std::map<std::string, Warned> warned_;  // by kind
  std::vector<BackupOrder> backups_;
  std::optional<std::int64_t> wake_at_ms_;
};

// Makes the writes durable, then gives the messages free. After an error nothing may be sent and the process ends.
Expected<std::vector<Send>> commit(Ready ready, store::Store& store);

}  // namespace kq::broker
