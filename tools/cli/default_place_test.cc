#include "tools/cli/default_place.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>

#include "net/endpoint.h"

namespace kq::tools {
namespace {

namespace fs = std::filesystem;

// A home folder, an environment, and whether a broker listens at the default URL.
class DefaultPlace : public testing::Test {
 protected:
  DefaultPlace() {
    std::string pattern = (fs::temp_directory_path() / "kq-test.XXXXXX").string();
    home_ = ::mkdtemp(pattern.data());
    variables_["XDG_STATE_HOME"] = home_.string();
  }
  ~DefaultPlace() override { fs::remove_all(home_); }

  void make_store(const std::string& folder = "kq") {
    fs::create_directories(home_ / folder / "store");
    std::ofstream(home_ / folder / "store/CURRENT") << "MANIFEST\n";
  }
  // Sets when a stack last used the folder.
  void use(const std::string& folder, fs::file_time_type at) {
    const std::string lock = producer::lock_file_of((home_ / folder).string());
    std::ofstream(lock, std::ios::app).flush();
    fs::last_write_time(lock, at);
  }
  Place place() const {
    return default_place({.environment = [this](const char* name) { return value(name); },
                          .is_listening = [this](const std::string&) { return listens_; }});
  }
  std::string value(const char* name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? "" : found->second;
  }

  fs::path home_;
  std::map<std::string, std::string> variables_;
  bool listens_ = false;
};

TEST_F(DefaultPlace, the_environment_names_a_broker_or_a_store) {
  make_store();
  variables_["KQ_STORE"] = "/srv/store";
  EXPECT_EQ(place().store, "/srv/store");
  variables_["KQ_BROKER"] = "tcp://host:1";
  EXPECT_EQ(place().broker, "tcp://host:1");
  EXPECT_EQ(place().store, "");
}

TEST_F(DefaultPlace, the_store_of_the_last_sweep_is_read_where_no_broker_listens) {
  EXPECT_EQ(place().broker, net::kDefaultBrokerUrl);
  make_store();
  EXPECT_EQ(place().store, (home_ / "kq/store").string());
  EXPECT_EQ(place().broker, "");
  listens_ = true;
  EXPECT_EQ(place().broker, net::kDefaultBrokerUrl);
}

TEST_F(DefaultPlace, the_broker_that_runs_in_the_state_folder_comes_first) {
  make_store();
  listens_ = true;
  auto held = StateFolder::take((home_ / "kq").string());
  ASSERT_TRUE(held);
  held->write({.pid = 7, .url = "ipc:///a/broker.sock", .children = {}});
  EXPECT_EQ(place().broker, "ipc:///a/broker.sock");
  held->clear();
}

TEST_F(DefaultPlace, the_store_that_was_used_last_is_read_where_no_broker_runs) {
  const auto environment = [this](const char* name) { return value(name); };
  make_store();
  make_store("up");
  record_last_up((home_ / "up").string(), environment);
  const auto now = fs::file_time_type::clock::now();
  use("kq", now - std::chrono::hours(2));
  use("up", now - std::chrono::hours(1));
  EXPECT_EQ(place().store, (home_ / "up/store").string());
  EXPECT_EQ(place().state_folder, (home_ / "up").string());
  use("kq", now);
  EXPECT_EQ(place().store, (home_ / "kq/store").string());
  EXPECT_EQ(idle_state_folders(environment),
            (std::vector<std::string>{(home_ / "kq").string(), (home_ / "up").string()}));
}

}  // namespace
}  // namespace kq::tools
