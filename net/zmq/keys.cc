#include "net/zmq/keys.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <zmq.hpp>

namespace kq::net {

KeyPair make_key_pair() {
  std::array<char, kKeyChars + 1> public_key{};
  std::array<char, kKeyChars + 1> secret_key{};
  // This fails only if ZeroMQ was built without CURVE. Such an installation is broken, so the function throws.
  if (zmq_curve_keypair(public_key.data(), secret_key.data()) != 0) throw zmq::error_t();
  return {public_key.data(), secret_key.data()};
}

Expected<ClientKey> issue_key(const std::string& folder, const Identity& who, const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(broker_key_path(folder), ignored)) {
    KQ_TRY(make_key_folder(folder, make_key_pair()));
  }
  KQ_TRY_VALUE(const auto broker, read_broker_key(folder));
  const ClientKey key{who, make_key_pair(), broker.public_key};
  // Writes the file first, so that no key is ever authorized without a holder.
  KQ_TRY(write_client_key(path, key));
  if (const auto added = authorize(folder, {who, key.own.public_key}); !added) {
    ::unlink(path.c_str());
    return failure(added.error());
  }
  return key;
}

}  // namespace kq::net
