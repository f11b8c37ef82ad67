// Helpers for tests that start processes: a temporary folder for small scripts, and functions that wait for their
// effects.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "tools/stack/child_program.h"

namespace kq::tools {

// A temporary folder that is removed at the end.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "kq-test.XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string path() const { return path_.string(); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }
  void write_program(const std::string& name, const std::string& script) const {
    write(name, "#!/bin/sh\n" + script);
    std::filesystem::permissions(path_ / name, std::filesystem::perms::owner_all);
  }

 private:
  std::filesystem::path path_;
};

inline std::string content_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Waits until the condition holds, or returns false after a minute. Effects of other processes can only be polled for.
template <class Condition>
bool wait_until(Condition condition) {
  for (int i = 0; i < 6'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}
inline bool wait_for_text(const std::string& path, const std::string& text) {
  return wait_until([&] { return content_of(path).find(text) != std::string::npos; });
}
inline std::string end_of(Process& process) {
  wait_until([&] { return process.ended().has_value(); });
  return process.ended().value_or("still running");
}

// A Sleep that is never interrupted.
inline bool sleep_uninterrupted(std::int64_t ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  return false;
}

}  // namespace kq::tools
