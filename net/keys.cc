#include "net/keys.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/submission.h"
#include "sys/error_text.h"

namespace kq::net {
namespace {

constexpr std::string_view kBrokerKeyTitle = "kq broker key 1";
constexpr std::string_view kClientKeyTitle = "kq client key 1";
constexpr std::string_view kZ85 =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
constexpr mode_t kOwnerMode = 0600;
constexpr mode_t kPublicMode = 0644;  // the file holds public keys only
constexpr mode_t kOthers = 0077;
constexpr mode_t kOthersWrite = 0022;
constexpr mode_t kBeyondGroupRead = 0037;  // what a secret of root may not grant to its readers

constexpr std::string_view kAuthorizedHead =
    "# The keys that may connect to this broker: role name public-key, one per line.\n"
    "# Roles: submit, work, admin, gateway, standby.\n"
    "# The broker reads this file again whenever it changes. Replace the file by mv, so that the broker never reads "
    "an incomplete file.\n";

std::string os_error() {
  return sys::error_text(errno);
}

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

enum class Privacy { secret, open };

// Whether only the owner may use a secret. A file of root may also be read by its group: a process that is not root can
// read it only if root put the process into that group, as the kubelet does with the files of a Secret.
bool is_private(const struct stat& status) {
  const bool is_lent_by_root = status.st_uid == 0 && ::geteuid() != 0;
  return (status.st_mode & (is_lent_by_root ? kBeyondGroupRead : kOthers)) == 0;
}

Expected<std::string> read_file(const std::string& path, std::size_t bytes_max, Privacy privacy) {
  // O_NONBLOCK: opening a pipe of that name must not block
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return bad_input("key file " + path + ": " + os_error());
  if (!S_ISREG(status.st_mode)) return bad_input("key file " + path + " is not a file");
  if (privacy == Privacy::secret && !is_private(status)) {
    return bad_input("key file " + path +
                     " holds a secret and others than its owner may use it; chmod 600 it, and make a "
                     "new key if others could have read it");
  }
  if ((status.st_mode & kOthersWrite) != 0) {
    return bad_input("key file " + path + ": others than its owner may write it; chmod go-w it");
  }
  std::string text(bytes_max + 1, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t n = ::read(file.get(), text.data() + length, text.size() - length);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return bad_input("key file " + path + ": " + os_error());
    if (n == 0) break;
    length += static_cast<std::size_t>(n);
  }
  if (length > bytes_max) {
    return bad_input("key file " + path + " is longer than " + std::to_string(bytes_max) + " bytes");
  }
  text.resize(length);
  return text;
}

// Writes the whole file and syncs it, or writes nothing: a temporary file in the same directory gets the name at the
// end.
Expected<void> write_file(const std::string& path, std::string_view text, mode_t mode, bool may_replace) {
  const std::string temporary = path + ".new." + std::to_string(::getpid());
  const auto fail = [&] {
    const std::string why = os_error();
    ::unlink(temporary.c_str());
    return bad_input("key file " + path + ": cannot be written: " + why);
  };
  ::unlink(temporary.c_str());
  {
    const File file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kOwnerMode));
    if (file.get() < 0) return fail();
    while (!text.empty()) {
      const ssize_t n = ::write(file.get(), text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return fail();
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    if (::fchmod(file.get(), mode) != 0 || ::fsync(file.get()) != 0) return fail();
  }
  if (may_replace) {
    if (::rename(temporary.c_str(), path.c_str()) != 0) return fail();
    return {};
  }
  if (::link(temporary.c_str(), path.c_str()) != 0) return fail();  // unlike rename, link never replaces a file
  ::unlink(temporary.c_str());
  return {};
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

std::optional<std::string> validate_key(std::string_view key) {
  if (key.size() == kKeyChars && key.find_first_not_of(kZ85) == std::string_view::npos) return std::nullopt;
  return "a key is " + std::to_string(kKeyChars) + " characters of Z85, got " + std::to_string(key.size()) +
         (key.size() == kKeyChars ? " of which some are not" : "");
}

// Returns the values of the fields `names`, in their order. The file must hold the title, any number of comments, and
// exactly one "name value" line for each field.
template <std::size_t N>
Expected<std::array<std::string, N>> read_fields(std::string_view text, const std::string& path, std::string_view title,
                                                 const std::array<std::string_view, N>& names) {
  if (take_line(text) != title) {
    return bad_input("key file " + path + ": its first line is not '" + std::string(title) + "'");
  }
  std::array<std::string, N> values;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.empty() || line.front() == '#') continue;
    const std::string_view name = line.substr(0, line.find(' '));
    const auto at = std::find(names.begin(), names.end(), name);
    const auto wrong = [&](const std::string& what) {
      return bad_input("key file " + path + ": '" + std::string(name) + "' " + what);
    };
    if (at == names.end() || name.size() + 1 >= line.size())
      return wrong("is no field of such a file, or has no value");
    std::string& value = values[static_cast<std::size_t>(at - names.begin())];
    if (!value.empty()) return wrong("is given twice");
    value = line.substr(name.size() + 1);
  }
  for (std::size_t i = 0; i < N; ++i) {
    if (values[i].empty()) return bad_input("key file " + path + " has no line '" + std::string(names[i]) + " ...'");
  }
  return values;
}

std::optional<std::string> validate_keys(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (auto wrong = validate_key(key)) return wrong;
  }
  return std::nullopt;
}

