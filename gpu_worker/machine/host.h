// The machine that a worker runs on, as its results tell of it. Read once, by the worker itself: nothing of a job has a
// say in it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "core/result.h"

namespace kq::worker {

// Of an environment variable; empty where there is none.
using Environment = std::function<std::string(const char* name)>;

// `root` stands before every path that is read. What cannot be told stays empty.
Host host_below(const std::filesystem::path& root, const Environment& environment);

// Of this process.
Host this_host();

// Memory that this process may have with all that it starts: the machine's, or what its control group or one above it
// is limited to, as in a container.
std::uint64_t usable_memory_bytes(const std::filesystem::path& root = "/");

}  // namespace kq::worker
