#include "producer/gateway/tokens.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "sys/error_text.h"

namespace kq::gateway {
namespace {

constexpr std::size_t kFileBytesMax = 32u << 20;
constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;

bool is_name_char(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-';
}

// Reads "HASH NAME QUOTA". Returns what is wrong with the line, or nothing.
std::optional<std::string> read_line(const std::string& line, TokenTable& table) {
  std::istringstream words(line);
  std::string hash_text, name, quota, more;
  words >> hash_text >> name >> quota >> more;
  if (quota.empty() || !more.empty()) return "a line is HASH NAME QUOTA; kq-gateway token NAME prints one";
  const auto hash = hash_from_hex(hash_text);
  if (!hash) return "the hash must have 64 hexadecimal digits";
  if (const auto wrong = submitter_name_error(name)) return "the name " + *wrong;
  Submitter submitter{.name = name};
  const auto [end, error] = std::from_chars(quota.data(), quota.data() + quota.size(), submitter.jobs_max);
  if (error != std::errc() || end != quota.data() + quota.size())
    return "the quota must be a number of queued jobs, or 0 for no limit";
  if (!table.emplace(*hash, std::move(submitter)).second) return "the same hash is in an earlier line";
  if (table.size() > kTokensMax) return "the file has more than " + std::to_string(kTokensMax) + " tokens";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> submitter_name_error(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kSubmitterNameBytesMax)
    return "has " + std::to_string(name.size()) + " bytes, at most " + std::to_string(kSubmitterNameBytesMax) +
           " are allowed";
  if (!std::all_of(name.begin(), name.end(), is_name_char)) return "may have letters, digits, '.', '_' and '-' only";
  return std::nullopt;
}

Expected<TokenTable> parse_tokens(const std::string& name, std::string_view text) {
  TokenTable table;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    if (const auto wrong = read_line(line, table))
      return bad_input("tokens " + name + ":" + std::to_string(number) + ": " + *wrong);
  }
  return table;
}

NewToken make_token(const std::string& name, std::uint64_t jobs_max, std::string_view random) {
  NewToken made{.token = std::string(kTokenPrefix) + to_hex(sha256(random)), .line = ""};
  made.line = to_hex(sha256(made.token)) + " " + name + " " + std::to_string(jobs_max);
  return made;
}

Expected<std::unique_ptr<Tokens>> Tokens::open(const std::string& path) {
  std::unique_ptr<Tokens> tokens(new Tokens(path));
  KQ_TRY(tokens->read());
  return tokens;
}

std::optional<Submitter> Tokens::find(std::string_view token) const {
  // The table is keyed by hashes, so the time of a look-up tells nothing about a token.
  const Hash hash = sha256(token);
  const std::lock_guard lock(mutex_);
  const auto found = table_.find(hash);
  return found == table_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> Tokens::refresh() {
  const auto now = version();
  if (now && *now == read_version_) return std::nullopt;
  const auto done = read();
  if (now) read_version_ = *now;  // a mistake is reported once
  if (!done) return done.error().message + "; the tokens from before stay in force";
  const std::lock_guard lock(mutex_);
  return "tokens " + path_ + ": read again, " + std::to_string(table_.size()) + " tokens";
}

Expected<Tokens::Version> Tokens::version() const {
  struct stat facts {};
  if (::stat(path_.c_str(), &facts) != 0) return bad_input(sys::error_text("tokens " + path_));
  if ((facts.st_mode & kOthersMayWrite) != 0)
    return bad_input("tokens " + path_ + ": others than the owner may write this file; chmod go-w " + path_);
  return Version{.modified_ns = facts.st_mtim.tv_sec * 1'000'000'000ll + facts.st_mtim.tv_nsec,
                 .bytes = static_cast<std::uint64_t>(facts.st_size),
                 .file = facts.st_ino};
}

Expected<void> Tokens::read() {
  KQ_TRY_VALUE(const Version now, version());
  std::ifstream file(path_, std::ios::binary);
  if (!file.is_open() || now.bytes > kFileBytesMax) return bad_input("tokens " + path_ + ": the file cannot be read");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  KQ_TRY_VALUE(TokenTable table, parse_tokens(path_, text));
  read_version_ = now;
  const std::lock_guard lock(mutex_);
  table_ = std::move(table);
  return {};
}

}  // namespace kq::gateway
