// KQ_CHECK(condition) aborts the process when an invariant of kq's own code is broken. It is active in every build.
// Data from a peer, a user or a child is never checked with it.
#pragma once

#include <cstdio>
#include <cstdlib>

#define KQ_CHECK(condition)                                                                  \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      std::fprintf(stderr, "%s:%d: broken invariant: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                          \
    }                                                                                        \
  } while (false)
