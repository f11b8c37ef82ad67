#include "gpu_worker/build/extension.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/limits.h"
#include "gpu_worker/build/outcome.h"
#include "guard/guard.h"

namespace kq {
namespace {

using nlohmann::json;

constexpr int kDepthMax = 8;

std::string text_at(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool flag_at(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::vector<std::string> texts_at(const json& object, const char* name) {
  std::vector<std::string> texts;
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array()) return texts;
  for (const json& text : *found) {
    if (text.is_string()) texts.push_back(text.get<std::string>());
  }
  return texts;
}

std::string label(const std::string& what, std::size_t i, std::size_t n) { return n == 1 ? what : what + "[" + std::to_string(i) + "]"; }

void add_sources(ExtensionCall& call, const std::string& what, const std::vector<std::string>& texts) {
  for (std::size_t i = 0; i < texts.size(); ++i) call.sources.emplace_back(label(what, i, texts.size()), texts[i]);
}

ExtensionCall call_of(json object, std::string key) {
  ExtensionCall call;
  call.key = std::move(key);
  call.name = text_at(object, "name");
  call.place = text_at(object, "place").substr(0, kNameBytesMax);
  call.with_cuda = flag_at(object, "with_cuda");
  const auto cpp = texts_at(object, "cpp");
  const auto cuda = texts_at(object, "cuda");
  call.has_cuda_sources = !cuda.empty();
  const auto has_loop = [](const std::string& text) { return text.find("for") != std::string::npos || text.find("while") != std::string::npos; };
  call.has_loops = std::any_of(cpp.begin(), cpp.end(), has_loop);
  add_sources(call, "cpp_sources", cpp);
  add_sources(call, "cuda_sources", cuda);
  if (const auto files = object.find("files"); files != object.end() && files->is_array()) {
    for (const json& file : *files) {
      if (!file.is_array() || file.size() != 2 || !file[0].is_string() || !file[1].is_string()) continue;
      call.sources.emplace_back(file[0].get<std::string>(), file[1].get<std::string>());
      call.has_cuda_sources = call.has_cuda_sources || call.sources.back().first.ends_with(".cu");
    }
  }
  call.uses_torch = flag_at(object, "inline") && flag_at(object, "implicit_headers");
  for (const auto& [name, text] : call.sources) {
    for (const char* header : {"torch/", "ATen/", "c10/", "pybind11/"}) call.uses_torch = call.uses_torch || text.find(header) != std::string::npos;
  }
  for (const char* kind : {"cflags", "cuda_cflags", "ldflags"}) {
    for (const std::string& flag : texts_at(object, kind)) call.flags.emplace_back(std::string("extra_") + kind, flag);
  }
  if (const auto lines = object.find("lines"); lines != object.end() && lines->is_object()) {
    for (const auto& [name, line] : lines->items()) {
      if (line.is_number_unsigned() && call.lines.size() < kExtensionCallsMax) call.lines[name] = line.get<std::uint32_t>();
    }
  }
  call.text = object.dump(-1, ' ', false, json::error_handler_t::replace);
  return call;
}

// As the guard reads facts: nothing in a flag may end its line or its column.
std::string facts_of_flags(const ExtensionCall& call) {
  std::string facts = "file\tload_inline\t" + std::string(kFactsVersion) + "\n";
  const auto add = [&](const std::string& kind, std::string flag) {
    std::replace_if(flag.begin(), flag.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    facts += "1\toption\ttorch.utils.cpp_extension.load_inline(" + kind + ")\t" + flag.substr(0, kFactLineBytesMax / 2) + "\n";
  };
  std::map<std::string, std::string> joined;
  for (const auto& [kind, flag] : call.flags) {
    add(kind, flag);
    joined[kind] += (joined[kind].empty() ? "" : " ") + flag;
  }
  for (const auto& [kind, flag] : joined) add(kind, flag);  // "-default-stream", "per-thread"
  return facts;
}

// What the flags define, for the guard: perhaps, as a flag may be of another language's compiler.
std::string definitions_in(const ExtensionCall& call) {
  std::string text;
  bool is_next = false;
  for (const auto& [kind, flag] : call.flags) {
    std::string definition = is_next ? flag : flag.starts_with("-D") ? flag.substr(2) : "";
    is_next = flag == "-D";
    if (definition.empty()) continue;
    std::replace_if(definition.begin(), definition.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
    const std::size_t value = definition.find('=');
    definition = value == std::string::npos ? definition + " 1" : definition.replace(value, 1, " ");
    text += "#ifdef KQ_FLAGS\n#define " + definition + "\n#endif\n";
  }
  return text;
}

// As the compiler reads it: behind what the flags define, and behind the sources before it where they make one text. Those were judged before it, so
// what is found in their lines, as of a macro's call that ends in this source, is of this one.
std::vector<Finding> findings_in(const CppSource& source, const std::vector<CppSource>& sources, const std::string& definitions) {
  std::string before = definitions;
  const std::string list(source.name.substr(0, source.name.find('[')));
  const bool is_part = list == "cpp_sources" || list == "cuda_sources";
  for (const CppSource& other : sources) {
    if (!is_part || other.name == source.name) break;
    if (other.name.starts_with(list + "[")) before.append(other.text).append("\n");
  }
  const auto lines_before = static_cast<std::uint32_t>(std::ranges::count(before, '\n'));
  before.append(source.text);
  auto findings = judge_cuda({.name = source.name, .text = before}, sources);
  for (Finding& finding : findings) {
    if (finding.file == source.name) finding.line = std::max(finding.line, lines_before + 1) - lines_before;
  }
  return findings;
}

// In lines of the submission's file where the source stands there word for word.
Finding placed(const ExtensionCall& call, Finding finding) {
  const auto line = call.lines.find(finding.file);
  const std::string file = call.place.substr(0, call.place.find(':'));
  if (line != call.lines.end() && !file.empty()) {
    finding.line = line->second + (finding.line == 0 ? 0 : finding.line - 1);
    finding.file = file;
  } else if (!call.place.empty()) {
    finding.file = call.place + ", " + finding.file;
  }
  return finding;
}

}  // namespace

Expected<std::vector<ExtensionCall>> parse_calls(std::string_view text) {
  if (text.size() > kExtensionCallBytesMax) return bad_input("the sources of all calls of load_inline have more than " + std::to_string(kExtensionCallBytesMax) + " bytes");
  const auto depth_limit = [](int depth, json::parse_event_t, json&) { return depth <= kDepthMax; };
  const json all = json::parse(text, depth_limit, false);
  if (!all.is_object() || !all.contains("calls") || !all["calls"].is_array() || !all.contains("keys") || !all["keys"].is_array()) {
    return bad_input("what calls load_inline could not be told: the submission changed how it is written down");
  }
  const json& keys = all["keys"];
  const json& list = all["calls"];
  if (list.size() != keys.size() || list.size() > kExtensionCallsMax) {
    return bad_input("load_inline is called more than " + std::to_string(kExtensionCallsMax) + " times");
  }
  std::vector<ExtensionCall> calls;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_object() || !keys[i].is_string() || keys[i].get<std::string>().size() > kNameBytesMax) return bad_input("a call of load_inline is none");
    calls.push_back(call_of(list[i], keys[i].get<std::string>()));
  }
  return calls;
}

std::optional<Verdict> judge_call(const ExtensionCall& call) {
  const auto flags = judge_facts(facts_of_flags(call));
  if (flags) {
    if (const Finding* finding = first_rejected(*flags)) {
      Finding told = *finding;
      told.file = call.place.empty() ? "load_inline" : call.place;
      told.line = 0;
      return rejected(told);
    }
  }
  std::vector<CppSource> sources;
  for (const auto& [name, text] : call.sources) sources.push_back({.name = name, .text = text});
  const std::string definitions = definitions_in(call);
  for (const CppSource& source : sources) {
    const auto findings = findings_in(source, sources, definitions);
    if (const Finding* finding = first_rejected(findings)) return rejected(placed(call, *finding));
  }
  return std::nullopt;
}

Hash extension_key(const ExtensionCall& call, const std::string& arch, const std::string& toolchain) {
  json object = json::parse(call.text, nullptr, false);
  if (object.is_object()) {
    object.erase("place");
    object.erase("lines");
  }
  std::string text = "kq-extension/1\n";
  for (const std::string& part : {arch, toolchain, object.dump(-1, ' ', false, json::error_handler_t::replace)}) {
    text += std::to_string(part.size()) + ":" + part + "\n";
  }
  return sha256(text);
}

std::string header_variant(const ExtensionCall& call) {
  if (!call.uses_torch) return {};
  bool is_optimised = false;
  for (const auto& [kind, flag] : call.flags) {
    if (kind == "extra_cflags" && flag.find("-O") != std::string::npos) {
      is_optimised = flag.find("-O2") != std::string::npos || flag.find("-O3") != std::string::npos || flag.find("-Ofast") != std::string::npos;
    }
  }
  return std::string(call.with_cuda ? "cuda" : "cpp") + (is_optimised && (!call.has_cuda_sources || call.has_loops) ? "-O2" : "-O1");
}

}  // namespace kq
