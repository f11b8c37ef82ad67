// The Python child of kq-check: it reads Python sources and says what they do (harness/facts/server.py), one after
// another.
//
// A source is foreign text, and what reads it may take too long or too much memory: the child has limits, and is
// started again when a source ends it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/error.h"

namespace kq::tools {

struct FactsChildOptions {
  std::string python;              // an interpreter, 3.10 or newer, by path or by name in PATH
  std::string harness;             // the folder of facts_server.py
  std::int64_t limit_ms = 20'000;  // for one source
};

// Why a source is none.
struct UnreadableSource {
  std::uint32_t line = 1;
  std::string message;
};

class FactsChild {
 public:
  explicit FactsChild(FactsChildOptions options) : options_(std::move(options)) {}
  FactsChild(const FactsChild&) = delete;
  ~FactsChild();

  // Its facts (guard/facts.h), or why there are none; an Error where the child cannot be run at all.
  Expected<std::variant<std::string, UnreadableSource>> facts(std::string_view name, std::string_view source);

 private:
  Expected<void> start();
  void stop();
  bool send_all(std::string_view bytes, std::int64_t deadline_ms);
  bool receive(std::string& into, std::size_t bytes, std::int64_t deadline_ms);  // appends
  bool receive_line(std::string& into, std::int64_t deadline_ms);
  std::optional<std::variant<std::string, UnreadableSource>> ask(std::string_view name, std::string_view source);

  FactsChildOptions options_;
  pid_t pid_ = -1;
  int in_ = -1;   // its stdin
  int out_ = -1;  // its stdout
  std::string read_ahead_;
  bool has_answered_ = false;
};

}  // namespace kq::tools
