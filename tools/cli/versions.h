// Every version that decides what kq does here: its own, and those of the packages it was built with.
#pragma once

#include <string>
#include <vector>

#include "tools/stack/state_folder.h"

namespace kq::tools {

struct VersionRow {
  std::string name;
  std::string version;  // empty: absent
  std::string note;     // where it was found, or why it is absent
};

std::vector<VersionRow> versions(const Environment& environment);

std::string versions_text(const std::vector<VersionRow>& rows);
std::string versions_json(const std::vector<VersionRow>& rows);

}  // namespace kq::tools
