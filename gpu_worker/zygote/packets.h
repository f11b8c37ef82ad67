// Reads the packets of the zygote and writes assignments for children (the protocol is in gpu_worker/zygote/zygote.h).
//
// The zygote runs kq's code only, but it is another process: an invalid packet is ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/plan.h"
#include "core/result.h"
#include "core/submission.h"

namespace kq::worker {

// The first packet of a zygote.
struct ZygoteHello {
  Software software;
  std::vector<Backend> backends;  // that work on this machine; unknown names are left out
  std::string compilers;          // the versions of this machine's compilers, in one line: part of every build's key
  std::string sandbox;            // the names of the sandbox layers that a child gets
  std::string toolchain;          // the compilers and headers of extensions: part of every extension's key
  std::vector<std::string> prefixes;  // that nearly every extension is compiled with, such as "extension-O1"
};
// Fails with the error text of a zygote that could not start, or with an empty text if the packet is invalid.
Expected<ZygoteHello> parse_zygote_hello(std::string_view packet);

// Every later packet: what happened to child `id`. A field that is missing or out of range is not set.
struct ChildStatus {
  std::uint64_t id = 0;
  std::optional<int> pid;   // the child was forked
  std::optional<int> exit;  // the child has ended with this wait status
  int left = 0;             // processes of the child that could not be killed
  std::string error;        // why the child was not forked
};
std::optional<ChildStatus> parse_child_status(std::string_view packet);

// Makes the packet that tells a pre-forked child what it is to be (harness/children/preforked.py). The files that it
// needs are in its src/.
std::string assignment(ChildRole role, const Submission& submission, const std::string& problem_file);

}  // namespace kq::worker
