#include "net/zmq/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <zmq.hpp>

namespace kq::net {
namespace {

TEST(ZmqKeys, make_key_pair_returns_a_new_valid_pair_each_time) {
  const KeyPair pair = make_key_pair();
  char public_key[kKeyChars + 1];
  ASSERT_EQ(zmq_curve_public(public_key, pair.secret_key.c_str()), 0);
  EXPECT_EQ(pair.public_key, public_key);
  EXPECT_NE(make_key_pair().secret_key, pair.secret_key);
}

TEST(ZmqKeys, an_issued_key_is_authorized_at_once) {
  std::string pattern = "/tmp/kq-keys.XXXXXX";
  const std::string folder = mkdtemp(pattern.data());
  const std::string keys = folder + "/keys";
  const Identity alice{"alice", Role::submit};
  const auto key = issue_key(keys, alice, folder + "/alice.key");
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(*read_client_key(folder + "/alice.key"), *key);
  EXPECT_EQ(*read_authorized(keys)->find(key->own.public_key), alice);
  EXPECT_EQ(key->broker_key, read_broker_key(keys)->public_key);

  // The second key is for the same broker, and a key with an invalid name leaves no file.
  EXPECT_EQ(issue_key(keys, {"w", Role::work}, folder + "/w.key")->broker_key, key->broker_key);
  EXPECT_FALSE(issue_key(keys, {"", Role::work}, folder + "/x.key"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/x.key"));
  EXPECT_FALSE(issue_key(keys, {"again", Role::work}, folder + "/w.key"));
  EXPECT_EQ(read_authorized(keys)->size(), 2u);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace kq::net
