#include "producer/client/running_stack.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "net/endpoint.h"

namespace kq::producer {
namespace {

namespace fs = std::filesystem;

// A home folder with the lock file of a stack, and an environment that names the folder.
class RunningStack : public testing::Test {
 protected:
  RunningStack() {
    std::string pattern = (fs::temp_directory_path() / "kq-test.XXXXXX").string();
    home_ = ::mkdtemp(pattern.data());
    fs::create_directories(home_ / "kq");
    variables_["XDG_STATE_HOME"] = home_.string();
  }
  ~RunningStack() override {
    if (lock_ >= 0) ::close(lock_);
    fs::remove_all(home_);
  }

  std::string state() const { return (home_ / "kq").string(); }
  void write(const StackRecord& record) { std::ofstream(lock_file_of(state())) << text_of(record); }
  void hold() {
    lock_ = ::open(lock_file_of(state()).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct flock lock;
    ASSERT_TRUE(apply_lock(lock_, F_OFD_SETLK, lock));
  }
  DefaultBroker found() const {
    return default_broker([this](const char* name) {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::string() : found->second;
    });
  }

  fs::path home_;
  std::map<std::string, std::string> variables_;
  int lock_ = -1;
};

TEST_F(RunningStack, the_broker_of_the_default_state_folder_is_found_while_its_process_runs) {
  EXPECT_EQ(found().url, net::kDefaultBrokerUrl);
  write({.pid = 7, .url = "tcp://127.0.0.1:7000", .children = {}});
  EXPECT_EQ(found().url, net::kDefaultBrokerUrl);  // no process holds the lock
  hold();
  EXPECT_EQ(found().url, "tcp://127.0.0.1:7000");
  EXPECT_EQ(found().state_folder, state());
}

TEST_F(RunningStack, the_last_kq_up_is_found_in_its_own_state_folder_and_goes_before_the_default_one) {
  const std::string other = (home_ / "other").string();
  fs::create_directories(other);
  std::ofstream(last_up_file_of(state())) << other;
  std::ofstream(lock_file_of(other)) << text_of({.pid = 8, .url = "tcp://127.0.0.1:7100", .children = {}});
  write({.pid = 7, .url = "tcp://127.0.0.1:7000", .children = {}});
  hold();
  EXPECT_EQ(found().url, "tcp://127.0.0.1:7000");  // no process holds the lock of the other folder
  const int held = ::open(lock_file_of(other).c_str(), O_RDWR | O_CLOEXEC);
  struct flock lock;
  ASSERT_TRUE(apply_lock(held, F_OFD_SETLK, lock));
  EXPECT_EQ(found().url, "tcp://127.0.0.1:7100");
  EXPECT_EQ(found().state_folder, other);
  fs::permissions(other, fs::perms::all);  // another user could have put the lock file there
  EXPECT_EQ(found().url, "tcp://127.0.0.1:7000");
  ::close(held);
}

TEST_F(RunningStack, a_stack_that_is_starting_has_no_broker_yet) {
  hold();
  EXPECT_EQ(holder_of(state()), StackRecord{});
  EXPECT_EQ(found().url, net::kDefaultBrokerUrl);
  EXPECT_EQ(found().state_folder, "");
}

TEST_F(RunningStack, the_environment_names_another_broker) {
  write({.pid = 7, .url = "tcp://127.0.0.1:7000", .children = {}});
  hold();
  variables_["KQ_BROKER"] = "tcp://host:1";
  EXPECT_EQ(found().url, "tcp://host:1");
  EXPECT_EQ(found().state_folder, "");
}

TEST_F(RunningStack, a_record_is_read_as_it_was_written) {
  const StackRecord record{
      .pid = 42, .url = "ipc:///x/b.sock", .children = {43, 44}, .paused = {"ann", "ben@host/r 1"}};
  write(record);
  EXPECT_EQ(read_record(lock_file_of(state())), record);
}

TEST_F(RunningStack, the_default_folder_follows_the_xdg_variables) {
  const auto folder = [](const std::string& state_home, const std::string& home) {
    return default_state_folder([=](const char* name) { return *name == 'X' ? state_home : home; });
  };
  EXPECT_EQ(folder("/s", "/h"), "/s/kq");
  EXPECT_EQ(folder("", "/h"), "/h/.local/state/kq");
  EXPECT_EQ(folder("", "").error().kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace kq::producer
