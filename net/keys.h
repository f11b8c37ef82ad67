// Key files: who may speak to a broker, as text that a person can read.
//
// A broker's folder of keys holds `broker.key`, its own pair, and `authorized`, the public keys it lets in, one a line:
//     submit alice 1nM(Ki^y=Ns...        role, name, public key; a line that begins with # is a comment
// Everybody else holds one file, made for one name at one broker. Keys are CURVE25519 in ZeroMQ's spelling, Z85.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/error.h"
#include "core/identity.h"

namespace kq::net {

inline constexpr std::size_t kKeyChars = 40;                  // of one key in Z85
inline constexpr std::size_t kKeyFileBytesMax = 4u << 10;     // broker.key, or one person's file
inline constexpr std::size_t kAuthorizedKeysMax = 10'000;     // lines of `authorized`
inline constexpr std::size_t kAuthorizedBytesMax = 4u << 20;  // its length

struct KeyPair {
  std::string public_key;
  std::string secret_key;

  friend bool operator==(const KeyPair&, const KeyPair&) = default;
};

// One person's or worker's file.
struct ClientKey {
  Identity who;
  KeyPair own;
  std::string broker_key;  // public; whoever answers must own its secret half

  friend bool operator==(const ClientKey&, const ClientKey&) = default;
};

struct AuthorizedKey {
  Identity who;
  std::string public_key;

  friend bool operator==(const AuthorizedKey&, const AuthorizedKey&) = default;
};

// Who is let in, by public key. A lookup copies nothing.
class Authorized {
 public:
  // Bad input in a sentence with the line's number: an unknown role, a name that is none, half a key, a key twice.
  static Expected<Authorized> parse(std::string_view text, const std::string& path);

  // Null: nobody has this key.
  const Identity* find(std::string_view public_key) const;
  std::size_t size() const { return by_key_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>{}(key); }
  };
  std::unordered_map<std::string, Identity, Hash, std::equal_to<>> by_key_;
};

std::string broker_key_path(const std::string& folder);
std::string authorized_path(const std::string& folder);

// Makes the folder (mode 0700) with this pair and nobody authorized. Refuses one that has a broker.key: those who hold
// keys for it would be locked out.
Expected<void> make_key_folder(const std::string& folder, const KeyPair& broker);

// Files with a secret in them are refused where anybody but their owner may read them.
Expected<KeyPair> read_broker_key(const std::string& folder);
Expected<ClientKey> read_client_key(const std::string& path);
// Never replaces a file: somebody may be using the key in it.
Expected<void> write_client_key(const std::string& path, const ClientKey& key);

Expected<Authorized> read_authorized(const std::string& folder);
// What a broker with this folder runs with.
struct KeyFolder {
  KeyPair broker;
  Authorized authorized;
};
Expected<KeyFolder> read_key_folder(const std::string& folder);

// Adds a line, keeping the others as they are; a running broker follows at once.
Expected<void> authorize(const std::string& folder, const AuthorizedKey& key);
// Takes away every line with this name and returns the keys; bad input if there is none.
Expected<std::vector<AuthorizedKey>> revoke(const std::string& folder, const std::string& name);

}  // namespace kq::net
