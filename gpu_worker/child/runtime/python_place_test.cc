#include "gpu_worker/child/runtime/python_place.h"

#include <gtest/gtest.h>

namespace kq::runtime {
namespace {

TEST(python_place, is_empty_without_python) {
  EXPECT_EQ(python_place(), "");
}

TEST(place_in_traceback, is_the_innermost_frame_that_is_no_librarys) {
  EXPECT_EQ(place_in_traceback("  File \"/opt/venv/lib/python3.12/site-packages/torch/cuda/streams.py\", line 35 in f\n"
                               "  File \"/kq/src/new.py\", line 12 in forward\n"
                               "  File \"/kq/src/new.py\", line 3 in <module>\n"),
            "/kq/src/new.py:12");
  EXPECT_EQ(place_in_traceback("  File \"/usr/share/kq/harness/children/child.py\", line 3 in serve\n"), "");
  EXPECT_EQ(place_in_traceback("  File \"<string>\", line 1 in <module>\n  ...\n"), "<string>:1");
}

TEST(place_in_traceback, bears_any_text) {
  for (const char* text :
       {"", "\n\n", "  File \"", "  File \"x", "  File \"x\", line", "Stack (most recent call first):"})
    EXPECT_EQ(place_in_traceback(text), "") << text;
  EXPECT_EQ(place_in_traceback("  File \"a\tb\", line 4\n"), "a_b:4");
}

}  // namespace
}  // namespace kq::runtime
