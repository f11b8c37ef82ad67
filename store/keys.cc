#include "store/keys.h"

namespace kq {

std::string sequence_key(Sequence seq) {
  std::string key(sizeof seq, '\0');
  for (std::size_t i = key.size(); i-- > 0; seq >>= 8) key[i] = static_cast<char>(seq & 0xFF);
  return key;
}

std::optional<Sequence> sequence_from(std::string_view key) {
  if (key.size() != sizeof(Sequence)) return std::nullopt;
  Sequence seq = 0;
  for (const char byte : key) seq = seq << 8 | static_cast<unsigned char>(byte);
  return seq;
}

std::string hash_key(const Hash& hash) {
  return std::string(as_bytes(hash));
}

std::string run_key(std::string_view run, std::string_view label) {
  return run_prefix(run).append(label);
}

std::string run_prefix(std::string_view run) {
  std::string key(run);
  key += '\0';
  return key;
}

std::string run_prefix_end(std::string_view run) {
  std::string key(run);
  key += '\1';
  return key;
}

std::string board_key(const Hash& problem, std::string_view device_model) {
  return hash_key(problem).append(device_model);
}

}  // namespace kq
