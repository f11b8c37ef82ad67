#include "tools/stack/state_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "net/endpoint.h"
#include "tools/stack/fake_programs.h"

namespace kq::tools {
namespace {

using ::testing::HasSubstr;

Environment environment(const std::string& state_home, const std::string& home, const std::string& runtime = "") {
  return [=](const char* name) {
    const std::string wanted = name;
    return wanted == "XDG_STATE_HOME"    ? state_home
           : wanted == "HOME"            ? home
           : wanted == "XDG_RUNTIME_DIR" ? runtime
                                         : "";
  };
}

TEST(state_folder, is_created_for_its_owner_alone) {
  const TestFolder folder;
  const auto state = StateFolder::take(folder.file("a/b"));
  ASSERT_TRUE(state) << state.error().message;
  struct stat status {};
  ASSERT_EQ(::stat(state->path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST(state_folder, is_refused_where_others_may_write_into_it) {
  const TestFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  const auto state = StateFolder::take(folder.path());
  ASSERT_FALSE(state);
  EXPECT_THAT(state.error().message, HasSubstr("every user may write into the state folder " + folder.path()));
}

TEST(state_folder, may_be_a_new_relative_path) {
  const TestFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const auto state = StateFolder::take("fresh");
  std::filesystem::current_path(before);
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_TRUE(std::filesystem::is_directory(folder.file("fresh")));
  EXPECT_EQ(state->path(), std::filesystem::canonical(folder.file("fresh")));  // for readers in other folders
}

TEST(state_folder, has_one_holder_whose_record_can_be_read) {
  const TestFolder folder;
  EXPECT_EQ(holder_of(folder.path()), std::nullopt);
  {
    auto state = StateFolder::take(folder.path());
    ASSERT_TRUE(state);
    const StackRecord record{
        .pid = 42, .url = "ipc:///x/broker.sock", .children = {43, 44}, .paused = {"ann", "ben@host/r 1"}};
    state->write(record);
    EXPECT_EQ(holder_of(folder.path()), record);
    const auto second = StateFolder::take(folder.path());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::bad_input);
    EXPECT_THAT(second.error().message, HasSubstr("in use by process 42, its broker is --broker ipc:///x/broker.sock"));
  }
  EXPECT_EQ(holder_of(folder.path()), std::nullopt);
}

TEST(state_folder, the_record_of_an_unclean_end_is_returned) {
  const TestFolder folder;
  const StackRecord record{.pid = 42, .url = "", .children = {43}};
  { StateFolder::take(folder.path())->write(record); }
  EXPECT_EQ(StateFolder::take(folder.path())->stale_record(), record);
  {
    auto state = StateFolder::take(folder.path());
    state->write(record);
    state->clear();
  }
  EXPECT_EQ(StateFolder::take(folder.path())->stale_record(), std::nullopt);
}

TEST(state_folder, a_path_that_cannot_be_created_is_bad_input) {
  const TestFolder folder;
  folder.write("file", "");
  EXPECT_EQ(StateFolder::take(folder.file("file")).error().kind, ErrorKind::bad_input);
  EXPECT_EQ(StateFolder::take("").error().kind, ErrorKind::bad_input);
}

TEST(state_folder, the_private_endpoint_fits_into_a_socket_address) {
  const TestFolder folder;
  EXPECT_EQ(private_endpoint("/short", environment("", ""))->url, "ipc:///short/broker.sock");

  const std::string deep = folder.path() + "/" + std::string(90, 'd');
  const auto endpoint = private_endpoint(deep, environment("", "", folder.path()));
  ASSERT_TRUE(endpoint) << endpoint.error().message;
  EXPECT_TRUE(net::parse_broker_url(endpoint->url)) << endpoint->url;
  EXPECT_THAT(endpoint->created_folder, HasSubstr(folder.path() + "/kq-"));

  const auto without_runtime_folder = private_endpoint(deep, environment("", "", deep));
  ASSERT_TRUE(without_runtime_folder);
  EXPECT_TRUE(net::parse_broker_url(without_runtime_folder->url));
  std::filesystem::remove(without_runtime_folder->created_folder);
}

}  // namespace
}  // namespace kq::tools
