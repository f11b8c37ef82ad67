#include "sys/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace kq::sys {

void open_standard_descriptors() {
  // The kernel gives the lowest free number, so the descriptors are opened in their order.
  for (int number = 0; number <= STDERR_FILENO; ++number) {
    if (::fcntl(number, F_GETFD) >= 0) continue;
    if (::open("/dev/null", number == STDERR_FILENO ? O_WRONLY : O_RDONLY) != number) return;
  }
}

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
