#include "tools/cli/default_place.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

namespace kq::tools {

namespace fs = std::filesystem;

Place default_place(const PlaceQuestions& ask) {
  if (const std::string broker = ask.environment("KQ_BROKER"); !broker.empty()) return {.broker = broker, .store = ""};
  if (const std::string store = ask.environment("KQ_STORE"); !store.empty()) return {.broker = "", .store = store};
  producer::DefaultBroker found = producer::default_broker(ask.environment);
  const Expected<std::string> state = default_state_folder(ask.environment);
  if (!state || !found.state_folder.empty()) return {.broker = std::move(found.url), .store = ""};
  std::error_code ignored;
  const bool has_store = fs::exists(fs::path(*state) / "store" / "CURRENT", ignored);
  if (has_store && !ask.is_listening(found.url)) return {.broker = "", .store = *state + "/store"};
  return {.broker = std::move(found.url), .store = ""};
}

bool is_listening(const std::string& url) {
  constexpr std::string_view kHere = "tcp://127.0.0.1:";
  if (!url.starts_with(kHere)) return true;
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo("127.0.0.1", url.substr(kHere.size()).c_str(), &hints, &found) != 0) return true;
  const int fd = ::socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, 0);
  const bool is_open = fd < 0 || ::connect(fd, found->ai_addr, found->ai_addrlen) == 0;
  if (fd >= 0) ::close(fd);
  ::freeaddrinfo(found);
  return is_open;
}

}  // namespace kq::tools