// A name is enclosed by spaces in `authorized`, so it may not begin or end with one.
Expected<Identity> identity_of(std::string_view role, std::string_view name) {
  const auto known = parse_enum<Role>(role);
  if (!known) return bad_input("role must be one of " + known_names<Role>() + ", got '" + std::string(role) + "'");
  if (const auto wrong = name_error(name)) return bad_input("the name " + *wrong);
  if (name.front() == ' ' || name.back() == ' ') return bad_input("the name begins or ends with a space");
  return Identity{std::string(name), *known};
}

// Parses "role name public-key". The name may hold spaces, the role and the key may not.
Expected<AuthorizedKey> authorized_in(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return bad_input("'role name public-key' is needed");
  KQ_TRY_VALUE(const auto who, identity_of(line.substr(0, first), line.substr(first + 1, last - first - 1)));
  const std::string_view key = line.substr(last + 1);
  if (const auto wrong = validate_key(key)) return bad_input(*wrong);
  return AuthorizedKey{who, std::string(key)};
}

// Locks the folder until `folder` is closed, so that two programs change `authorized` one after the other.
Expected<void> lock_folder(const File& folder, const std::string& path) {
  if (folder.get() >= 0 && ::flock(folder.get(), LOCK_EX) == 0) return {};
  return bad_input("key folder " + path + ": " + os_error());
}

bool is_entry(std::string_view line) {
  return !line.empty() && line.front() != '#';
}

Expected<std::string> authorized_text(const std::string& folder) {
  return read_file(authorized_path(folder), kAuthorizedBytesMax, Privacy::open);
}

}  // namespace

Expected<Authorized> Authorized::parse(std::string_view text, const std::string& path) {
  Authorized authorized;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (!is_entry(line)) continue;
    const auto refuse = [&](const std::string& what) {
      return bad_input("key file " + path + ":" + std::to_string(number) + ": " + what);
    };
    auto key = authorized_in(line);
    if (!key) return refuse(key.error().message);
    if (authorized.size() == kAuthorizedKeysMax) {
      return refuse("more keys than " + std::to_string(kAuthorizedKeysMax));
    }
    if (!authorized.by_key_.try_emplace(key->public_key, key->who).second) return refuse("this key is listed twice");
  }
  return authorized;
}

const Identity* Authorized::find(std::string_view public_key) const {
  const auto at = by_key_.find(public_key);
  return at == by_key_.end() ? nullptr : &at->second;
}

std::string broker_key_path(const std::string& folder) {
  return folder + "/broker.key";
}
std::string authorized_path(const std::string& folder) {
  return folder + "/authorized";
}

Expected<void> make_key_folder(const std::string& folder, const KeyPair& broker) {
  std::error_code error;
  const bool made = std::filesystem::create_directories(folder, error);
  if (error) return bad_input("key folder " + folder + ": " + error.message());
  if (made) std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  const std::string text = std::string(kBrokerKeyTitle) +
                           "\n# The broker's own key pair. A holder of this file can pose as the broker: keep it in "
                           "this folder.\npublic " +
                           broker.public_key + "\nsecret " + broker.secret_key + "\n";
  // Writes the list first: a folder without broker.key counts as incomplete, and the next call completes it.
  if (!std::filesystem::exists(authorized_path(folder), error)) {
    if (auto written = write_file(authorized_path(folder), kAuthorizedHead, kPublicMode, false); !written)
      return written;
  }
  return write_file(broker_key_path(folder), text, kOwnerMode, false);
}

