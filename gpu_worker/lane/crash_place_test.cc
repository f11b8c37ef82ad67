#include "gpu_worker/lane/crash_place.h"

#include <gtest/gtest.h>

namespace kq::worker {
namespace {

const std::vector<SourceFile> kFiles{{.name = "new.py", .hash = {}}};

TEST(CrashPlace, is_the_line_of_the_submission) {
  EXPECT_EQ(crash_place("hello\nFatal Python error: Segmentation fault\n\n"
                        "Current thread 0x00007f (most recent call first):\n"
                        "  File \"/opt/lib/python3.11/ctypes/__init__.py\", line 519 in string_at\n"
                        "  File \"/home/src/new.py\", line 7 in forward\n",
                        kFiles),
            "new.py:7");
}

TEST(CrashPlace, is_empty_where_the_log_does_not_tell) {
  EXPECT_EQ(crash_place("", kFiles), "");
  EXPECT_EQ(crash_place("  File \"/home/src/new.py\", line 7 in forward\n", kFiles), "");
  EXPECT_EQ(crash_place("Fatal Python error: Bus error", kFiles), "");
}

TEST(MessagePlace, is_the_place_of_the_submission_at_the_end_of_the_message) {
  EXPECT_EQ(message_place("TypeError: no (new) value (new.py:12)", kFiles), "new.py:12");
  EXPECT_EQ(message_place("TypeError: (other.py:12)", kFiles), "");
  EXPECT_EQ(message_place("TypeError: (new.py:12) is gone", kFiles), "");
  EXPECT_EQ(message_place("TypeError: (new.py)", kFiles), "");
  EXPECT_EQ(message_place("TypeError: (new.py:)", kFiles), "");
  EXPECT_EQ(message_place("", kFiles), "");
  EXPECT_EQ(message_place("TypeError (k.py:3)", {{.name = "sub/k.py", .hash = {}}}), "k.py:3");
}

}  // namespace
}  // namespace kq::worker
