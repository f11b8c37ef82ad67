#include "producer/client/submitter.h"

#include <pwd.h>
#include <unistd.h>

#include "core/submission.h"

namespace kq::producer {

std::string default_submitter() {
  // The user of a container may have no entry in its passwd file.
  const passwd* user = ::getpwuid(::geteuid());
  const std::string name = user != nullptr ? user->pw_name : "uid" + std::to_string(::geteuid());
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const std::string submitter = name + "@" + host;
  return name_error(submitter) ? name : submitter;
}

}  // namespace kq::producer
