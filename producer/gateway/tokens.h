// The tokens of a gateway: who may submit, under which name.
//
// A file has one line for each token: "HASH NAME QUOTA", where HASH is the SHA-256 of the token in hex, NAME is the
// submitter, and QUOTA is the largest number of queued jobs, 0 for no limit but the broker's. Lines that begin with #
// are comments. A token is 32 random bytes, so its hash needs no salt. The file is read again when it changes; a file
// with a mistake changes nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/bytes/hash.h"
#include "producer/gateway/http.h"

namespace kq::gateway {

inline constexpr std::string_view kTokenPrefix = "kq_";  // lets scanners of leaked secrets recognise a token
inline constexpr std::size_t kTokensMax = 100'000;
inline constexpr std::size_t kSubmitterNameBytesMax = 64;

using TokenTable = std::map<Hash, Submitter>;

// Reads the text of a file. `name` is its name for error texts.
Expected<TokenTable> parse_tokens(const std::string& name, std::string_view text);

// Returns what is wrong with the name of a submitter, or nothing. A name has letters, digits, '.', '_' and '-', so that
// the runs of a submitter can be named "NAME/RUN". The text continues a sentence whose subject is the name.
std::optional<std::string> submitter_name_error(std::string_view name);

struct NewToken {
  std::string token;  // shown once to its owner
  std::string line;   // for the file
};
// `random` has 32 random bytes.
NewToken make_token(const std::string& name, std::uint64_t jobs_max, std::string_view random);

// The tokens of a file that may change while the gateway runs.
class Tokens {
 public:
  // Fails where the file cannot be read or has a mistake, or where others than its owner may write it.
  static Expected<std::unique_ptr<Tokens>> open(const std::string& path);

  // Returns the submitter of a token, or nothing for an unknown one.
  std::optional<Submitter> find(std::string_view token) const;

  // Reads the file again if it has changed. Returns the sentence for the log where it was read or has a mistake.
  std::optional<std::string> refresh();

 private:
  explicit Tokens(std::string path) : path_(std::move(path)) {}

  struct Version {
    std::int64_t modified_ns = 0;
    std::uint64_t bytes = 0;
    std::uint64_t file = 0;
    friend bool operator==(const Version&, const Version&) = default;
  };
  Expected<Version> version() const;
  Expected<void> read();

  const std::string path_;
  Version read_version_;
  mutable std::mutex mutex_;
  TokenTable table_;
};

}  // namespace kq::gateway
