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

}  // namespace
}  // namespace kq::worker
