#include "tools/ctl/keygen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/keys.h"
#include "tools/ctl/scripted_world.h"
#include "tools/stack/fake_programs.h"

namespace kq::tools {
namespace {

using testing::HasSubstr;

TEST(ctl_keygen, issues_authorizes_and_revokes_a_key) {
  TestFolder folder;
  ScriptedWorld kq;
  const std::string keys = folder.file("keys");
  const std::string file = folder.file("ann.key");
  EXPECT_EQ(kq.run({"keygen", "--keys", keys.c_str(), "--name", "ann", "--role", "submit", "-o", file.c_str()}), 0)
      << kq.err.str();
  EXPECT_THAT(kq.out.str(), HasSubstr("ann.key is the key of 'ann', role submit"));
  const auto key = net::read_client_key(file);
  ASSERT_TRUE(key);
  EXPECT_EQ(key->who, (Identity{"ann", Role::submit}));
  EXPECT_NE(net::read_authorized(keys)->find(key->own.public_key), nullptr);

  EXPECT_EQ(kq.run({"keygen", "--keys", keys.c_str(), "--name", "ann", "--role", "submit", "-o", file.c_str()}), 2)
      << "an existing file is never replaced";
  EXPECT_EQ(kq.run({"keygen", "--keys", keys.c_str(), "--revoke", "ann", "--json"}), 0);
  EXPECT_THAT(kq.out.str(), HasSubstr("{\"name\": \"ann\", \"revoked\": [{\"role\": \"submit\", \"public_key\": "));
  EXPECT_EQ(net::read_authorized(keys)->find(key->own.public_key), nullptr);
  EXPECT_EQ(kq.run({"keygen", "--keys", keys.c_str(), "--revoke", "ann"}), 2);
}

TEST(ctl_keygen, missing_flags_are_named) {
  ScriptedWorld kq;
  EXPECT_EQ(kq.run({"keygen", "--name", "ann"}), 2);
  EXPECT_EQ(kq.err.str(), "kq-ctl keygen: --keys DIR is needed, the broker's folder of keys\n");
  EXPECT_EQ(kq.run({"keygen", "--keys", "/tmp/x", "--name", "ann"}), 2);
  EXPECT_EQ(kq.err.str(), "kq-ctl keygen: --name NAME and --role submit, work, admin, gateway or standby are needed\n");
  EXPECT_EQ(kq.run({"keygen", "--keys", "/tmp/x", "--name", "../ann", "--role", "submit"}), 2);
  EXPECT_EQ(kq.err.str(),
            "kq-ctl keygen: --name '../ann' cannot be a file name; name the file of the key with -o FILE\n");
}

}  // namespace
}  // namespace kq::tools
