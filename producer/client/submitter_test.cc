#include "producer/client/submitter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/submission.h"

namespace kq::producer {
namespace {

TEST(Submitter, is_this_user_on_this_host) {
  char host[256] = "";
  ASSERT_EQ(gethostname(host, sizeof host - 1), 0);
  EXPECT_TRUE(default_submitter().ends_with("@" + std::string(host))) << default_submitter();
  EXPECT_EQ(name_error(default_submitter()), std::nullopt);
  EXPECT_EQ(default_submitter(), default_submitter());
}

}  // namespace
}  // namespace kq::producer
