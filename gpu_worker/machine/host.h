// Reads the facts about the worker's machine that every result contains. The worker reads them once, at its start, so
// jobs have no influence on them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "core/result.h"

namespace kq::worker {

// Returns the value of an environment variable, empty if it is not set.
using Environment = std::function<std::string(const char* name)>;

// Reads the facts with `root` before every path, for tests. A fact that cannot be read stays empty.
Host host_below(const std::filesystem::path& root, const Environment& environment);

// Reads the facts about this machine.
Host this_host();

// Returns the bytes of memory that this process and its descendants may use together: those of the machine, or the
// smallest limit of its control group and those above it, as in a container.
std::uint64_t usable_memory_bytes(const std::filesystem::path& root = "/");

}  // namespace kq::worker
