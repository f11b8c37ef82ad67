// The Python child of kq-check, which parses Python sources and returns facts about them (harness/facts/server.py).
//
// Protocol: the parent writes "NAME_BYTES SOURCE_BYTES\n", the name and the source to the child's standard input. The
// child answers "facts LINE BYTES\n" and the facts, or "refused LINE BYTES\n" and a message about the mistake in that
// line.
//
// A source is untrusted text, and parsing it may take too long or too much memory. The child therefore runs with a
// limit of memory, each source has a limit of time, and the child is killed and started again when a source exceeds a
// limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/error.h"
#include "sys/fd.h"

namespace kq::tools {

struct FactsChildOptions {
  std::string python;              // an interpreter of 3.10 or newer, by path or by name in PATH
  std::string harness;             // folder of facts/server.py
  std::int64_t limit_ms = 20'000;  // limit of time for one source
};

// Why a source has no facts: it has a mistake, or parsing it exceeds a limit.
struct UnreadableSource {
  std::uint32_t line = 1;
  std::string message;
};

// The child process. It is started by the first call of facts().
class FactsChild {
 public:
  explicit FactsChild(FactsChildOptions options) : options_(std::move(options)) {}
  FactsChild(const FactsChild&) = delete;
  ~FactsChild();

  // Returns the facts of a source in the format of guard/facts.h, or why there are none; an Error when the child cannot
  // be run.
  Expected<std::variant<std::string, UnreadableSource>> facts(std::string_view name, std::string_view source);

 private:
  Expected<void> start();
  void stop();
  bool send_all(std::string_view bytes, std::int64_t deadline_ms);
  // Appends `bytes` bytes of the answer to `into`.
  bool receive(std::string& into, std::size_t bytes, std::int64_t deadline_ms);
  bool receive_line(std::string& into, std::int64_t deadline_ms);
  std::optional<std::variant<std::string, UnreadableSource>> ask(std::string_view name, std::string_view source);

  FactsChildOptions options_;
  int pid_ = 0;                // process id of the child, or 0 when none runs
  sys::Fd socket_;             // the other end is the child's standard input and output
  std::string read_ahead_;     // bytes of the answer that receive() has not returned yet
  bool has_answered_ = false;  // whether the child has ever answered
};

}  // namespace kq::tools
