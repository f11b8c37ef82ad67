// KQ_CHECK states a promise of our own code; it is always on. Never use it for data from a peer, a user or a child.
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
