#include "gpu_worker/child/sandbox/landlock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gpu_worker/child/runtime/view.h"

namespace kq::sandbox {
namespace {

// The structures and values are those of linux/landlock.h. Debian 12 has that header in a version that ends at ABI 2.
struct Ruleset {
  std::uint64_t files;
  std::uint64_t network;
  std::uint64_t scopes;
};
struct __attribute__((packed)) PathRule {
  std::uint64_t allowed;
  std::int32_t parent;
};
constexpr std::uint32_t kAskVersion = 1;
constexpr int kPathBeneath = 1;
constexpr std::uint64_t kExecute = 1u << 0, kWrite = 1u << 1, kRead = 1u << 2, kReadDirectory = 1u << 3,
                        kTruncate = 1u << 14;
constexpr std::uint64_t kOfFiles =
    kExecute | kWrite | kRead | kTruncate;  // the rights that a rule for a single file may hold
constexpr std::uint64_t kReading = kExecute | kRead | kReadDirectory;

// Returns the rights that a version of the interface can restrict. The right to device ioctls (version 5) stays
// unrestricted, because CUDA consists of them.
std::uint64_t files_of(long abi) {
  return abi >= 3 ? 0x7FFF : abi == 2 ? 0x3FFF : 0x1FFF;
}
constexpr std::uint64_t kTcp = 3;        // bind and connect
constexpr std::uint64_t kAllScopes = 3;  // abstract sockets and signals

std::string failed(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

// Adds the rule for one path. A missing file is no error, because a plan may name one. Returns an empty string, or what
// failed.
std::string allow(int ruleset, const std::string& path, std::uint64_t access) {
  const int fd = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return {};
  struct stat found {};
  if (::fstat(fd, &found) == 0 && !S_ISDIR(found.st_mode)) access &= kOfFiles;
  const PathRule rule{access, fd};
  const bool added = ::syscall(SYS_landlock_add_rule, ruleset, kPathBeneath, &rule, 0) == 0;
  std::string error = added ? "" : failed("cannot allow " + path);
  ::close(fd);
  return error;
}

using Rule = std::pair<std::string, std::uint64_t>;

// Returns the rules of one line of the plan.
std::vector<Rule> rules_of(const std::vector<std::string>& fields, bool has_view, std::uint64_t all) {
  const std::string& word = fields[0];
  if (word == "ro") return {{fields[has_view ? 2 : 1], kReading}};
  if (word == "rw") return {{fields[has_view ? 2 : 1], all}};
  // CUDA's driver names its threads by writing to files in /proc, which it opens with O_TRUNC. Without that right it
  // fails with error 304.
  if (word == "dev") return {{fields[1], kRead | kWrite | kTruncate}};
  if (word == "proc") return {{fields[1], kReading | kWrite | kTruncate}};
  if (word == "work" && !has_view) return {{fields[1], all}};
  std::vector<Rule> rules;
  for (std::size_t i = 3; word == "scratch" && has_view && i < fields.size(); ++i) rules.emplace_back(fields[i], all);
  return rules;
}

}  // namespace

Expected<bool> restrict_files(std::string_view plan, const LandlockOptions& options) {
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kAskVersion);
  if (abi < 1) return false;
  const Ruleset wanted{.files = files_of(abi),
                       .network = abi >= 4 && !options.allows_tcp ? kTcp : 0,
                       .scopes = abi >= 6 ? kAllScopes : 0};
  const std::size_t size = abi >= 6 ? sizeof wanted : abi >= 4 ? 2 * sizeof(std::uint64_t) : sizeof(std::uint64_t);
  const int ruleset = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &wanted, size, 0));
  if (ruleset < 0) return our_fault(failed("cannot make a Landlock ruleset"));
  // All names inside a view may be listed, because a view holds no secret.
  std::string error = options.has_view ? allow(ruleset, "/", kReadDirectory) : "";
  for (const std::vector<std::string>& line : runtime::lines_of(plan)) {
    for (const auto& [path, access] : rules_of(line, options.has_view, wanted.files)) {
      if (error.empty()) error = allow(ruleset, path, access & wanted.files);
    }
  }
  if (error.empty() && ::syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
    error = failed("cannot enforce a Landlock ruleset");
  ::close(ruleset);
  if (!error.empty()) return our_fault(error);
  return true;
}

}  // namespace kq::sandbox
