// The calls of load_inline and load that a record child saw: hostile JSON, read into what may be compiled.
//
// What is judged here is what is compiled: the sources as they came out of the submission's run, whichever way its text
// makes them. A record child that lies about them changes what is built for itself, and nothing else: the key of what
// is built is the hash of what it is built of.
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

namespace kq::worker {

inline constexpr std::size_t kExtensionCallsMax = 16;
inline constexpr std::size_t kExtensionCallBytesMax = 8u << 20;  // of all calls of a submission, as JSON
// Of one call, as harness/extension_call.py has them.
inline constexpr std::size_t kExtensionSourcesMax = 64;  // of each kind
inline constexpr std::size_t kExtensionFunctionsMax = 256;
inline constexpr std::size_t kExtensionFlagsMax = 256;  // words, of each kind
inline constexpr std::size_t kExtensionFlagBytesMax = 1024;

struct ExtensionCall {
  std::string key;   // by which the submission's own process asks for it
  std::string text;  // the call as JSON, in one spelling, of nothing but what was read here; for the compile child
  std::string name;
  std::string place;  // "add.py:17"
  bool with_cuda = false;
  bool is_inline = false;  // its sources are texts, and those of a kind are compiled as one
  bool has_cuda_sources = false;
  bool uses_torch = true;                                      // its headers
  bool has_loops = false;                                      // in its C++ sources: they may be the work itself
  std::vector<std::pair<std::string, std::string>> sources{};  // label or file name, text; files last
  std::size_t files_at = 0;                                    // where in `sources` they begin
  std::vector<std::string> functions{};                        // names that a module's source is made of
  std::vector<std::pair<std::string, std::string>> flags{};    // "extra_cflags", "-O3"; each a word
  std::map<std::string, std::uint32_t> lines{};  // where a source begins in the submission's file, by label
};

// Bad input names what is wrong with it.
Expected<std::vector<ExtensionCall>> parse_calls(std::string_view json);

// The rule that its sources or its flags break. `may_go_on` is asked before each text is read: where it says no,
// nothing is told.
std::optional<Verdict> judge_call(
    const ExtensionCall& call, const std::function<bool()>& may_go_on = [] { return true; });

// Everything that shapes the module: the call but for where it stands, the architecture, and `toolchain`, which names
// compilers, torch and headers.
Hash extension_key(const ExtensionCall& call, const std::string& arch, const std::string& toolchain);

// The precompiled header it is built with: "cuda-O1" (harness/extension_compile.py). Empty: it includes nothing of
// torch.
std::string header_variant(const ExtensionCall& call);

}  // namespace kq::worker
