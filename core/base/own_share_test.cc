#include "core/base/own_share.h"

#include <gtest/gtest.h>

namespace kq {
namespace {

TEST(own_share, the_submitter_behind_its_name_is_found) {
  EXPECT_EQ(submitter_behind(own_share_name("ann@lab", "monday"), "monday"), "ann@lab");
  EXPECT_EQ(submitter_behind(own_share_name("ann@lab", "a/b"), "a/b"), "ann@lab");
  EXPECT_TRUE(is_submitter("ann@lab", "ann@lab/monday", "monday"));
  EXPECT_TRUE(is_submitter("ann@lab/monday", "ann@lab/monday", "monday"));
  EXPECT_TRUE(is_submitter("ann@lab", "ann@lab", "monday"));
}

TEST(own_share, other_names_are_unchanged) {
  EXPECT_EQ(submitter_behind("ann@lab", "monday"), "ann@lab");
  EXPECT_EQ(submitter_behind("web/ada", "ada/monday"), "web/ada");  // of a gateway
  EXPECT_EQ(submitter_behind("ann@lab/monday", "tuesday"), "ann@lab/monday");
  EXPECT_EQ(submitter_behind("team/monday", "monday"), "team/monday");  // of a key
  EXPECT_EQ(submitter_behind("monday", "monday"), "monday");
  EXPECT_EQ(submitter_behind("/monday", "monday"), "/monday");
  EXPECT_EQ(submitter_behind("ann@lab/", ""), "ann@lab/");
  EXPECT_FALSE(is_submitter("ann", "ann@lab/monday", "monday"));
  EXPECT_FALSE(is_submitter("web", "web/ada", "ada/monday"));
}

}  // namespace
}  // namespace kq
