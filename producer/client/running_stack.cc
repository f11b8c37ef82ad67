#include "producer/client/running_stack.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "net/endpoint.h"

namespace kq::producer {

std::string text_of(const StackRecord& record) {
  std::ostringstream text;
  text << "pid " << record.pid << '\n';
  if (!record.url.empty()) text << "url " << record.url << '\n';
  for (pid_t child : record.children) text << "child " << child << '\n';
  for (const std::string& submitter : record.paused) text << "paused " << submitter << '\n';
  return text.str();
}

std::optional<StackRecord> read_record(const std::string& path) {
  std::ifstream file(path);
  StackRecord record;
  for (std::string line; std::getline(file, line);) {
    const std::size_t space = std::min(line.find(' '), line.size() - 1);
    const std::string word = line.substr(0, space);
    const std::string value = line.substr(space + 1);
    if (word == "url") record.url = value;
    if (word == "pid") record.pid = std::atoi(value.c_str());
    if (word == "child") record.children.push_back(std::atoi(value.c_str()));
    if (word == "paused") record.paused.push_back(value);
  }
  return record.pid > 0 ? std::optional(record) : std::nullopt;
}

std::string lock_file_of(const std::string& state_folder) {
  return state_folder + "/lock";
}

bool apply_lock(int fd, int command, struct flock& lock) {
  lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(fd, command, &lock) == 0;
}

std::optional<StackRecord> holder_of(const std::string& state_folder) {
  const std::string path = lock_file_of(state_folder);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  struct flock held;
  const bool is_held = apply_lock(file, F_OFD_GETLK, held) && held.l_type != F_UNLCK;
  ::close(file);
  if (!is_held) return std::nullopt;
  return read_record(path).value_or(StackRecord{});
}

std::string process_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Expected<std::string> default_state_folder(const Environment& environment) {
  const std::string state_home = environment("XDG_STATE_HOME");
  if (!state_home.empty()) return state_home + "/kq";
  const std::string home = environment("HOME");
  if (!home.empty()) return home + "/.local/state/kq";
  return bad_input("neither XDG_STATE_HOME nor HOME is set; name a state folder with --state DIR");
}

std::string last_up_file_of(const std::string& default_state_folder) {
  return default_state_folder + "/last-up";
}

std::string last_up_folder(const Environment& environment) {
  const auto usual = default_state_folder(environment);
  if (!usual) return "";
  std::ifstream file(last_up_file_of(*usual));
  std::string folder;
  std::getline(file, folder, '\0');
  struct stat status {};
  const bool is_own = ::stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
                      (status.st_mode & S_IWOTH) == 0;
  return is_own ? folder : "";
}

DefaultBroker default_broker(const Environment& environment) {
  if (std::string broker = environment("KQ_BROKER"); !broker.empty()) return {.url = std::move(broker)};
  for (const std::string& state : {last_up_folder(environment), default_state_folder(environment).value_or("")}) {
    if (state.empty()) continue;
    if (auto holder = holder_of(state); holder && !holder->url.empty())
      return {.url = std::move(holder->url), .state_folder = state};
  }
  return {.url = std::string(net::kDefaultBrokerUrl)};
}

}  // namespace kq::producer
