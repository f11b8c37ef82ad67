// The calls of load_inline and load that a tracing child recorded: reads them, judges them and computes their keys.
//
// The record is hostile JSON. The guard judges exactly the sources that are compiled, as they came out of the run,
// however the submission's text made them. A tracing child that lies changes only what is built for its own submission,
// because the key of a module is the hash of what it is built of.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/bytes/hash.h"
#include "core/verdict.h"
#include "guard/guard.h"

namespace kq::worker {

inline constexpr std::size_t kExtensionCallsMax = 16;
inline constexpr std::size_t kExtensionCallBytesMax = 8u << 20;  // all calls of a submission, as JSON
// Limits of one call; harness/extensions/loader_call.py has the same.
inline constexpr std::size_t kExtensionSourcesMax = 64;  // of each kind
inline constexpr std::size_t kExtensionFunctionsMax = 256;
inline constexpr std::size_t kExtensionFlagsMax = 256;  // words, of each kind
inline constexpr std::size_t kExtensionFlagBytesMax = 1024;

struct ExtensionCall {
  std::string key;          // by which the submission's process asks for the module
  std::string similar_key;  // the hash of the call without the extension's name, which may differ in every process
  std::string text;         // the call as canonical JSON with the known fields only, for the compile child
  std::string name;
  std::string place;  // of the call: "add.py:17"
  bool with_cuda = false;
  bool is_inline = false;  // load_inline: sources are texts, and those of one language are compiled as one
  bool has_cuda_sources = false;
  bool has_implicit_headers = true;                            // of load_inline
  bool has_loops = false;                                      // in C++ sources, which may then do work on the CPU
  std::vector<std::pair<std::string, std::string>> sources{};  // label or file name, and text; files come last
  std::size_t files_at = 0;                                    // the index of the first file in `sources`
  std::vector<std::string> functions{};                        // names that the module exports
  std::vector<std::pair<std::string, std::string>> flags{};    // "extra_cflags" and "-O3"; one word each
  std::map<std::string, std::uint32_t> lines{};  // by label: the line of the submission's file where a source begins
};

// Reads a record. Fails with ErrorKind::bad_input if it is invalid or breaks a limit.
Expected<std::vector<ExtensionCall>> parse_calls(std::string_view json);

// Returns the verdict on a call whose sources or flags break a rule, or nothing. Calls `may_go_on` before each text and
// returns nothing if that is false. `policy` says which rules the job lifts.
std::optional<Verdict> judge_call(
    const ExtensionCall& call, const std::function<bool()>& may_go_on = [] { return true; },
    const guard::Policy& policy = {});

// Returns the hash of what shapes the module: the call without its place, the architecture, and `toolchain`, which
// names compilers, torch and headers.
Hash extension_key(const ExtensionCall& call, const std::string& arch, const std::string& toolchain);

// Returns the hash under which the end of a call that does not compile is kept. The message of such an end has lines of
// the submission's file, so that the place of the call counts too.
Hash failure_key(const ExtensionCall& call, const Hash& key);

// Returns the names of the prefixes of torch's headers that the call is compiled with, such as "extension-O1"
// (harness/extensions/torch_prefix.py), and of the notes about these headers, "nvcc-O1".
std::vector<std::string> header_variants(const ExtensionCall& call);

// Returns the optimisation level of the prefixes for the call: "O1" or "O2".
std::string header_level(const ExtensionCall& call);

}  // namespace kq::worker
