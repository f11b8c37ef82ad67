// What the zygote says, read from its packets (the protocol is in gpu_worker/zygote/zygote.h). The zygote runs our code
// only, but it is another process: a packet that is none of these says nothing.
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

// The first packet.
struct ZygoteHello {
  Software software;
  std::vector<Backend> backends;  // whose compilers are there; names that are not known are left out
  std::string compilers;          // of this machine, in one line: part of every build's key
  std::string sandbox;            // the layers that a child gets, by name
};
// An Error carries the sentence of a zygote that could not start; it is empty where the packet is none.
Expected<ZygoteHello> parse_zygote_hello(std::string_view packet);

// Every later one: how child `id` fares. What is not said, or does not fit, is not there.
struct ZygoteNews {
  std::uint64_t id = 0;
  std::optional<int> pid;   // forked
  std::optional<int> exit;  // gone, with this wait status
  int left = 0;             // of its processes that would not go
  std::string error;        // not forked, and why
};
std::optional<ZygoteNews> parse_zygote_news(std::string_view packet);

// What a child that waits is to be, in a packet to it (harness/ready.py); what it needs besides lies in its src/.
std::string assignment(ChildRole role, const Submission& submission, const std::string& problem_file);

}  // namespace kq::worker
