#include "sys/error_text.h"

#include <gtest/gtest.h>

namespace kq::sys {
namespace {

TEST(ErrorText, names_the_action_and_the_error) {
  EXPECT_EQ(error_text(ENOENT), "No such file or directory");
  EXPECT_EQ(error_text("cannot open a", EACCES), "cannot open a: Permission denied");
  errno = EEXIST;
  EXPECT_EQ(error_text("cannot make b"), "cannot make b: File exists");
}

TEST(ErrorText, an_unknown_number_has_a_text) {
  EXPECT_EQ(error_text(99'999), "unknown error 99999");
}

}  // namespace
}  // namespace kq::sys
