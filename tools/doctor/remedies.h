// The lines that bring what is missing, for each way in which kq is installed.
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/doctor.h"

namespace kq::tools {

// packages: Debian packages, below /usr. checkout: built in build/PRESET of a checkout. tree: any other folder, such as
// that of scripts/bundle or of cmake --install.
enum class Installation { packages, checkout, tree };

// Tells by the folder of the programs how they were installed.
Installation installation_of(const std::string& program_folder);

// Returns a line that brings a Python with torch and triton, the program `name`, or a C++ compiler.
std::string torch_remedy(Installation installation);
std::string program_remedy(Installation installation, const std::string& name);
std::string compiler_remedy(Installation installation);

// Returns a finding for each program that is not in `program_folder` but in another package: bad for kq-worker; good
// for kq-broker and kq-gateway, which a host of workers does not need.
std::vector<Finding> missing_programs(const std::string& program_folder);

}  // namespace kq::tools
