#include "gpu_worker/zygote/packets.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace kq::worker {
namespace {

using nlohmann::json;

std::string text_of(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Returns the texts of a list and leaves out its other values. The list is not copied: copying a value that is nested
// deep would overflow the stack.
std::vector<std::string> texts_of(const json& object, const char* name) {
  std::vector<std::string> texts;
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array()) return texts;
  for (const json& each : *found) {
    if (each.is_string()) texts.push_back(each.get<std::string>());
  }
  return texts;
}

std::optional<int> number_of(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() && !std::in_range<int>(found->get<std::uint64_t>())) return std::nullopt;
  if (!std::in_range<int>(found->get<std::int64_t>())) return std::nullopt;
  return found->get<int>();
}

}  // namespace

Expected<ZygoteHello> parse_zygote_hello(std::string_view packet) {
  const json hello = json::parse(packet, nullptr, false);
  if (!hello.is_object()) return our_fault("");
  if (!hello.contains("ready")) return our_fault(text_of(hello, "error"));
  ZygoteHello parsed;
  parsed.software.python = text_of(hello, "python");
  parsed.software.torch = text_of(hello, "torch");
  parsed.software.triton = text_of(hello, "triton");
  parsed.software.cuda = text_of(hello, "cuda");
  parsed.software.packages = text_of(hello, "packages");
  for (const std::string& name : texts_of(hello, "backends")) {
    if (const auto backend = parse_enum<Backend>(name)) parsed.backends.push_back(*backend);
  }
  parsed.compilers = text_of(hello, "compilers");
  parsed.sandbox = text_of(hello, "sandbox");
  parsed.toolchain = text_of(hello, "toolchain");
  parsed.prefixes = texts_of(hello, "prefixes");
  return parsed;
}

std::optional<ChildStatus> parse_child_status(std::string_view packet) {
  const json status = json::parse(packet, nullptr, false);
  if (!status.is_object()) return std::nullopt;
  const auto id = status.find("id");
  if (id == status.end() || !id->is_number_unsigned()) return std::nullopt;
  return ChildStatus{.id = id->get<std::uint64_t>(),
                     .pid = number_of(status, "pid"),
                     .exit = number_of(status, "exit"),
                     .left = number_of(status, "left").value_or(0),
                     .error = text_of(status, "error")};
}

std::string assignment(ChildRole role, const Submission& submission, const std::string& problem_file) {
  const bool has_entry = role != ChildRole::reference && role != ChildRole::calibrator && !submission.files.empty();
  return json{{"role", to_string(role == ChildRole::profile ? ChildRole::submission : role)},
              {"backend", to_string(submission.backend)},
              {"entry", has_entry ? submission.files.front().name : ""},
              {"problem", problem_file},
              {"precision", to_string(submission.problem.precision)}}
      .dump();
}

}  // namespace kq::worker
