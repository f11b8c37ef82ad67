#include "tools/ctl/keeping.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tools/ctl/scripted_world.h"

namespace kq {
namespace {

TEST(ctl_keeping, a_backup_goes_where_it_is_told_by_its_whole_name) {
  ScriptedWorld kq;
  kq.on<Backup>([](const Backup& backup) { return backup.dir == "/full" ? ClientReply(Refused{"/full: not empty"}) : ClientReply(Done{}); });
  EXPECT_EQ(kq.run({"backup", "/safe/monday"}), 0);
  EXPECT_EQ(kq.out.str(), "the store as of now is in /safe/monday\n");
  EXPECT_EQ(kq.run({"backup", "tuesday", "--json"}), 0);
  EXPECT_EQ(kq.asked<Backup>().at(1).dir, (std::filesystem::current_path() / "tuesday").string());
  EXPECT_EQ(kq.run({"backup", "/full"}), 2);
  EXPECT_EQ(kq.err.str(), "kq-ctl backup: /full: not empty\n");
}

}  // namespace
}  // namespace kq
