// What a build knows of a submission's calls of load_inline and load: which have a library, and which do not compile.
//
// The manifest is a file of the build (kq_extensions.json, which harness/extensions/manifest.py describes). The
// submission child finds libraries in it and raises torch's error for a call that does not compile. A tracing child
// that gets the manifest of an earlier trace raises the same errors, and so reaches the calls of a fallback.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/verdict.h"
#include "gpu_worker/compile/extension.h"

namespace kq::worker {

inline constexpr std::string_view kManifest = "kq_extensions.json";
inline constexpr std::size_t kManifestBytesMax = 1u << 20;

// Where a call fails: its sources do not compile, the library that they compile to does not load, or torch does not
// take its arguments.
enum class CallFailure { build, load, arguments };

// Returns the failure that torch raises in the call, by the status that a compile child left in `dir`, or nothing.
std::optional<CallFailure> failure_in(const std::string& dir);

// A call whose arguments torch does not take, and which therefore raised in the tracing child before it was recorded.
struct RaisedCall {
  std::string key;    // by which the tracing child names the call
  std::string name;   // of the extension
  std::string error;  // one sentence: where, and what torch raises
};
inline constexpr std::size_t kRaisedCallsMax = 16;
inline constexpr std::size_t kRaisedCallsBytesMax = 1u << 18;  // of one trace, as JSON

// Reads the calls that raised in a tracing child. The record is hostile JSON: entries of another form are left out, and
// so are those beyond kRaisedCallsMax.
std::vector<RaisedCall> parse_raised(std::string_view json);

// Returns how a job ends whose submission does not catch the call's error.
Verdict verdict_of(const RaisedCall& call);

class ExtensionManifest {
 public:
  // Returns whether the call was added, or one that differs from it in name only.
  bool knows(const ExtensionCall& call) const;
  bool is_empty() const { return call_count_ == 0 && failed_.empty(); }
  // Returns the number of added calls that were recorded, which does not count those that raised before.
  std::size_t call_count() const { return call_count_; }

  // Adds a call that compiles, and returns the name of its library's file.
  std::string add_module(const ExtensionCall& call);
  // Adds a call that fails. The verdict's message has the first error in its first line, and then what the compilers or
  // the loading printed.
  void add_failed(const ExtensionCall& call, CallFailure failure, Verdict verdict);
  // Adds a call that raised, once for each key and kRaisedCallsMax of them at most.
  void add_raised(const RaisedCall& call);
  // Returns the verdict with which a call was added as failed, or null.
  const Verdict* failure_of(const std::string& key) const;

  // Returns what a result says of the calls.
  Extensions summary(bool fell_back) const;
  // Returns the content of the file.
  std::string text() const;

 private:
  struct Failed {
    std::size_t number = 0;  // in the order of the calls
    std::string name;
    CallFailure failure = CallFailure::build;
    Verdict verdict;
  };
  void add(const ExtensionCall& call);

  std::size_t call_count_ = 0;
  std::size_t raised_count_ = 0;
  std::map<std::string, std::string> modules_;  // files by key
  std::map<std::string, std::string> names_;    // names by key
  std::map<std::string, std::string> similar_;  // keys by similar key
  std::map<std::string, Failed> failed_;        // by key
};

// Reads the manifest in the directory of a build and returns what a result says of the calls. The submission went on
// without the calls that failed. Returns nothing if the build has no manifest or an invalid one, which another worker
// may have made.
std::optional<Extensions> extensions_in(const std::string& dir);

}  // namespace kq::worker
