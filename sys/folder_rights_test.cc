#include "sys/folder_rights.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

namespace kq::sys {
namespace {

TEST(folder_rights, only_a_folder_that_every_user_may_write_into_is_refused) {
  std::string folder = ::testing::TempDir() + "kq-rights-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  for (const mode_t mode : {0700u, 0755u, 0775u}) {
    ASSERT_EQ(::chmod(folder.c_str(), mode), 0);
    EXPECT_TRUE(check_others_cannot_write(folder, "state folder")) << mode;
  }
  for (const mode_t mode : {0777u, 01777u}) {
    ASSERT_EQ(::chmod(folder.c_str(), mode), 0);
    const auto refused = check_others_cannot_write(folder, "state folder");
    ASSERT_FALSE(refused) << mode;
    EXPECT_EQ(refused.error().kind, ErrorKind::bad_input);
    EXPECT_TRUE(refused.error().message.starts_with("every user may write into the state folder " + folder));
  }
  ::rmdir(folder.c_str());
  EXPECT_TRUE(check_others_cannot_write(folder, "state folder")) << "a missing folder is made with narrow rights";
}

}  // namespace
}  // namespace kq::sys
