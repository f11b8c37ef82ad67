#include "tools/cli/default_place.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace kq::tools {

namespace fs = std::filesystem;

Place default_place(const PlaceQuestions& ask) {
  if (const std::string broker = ask.environment("KQ_BROKER"); !broker.empty()) return {.broker = broker, .store = ""};
  if (const std::string store = ask.environment("KQ_STORE"); !store.empty()) return {.broker = "", .store = store};
  producer::DefaultBroker found = producer::default_broker(ask.environment);
  if (found.state_folder.empty()) {
    const std::vector<std::string> idle = idle_state_folders(ask.environment);
    if (!idle.empty() && !ask.is_listening(found.url))
      return {.broker = "", .store = idle.front() + "/store", .state_folder = idle.front()};
  }
  return {.broker = std::move(found.url), .store = ""};
}

std::vector<std::string> idle_state_folders(const Environment& environment) {
  std::vector<std::string> folders = {default_state_folder(environment).value_or(""), last_up_folder(environment)};
  if (folders.front() == folders.back()) folders.pop_back();
  std::error_code ignored;
  std::erase_if(folders, [&](const std::string& folder) {
    return folder.empty() || !fs::exists(fs::path(folder) / "store" / "CURRENT", ignored) || holder_of(folder);
  });
  // A stack writes its lock file when it starts and when it ends.
  const auto used_at = [&](const std::string& folder) {
    return fs::last_write_time(producer::lock_file_of(folder), ignored);
  };
  std::stable_sort(folders.begin(), folders.end(),
                   [&](const std::string& a, const std::string& b) { return used_at(a) > used_at(b); });
  return folders;
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
