#include "net/keys.h"

#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace kq::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Returns a string that has the form of a key; only ZeroMQ would refuse it.
std::string key_of(char c) {
  return std::string(kKeyChars - 1, c) + "#";
}

class Keys : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/kq-keys.XXXXXX";
    folder_ = mkdtemp(pattern.data());
    keys_ = folder_ + "/keys";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write(const std::string& path, const std::string& text, mode_t mode = 0600) {
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
  }
  static mode_t mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
  }
  template <class T>
  static std::string error_of(const Expected<T>& result) {
    if (result) return "accepted";
    EXPECT_EQ(result.error().kind, ErrorKind::bad_input);
    return result.error().message;
  }
  std::string parse_error_of(const std::string& text) { return error_of(Authorized::parse(text, "list")); }

  const ClientKey alice_{{"alice b", Role::submit}, {key_of('a'), key_of('A')}, key_of('k')};
  std::string folder_;
  std::string keys_;
};

TEST_F(Keys, a_new_folder_authorizes_no_key) {
  const KeyPair pair{key_of('p'), key_of('s')};
  ASSERT_TRUE(make_key_folder(keys_, pair));
  EXPECT_EQ(*read_broker_key(keys_), pair);
  EXPECT_EQ(read_authorized(keys_)->size(), 0u);
  EXPECT_EQ(mode_of(keys_), 0700u);
  EXPECT_EQ(mode_of(broker_key_path(keys_)), 0600u);
}

TEST_F(Keys, a_folder_with_a_key_is_not_made_again) {
  ASSERT_TRUE(make_key_folder(keys_, {key_of('p'), key_of('s')}));
  EXPECT_THAT(error_of(make_key_folder(keys_, {key_of('q'), key_of('t')})),
              HasSubstr("broker.key: cannot be written: File exists"));
  EXPECT_EQ(read_broker_key(keys_)->public_key, key_of('p'));
}

