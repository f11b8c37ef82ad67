#include "broker/jobs/ownership.h"

#include <gtest/gtest.h>

#include "broker/script/script.h"
#include "core/codec/codec.h"
#include "store/keys.h"
#include "store/memory_store.h"

namespace kq::broker {
namespace {

Caller caller_of(const std::string& name, Role role) {
  return {.peer = "c", .request_id = 1, .identity = {.name = name, .role = role}};
}

TEST(Ownership, a_row_is_read_by_those_whom_it_concerns) {
  const RunOwner owner{.owner = "ada", .shared = {"zoe"}};
  EXPECT_TRUE(may_read(caller_of("", Role::admin), owner, "bob"));
  EXPECT_TRUE(may_read(caller_of("root", Role::admin), owner, "bob"));
  EXPECT_TRUE(may_read(caller_of("bob", Role::submit), owner, "bob"));
  EXPECT_TRUE(may_read(caller_of("ada", Role::submit), owner, "bob"));
  EXPECT_TRUE(may_read(caller_of("zoe", Role::submit), owner, "bob"));
  EXPECT_FALSE(may_read(caller_of("eve", Role::submit), owner, "bob"));
  EXPECT_FALSE(may_read(caller_of("eve", Role::submit), std::nullopt, ""));
  EXPECT_TRUE(may_read(caller_of("web", Role::gateway), RunOwner{.owner = "web/ada", .shared = {}}, "bob"));
  EXPECT_FALSE(may_read(caller_of("web", Role::submit), RunOwner{.owner = "web/ada", .shared = {}}, "bob"));
}

// A store of an earlier kq has rows and no owners.
TEST(Ownership, a_run_without_an_owner_on_disk_belongs_to_the_submitter_of_its_first_row) {
  store::MemoryStore store;
  Script script(store);
  script.run("submit user=ada run=old jobs=b");
  const store::Write forgotten{store::Family::owner, "old", std::nullopt};
  ASSERT_TRUE(store.commit(std::span(&forgotten, 1)));
  script.run("start");
  EXPECT_NE(script.run("submit user=bob run=old jobs=a").find("belongs to ada"), std::string::npos);
  EXPECT_NE(script.run("submit user=ada run=old jobs=a").find("accepted"), std::string::npos);
  const auto bytes = store.get(store::Family::owner, "old");
  ASSERT_TRUE(bytes && *bytes);
  EXPECT_EQ(decode<RunOwner>(**bytes)->owner, "ada");
}

TEST(Ownership, the_senders_of_a_file_go_with_it) {
  store::MemoryStore store;
  Script script(store);
  script.run("start keep_ms=1000 keep_ms_min=1000 file_sweep_interval_ms=1000 retention_pause_ms=1000");
  script.run("submit user=ada jobs=a");
  script.run("hello worker=w");
  script.run("result worker=w leases=1/1 verdict=wrong_answer");
  ASSERT_TRUE(*store.get(store::Family::sender, store::sender_key(sha256("a"), "ada")));
  for (int i = 0; i < 20; ++i) script.run("advance ms=5000");
  EXPECT_FALSE(*store.get(store::Family::blob, store::hash_key(sha256("a"))));
  EXPECT_FALSE(*store.get(store::Family::sender, store::sender_key(sha256("a"), "ada")));
}

}  // namespace
}  // namespace kq::broker
