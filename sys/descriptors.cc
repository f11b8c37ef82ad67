#include "sys/descriptors.h"

#include <sys/resource.h>

#include <algorithm>

namespace kq::sys {

std::size_t connections_possible(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  const rlim_t needed = wanted + kDescriptorsKept;
  if (limit.rlim_cur < needed) {
    limit.rlim_cur = std::min(needed, limit.rlim_max);
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
    (void)::getrlimit(RLIMIT_NOFILE, &limit);
  }
  const rlim_t kept = std::min<rlim_t>(kDescriptorsKept, limit.rlim_cur / 2);
  return std::min<std::size_t>(wanted, limit.rlim_cur - kept);
}

}  // namespace kq::sys