TEST_F(Keys, a_written_client_key_is_read_back_unchanged) {
  const std::string path = folder_ + "/alice.key";
  ASSERT_TRUE(write_client_key(path, alice_));
  EXPECT_EQ(*read_client_key(path), alice_);
  EXPECT_EQ(mode_of(path), 0600u);
  EXPECT_THAT(text_of(path), testing::StartsWith("kq client key 1\n# The holder of this file is 'alice b'"));
  EXPECT_THAT(error_of(write_client_key(path, alice_)), HasSubstr("File exists"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1) << "a temporary file was left";
}

TEST_F(Keys, a_secret_that_others_can_read_is_refused) {
  const std::string path = folder_ + "/alice.key";
  ASSERT_TRUE(write_client_key(path, alice_));
  for (const mode_t mode : {0640u, 0604u, 0660u}) {
    ::chmod(path.c_str(), mode);
    EXPECT_THAT(error_of(read_client_key(path)),
                HasSubstr(path + " holds a secret and others than its owner may use it; chmod 600 it"));
  }
  ASSERT_TRUE(make_key_folder(keys_, {key_of('p'), key_of('s')}));
  ::chmod(broker_key_path(keys_).c_str(), 0644);
  EXPECT_THAT(error_of(read_broker_key(keys_)), HasSubstr("holds a secret"));
}

TEST_F(Keys, a_secret_of_root_may_be_read_by_the_group_of_the_process) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a file of root and take another id";
  constexpr uid_t kOther = 54321;
  const std::string path = folder_ + "/alice.key";
  ASSERT_TRUE(write_client_key(path, alice_));
  ASSERT_EQ(::chown(path.c_str(), 0, kOther), 0);
  std::filesystem::permissions(folder_, std::filesystem::perms::others_exec, std::filesystem::perm_options::add);
  for (const auto& [mode, accepted] :
       {std::pair<mode_t, bool>{0440, true}, {0640, true}, {0444, false}, {0660, false}}) {
    ::chmod(path.c_str(), mode);
    const pid_t child = ::fork();
    if (child == 0) {
      const bool became = ::setgroups(0, nullptr) == 0 && ::setgid(kOther) == 0 && ::setuid(kOther) == 0;
      ::_exit(became && read_client_key(path).has_value() == accepted ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "mode " << std::oct << mode;
  }
}

TEST_F(Keys, a_list_that_others_can_write_is_refused) {
  ASSERT_TRUE(make_key_folder(keys_, {key_of('p'), key_of('s')}));
  ::chmod(authorized_path(keys_).c_str(), 0664);
  EXPECT_THAT(error_of(read_authorized(keys_)), HasSubstr("others than its owner may write it"));
}

TEST_F(Keys, a_file_that_is_not_a_key_is_refused_with_a_reason) {
  const std::string path = folder_ + "/x.key";
  EXPECT_THAT(error_of(read_client_key(path)), HasSubstr("x.key: No such file"));
  EXPECT_THAT(error_of(read_client_key(folder_)), HasSubstr("is not a file"));
  write(path, "-----BEGIN\n");
  EXPECT_THAT(error_of(read_client_key(path)), HasSubstr("its first line is not 'kq client key 1'"));
  write(path, std::string(kKeyFileBytesMax + 1, 'x'));
  EXPECT_THAT(error_of(read_client_key(path)), HasSubstr("is longer than 4096 bytes"));
  write(path, "kq client key 1\nname a\nrole submit\npublic " + key_of('a') + "\nbroker " + key_of('a') + "\n");
  EXPECT_THAT(error_of(read_client_key(path)), HasSubstr("has no line 'secret ...'"));
  write(path, "kq client key 1\nname a\nname b\n");
  EXPECT_THAT(error_of(read_client_key(path)), HasSubstr("'name' is given twice"));
  write(path, "kq client key 1\nnom a\n");
  EXPECT_THAT(error_of(read_client_key(path)), HasSubstr("'nom' is no field"));
  write(path, "kq client key 1\nname a\nrole king\npublic x\nsecret x\nbroker x\n");
  EXPECT_THAT(error_of(read_client_key(path)),
              HasSubstr("role must be one of submit, work, admin, gateway, standby, got 'king'"));
  write(path, "kq client key 1\nname a\nrole work\npublic x\nsecret x\nbroker x\n");
  EXPECT_THAT(error_of(read_client_key(path)), HasSubstr("a key is 40 characters of Z85, got 1"));
}

TEST_F(Keys, the_list_may_hold_comments_and_names_with_spaces) {
  const auto list =
      Authorized::parse("# people\n\nsubmit alice b " + key_of('a') + "\r\nadmin root " + key_of('r'), "list");
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(*list->find(key_of('a')), (Identity{"alice b", Role::submit}));
  EXPECT_EQ(*list->find(key_of('r')), (Identity{"root", Role::admin}));
  EXPECT_EQ(list->find(key_of('x')), nullptr);
  EXPECT_EQ(list->find(""), nullptr);
}

TEST_F(Keys, an_invalid_line_is_reported_by_number) {
  EXPECT_THAT(parse_error_of("# x\nsubmit alice\n"), HasSubstr("list:2: 'role name public-key' is needed"));
  EXPECT_THAT(parse_error_of("king alice " + key_of('a')), HasSubstr("list:1: role must be one of"));
  EXPECT_THAT(parse_error_of("work  w " + key_of('a')), HasSubstr("begins or ends with a space"));
  EXPECT_THAT(parse_error_of("work w\x01 " + key_of('a')), HasSubstr("control character"));
  EXPECT_THAT(parse_error_of("work w " + std::string(kKeyChars, '~')), HasSubstr("of which some are not"));
  const std::string line = "work w " + key_of('a') + "\n";
  EXPECT_THAT(parse_error_of(line + line), HasSubstr("list:2: this key is listed twice"));
}

TEST_F(Keys, authorize_adds_a_line_and_revoke_removes_it) {
  ASSERT_TRUE(make_key_folder(keys_, {key_of('p'), key_of('s')}));
  const std::string empty = text_of(authorized_path(keys_));
  ASSERT_TRUE(authorize(keys_, {{"alice", Role::submit}, key_of('a')}));
  ASSERT_TRUE(authorize(keys_, {{"bob", Role::work}, key_of('b')}));
  ASSERT_TRUE(authorize(keys_, {{"alice", Role::admin}, key_of('c')}));
  EXPECT_EQ(text_of(authorized_path(keys_)), empty + "submit alice " + key_of('a') + "\nwork bob " + key_of('b') +
                                                 "\nadmin alice " + key_of('c') + "\n");
  EXPECT_EQ(revoke(keys_, "alice")->size(), 2u);
  EXPECT_EQ(text_of(authorized_path(keys_)), empty + "work bob " + key_of('b') + "\n");
  EXPECT_THAT(error_of(revoke(keys_, "alice")), HasSubstr("has no key of 'alice'"));
}

TEST_F(Keys, a_list_that_the_broker_could_not_read_is_not_written) {
  ASSERT_TRUE(make_key_folder(keys_, {key_of('p'), key_of('s')}));
  const std::string before = text_of(authorized_path(keys_));
  EXPECT_THAT(error_of(authorize(keys_, {{"a\nadmin b", Role::submit}, key_of('a')})), HasSubstr("control character"));
  EXPECT_THAT(error_of(authorize(keys_, {{"a", Role::submit}, "short"})), HasSubstr("40 characters"));
  EXPECT_EQ(text_of(authorized_path(keys_)), before);
}

}  // namespace
}  // namespace kq::net
