#include "sys/folder_rights.h"

#include <sys/stat.h>

namespace kq::sys {

Expected<void> check_others_cannot_write(const std::string& folder, const std::string& what) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || (status.st_mode & S_IWOTH) == 0) return {};
  return bad_input("every user may write into the " + what + " " + folder +
                   ", so another user could replace what is kept there; run chmod o-w on it, or name another folder");
}

}  // namespace kq::sys
