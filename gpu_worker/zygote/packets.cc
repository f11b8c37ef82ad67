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
  ZygoteHello said;
  said.software.python = text_of(hello, "python");
  said.software.torch = text_of(hello, "torch");
  said.software.triton = text_of(hello, "triton");
  said.software.cuda = text_of(hello, "cuda");
  said.software.packages = text_of(hello, "packages");
  for (const json& name : hello.value("backends", json::array())) {
    const auto backend = name.is_string() ? parse_enum<Backend>(name.get<std::string>()) : std::nullopt;
    if (backend) said.backends.push_back(*backend);
  }
  said.compilers = text_of(hello, "compilers");
  said.sandbox = text_of(hello, "sandbox");
  return said;
}

std::optional<ZygoteNews> parse_zygote_news(std::string_view packet) {
  const json news = json::parse(packet, nullptr, false);
  if (!news.is_object()) return std::nullopt;
  const auto id = news.find("id");
  if (id == news.end() || !id->is_number_unsigned()) return std::nullopt;
  return ZygoteNews{.id = id->get<std::uint64_t>(),
                    .pid = number_of(news, "pid"),
                    .exit = number_of(news, "exit"),
                    .left = number_of(news, "left").value_or(0),
                    .error = text_of(news, "error")};
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
