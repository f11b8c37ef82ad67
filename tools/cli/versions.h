// The versions that decide what kq does on this machine: kq's own, and those of the packages that kq was built with.
#pragma once

#include <string>
#include <vector>

#include "tools/stack/state_folder.h"

namespace kq::tools {

struct VersionRow {
  std::string name;
  std::string version;  // empty when the package is absent
  std::string note;     // where the package was found, or why it is absent
};

std::vector<VersionRow> versions(const Environment& environment);

std::string versions_text(const std::vector<VersionRow>& rows);
std::string versions_json(const std::vector<VersionRow>& rows);

}  // namespace kq::tools
