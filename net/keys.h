// Reads and writes the key files, which list the keys that may connect to a broker. The files are readable text.
//
// The broker's key folder holds `broker.key`, the broker's own key pair, and `authorized`, the public keys that it
// admits, one per line:
//     submit alice 1nM(Ki^y=Ns...        role, name, public key; a line that begins with # is a comment
// Every other program has one key file, which is made for one name at one broker. Keys are CURVE25519 keys in Z85, the
// text form of ZeroMQ.
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

inline constexpr std::size_t kKeyChars = 40;                  // characters of one key in Z85
inline constexpr std::size_t kKeyFileBytesMax = 4u << 10;     // of broker.key or of a client's key file
inline constexpr std::size_t kAuthorizedKeysMax = 10'000;     // keys in `authorized`
inline constexpr std::size_t kAuthorizedBytesMax = 4u << 20;  // of `authorized`

// A public key and its secret key, each in Z85.
struct KeyPair {
  std::string public_key;
  std::string secret_key;

  friend bool operator==(const KeyPair&, const KeyPair&) = default;
};

// The content of a client's or a worker's key file.
struct ClientKey {
  Identity who;  // the name and role that the broker gives to the holder of this key
  KeyPair own;
  std::string broker_key;  // the broker's public key; a broker without the matching secret key is refused

  friend bool operator==(const ClientKey&, const ClientKey&) = default;
};

// One line of `authorized`.
struct AuthorizedKey {
  Identity who;
  std::string public_key;

  friend bool operator==(const AuthorizedKey&, const AuthorizedKey&) = default;
};

// The keys of `authorized`, found by public key without copying.
class Authorized {
 public:
  // Parses the text of `authorized`. Returns bad_input with the line's number for an unknown role, an invalid name, an
  // invalid key or a duplicate key.
  static Expected<Authorized> parse(std::string_view text, const std::string& path);

  // Returns the identity of this key, or null if the key is not authorized.
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

// Makes the folder (mode 0700) with this key pair and an empty list. Refuses a folder that has a broker.key, because a
// new pair would lock out every holder of a key for the old one.
Expected<void> make_key_folder(const std::string& folder, const KeyPair& broker);

// Both functions refuse a file that others than its owner may access, because it holds a secret.
Expected<KeyPair> read_broker_key(const std::string& folder);
Expected<ClientKey> read_client_key(const std::string& path);
// Writes a new file. Refuses to replace an existing file, because the key in it may be in use.
Expected<void> write_client_key(const std::string& path, const ClientKey& key);

Expected<Authorized> read_authorized(const std::string& folder);
// The content of a broker's key folder.
struct KeyFolder {
  KeyPair broker;
  Authorized authorized;
};
Expected<KeyFolder> read_key_folder(const std::string& folder);

// Adds a line to `authorized` and keeps the other lines. A running broker notices the change.
Expected<void> authorize(const std::string& folder, const AuthorizedKey& key);
// Removes every line with this name and returns its keys. Returns bad_input if there is none.
Expected<std::vector<AuthorizedKey>> revoke(const std::string& folder, const std::string& name);

}  // namespace kq::net