Expected<KeyPair> read_broker_key(const std::string& folder) {
  const std::string path = broker_key_path(folder);
  KQ_TRY_VALUE(const auto text, read_file(path, kKeyFileBytesMax, Privacy::secret));
  KQ_TRY_VALUE(auto fields, read_fields<2>(text, path, kBrokerKeyTitle, {"public", "secret"}));
  auto& [public_key, secret_key] = fields;
  if (const auto wrong = validate_keys({public_key, secret_key})) return bad_input("key file " + path + ": " + *wrong);
  return KeyPair{std::move(public_key), std::move(secret_key)};
}

Expected<ClientKey> read_client_key(const std::string& path) {
  KQ_TRY_VALUE(const auto text, read_file(path, kKeyFileBytesMax, Privacy::secret));
  KQ_TRY_VALUE(auto fields,
               read_fields<5>(text, path, kClientKeyTitle, {"name", "role", "public", "secret", "broker"}));
  auto& [name, role, public_key, secret_key, broker_key] = fields;
  auto who = identity_of(role, name);
  if (!who) return bad_input("key file " + path + ": " + who.error().message);
  if (const auto wrong = validate_keys({public_key, secret_key, broker_key})) {
    return bad_input("key file " + path + ": " + *wrong);
  }
  return ClientKey{std::move(*who), {std::move(public_key), std::move(secret_key)}, std::move(broker_key)};
}

Expected<void> write_client_key(const std::string& path, const ClientKey& key) {
  const std::string text = std::string(kClientKeyTitle) + "\n# The holder of this file is '" + key.who.name +
                           "' to the broker, with the role " + std::string(to_string(key.who.role)) +
                           ". Keep it private; use --key FILE or KQ_KEY.\nname " + key.who.name + "\nrole " +
                           std::string(to_string(key.who.role)) + "\npublic " + key.own.public_key + "\nsecret " +
                           key.own.secret_key + "\nbroker " + key.broker_key + "\n";
  return write_file(path, text, kOwnerMode, false);
}

Expected<Authorized> read_authorized(const std::string& folder) {
  KQ_TRY_VALUE(const auto text, authorized_text(folder));
  return Authorized::parse(text, authorized_path(folder));
}

Expected<KeyFolder> read_key_folder(const std::string& folder) {
  KQ_TRY_VALUE(auto broker, read_broker_key(folder));
  KQ_TRY_VALUE(auto authorized, read_authorized(folder));
  return KeyFolder{std::move(broker), std::move(authorized)};
}

Expected<void> authorize(const std::string& folder, const AuthorizedKey& key) {
  const File lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (auto locked = lock_folder(lock, folder); !locked) return locked;
  KQ_TRY(identity_of(to_string(key.who.role), key.who.name));
  KQ_TRY_VALUE(auto text, authorized_text(folder));
  if (!text.empty() && text.back() != '\n') text += '\n';
  text += std::string(to_string(key.who.role)) + " " + key.who.name + " " + key.public_key + "\n";
  // Refuses a text that the broker could not parse.
  KQ_TRY(Authorized::parse(text, authorized_path(folder)));
  return write_file(authorized_path(folder), text, kPublicMode, true);
}

Expected<std::vector<AuthorizedKey>> revoke(const std::string& folder, const std::string& name) {
  const File lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  KQ_TRY(lock_folder(lock, folder));
  KQ_TRY_VALUE(const auto text, authorized_text(folder));
  KQ_TRY(Authorized::parse(text, authorized_path(folder)));
  std::vector<AuthorizedKey> revoked;
  std::string kept;
  for (std::string_view left = text; !left.empty();) {
    const std::string_view line = take_line(left);
    auto key = is_entry(line) ? authorized_in(line) : bad_input("a comment");
    if (key && key->who.name == name) {
      revoked.push_back(std::move(*key));
    } else {
      kept.append(line) += '\n';
    }
  }
  if (revoked.empty()) return bad_input("key file " + authorized_path(folder) + " has no key of '" + name + "'");
  if (auto written = write_file(authorized_path(folder), kept, kPublicMode, true); !written) {
    return failure(written.error());
  }
  return revoked;
}

}  // namespace kq::net
