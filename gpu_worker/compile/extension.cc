#include "gpu_worker/compile/extension.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/limits.h"
#include "gpu_worker/compile/outcome.h"
#include "gpu_worker/machine/limited_json.h"
#include "guard/guard.h"

namespace kq::worker {
namespace {

using nlohmann::json;

constexpr int kDepthMax = 8;

// The form of each field of a call (harness/extensions/loader_call.py). A value of another form is refused, because the
// compile child might read it differently.
enum class Form {
  text,
  flag,
  texts,
  words,      // printable ASCII without blanks, so that no reader splits them
  functions,  // null or pairs of texts
  pairs,      // pairs of texts
  lines       // numbers by text
};
struct Field {
  const char* name;
  const char* called;  // the name that the author of the call knows
  Form form;
  std::size_t count_max = 0;
};
constexpr Field kFields[] = {{"name", "name", Form::text},
                             {"inline", "the kind of call", Form::flag},
                             {"cpp", "cpp_sources", Form::texts, kExtensionSourcesMax},
                             {"cuda", "cuda_sources", Form::texts, kExtensionSourcesMax},
                             {"files", "the files", Form::pairs, kExtensionSourcesMax},
                             {"sources", "sources", Form::texts, kExtensionSourcesMax},
                             {"functions", "functions", Form::functions, kExtensionFunctionsMax},
                             {"cflags", "extra_cflags", Form::words, kExtensionFlagsMax},
                             {"cuda_cflags", "extra_cuda_cflags", Form::words, kExtensionFlagsMax},
                             {"ldflags", "extra_ldflags", Form::words, kExtensionFlagsMax},
                             {"include_paths", "extra_include_paths", Form::texts, kExtensionFlagsMax},
                             {"with_cuda", "with_cuda", Form::flag},
                             {"is_python_module", "is_python_module", Form::flag},
                             {"error_handling", "with_pytorch_error_handling", Form::flag},
                             {"implicit_headers", "no_implicit_headers", Form::flag},
                             {"place", "the place", Form::text},
                             {"lines", "the lines", Form::lines, 2 * kExtensionSourcesMax}};

bool is_text(const json& value) {
  return value.is_string();
}
bool is_pair(const json& value) {
  return value.is_array() && value.size() == 2 && is_text(value[0]) && is_text(value[1]);
}
bool is_line(const json& value) {
  return value.is_number_unsigned() && value.get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max();
}
bool is_word(const json& value) {
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return text.size() <= kExtensionFlagBytesMax && std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

bool is_of(Form form, const json& value) {
  switch (form) {
    case Form::text:
      return is_text(value);
    case Form::flag:
      return value.is_boolean();
    case Form::texts:
      return value.is_array() && std::all_of(value.begin(), value.end(), is_text);
    case Form::words:
      return value.is_array() && std::all_of(value.begin(), value.end(), is_word);
    case Form::functions:
      return value.is_null() || (value.is_array() && std::all_of(value.begin(), value.end(), is_pair));
    case Form::pairs:
      return value.is_array() && std::all_of(value.begin(), value.end(), is_pair);
    case Form::lines:
      return value.is_object() && std::all_of(value.begin(), value.end(), is_line);
  }
  return false;
}

// Checks that an object has all fields of a call in their forms, and no others.
Expected<void> check_fields(const json& object) {
  if (!object.is_object() || object.size() != std::size(kFields))
    return bad_input("the record of a call of load_inline is invalid");
  for (const Field& field : kFields) {
    const auto value = object.find(field.name);
    if (value == object.end()) return bad_input("the record of a call of load_inline is invalid");
    const std::string subject = std::string("load_inline: ") + field.called;
    if (!is_of(field.form, *value)) return bad_input(subject + " does not have the form that a call has");
    if (field.count_max != 0 && value->size() > field.count_max)
      return bad_input(subject + " are more than " + std::to_string(field.count_max));
  }
  return {};
}

bool flag_at(const json& object, const char* name) {
  return object.at(name).get<bool>();
}

std::vector<std::string> texts_at(const json& object, const char* name) {
  return object.at(name).get<std::vector<std::string>>();
}

std::string label(const std::string& kind, std::size_t i, std::size_t count) {
  return count == 1 ? kind : kind + "[" + std::to_string(i) + "]";
}

// Returns whether a word stands in the text, and not only as a part of another word: "for" is no word of "forward".
bool has_word(std::string_view text, std::string_view word) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

void add_sources(ExtensionCall& call, const std::string& kind, const std::vector<std::string>& texts) {
  for (std::size_t i = 0; i < texts.size(); ++i) call.sources.emplace_back(label(kind, i, texts.size()), texts[i]);
}

// Makes a call from an object whose fields were checked.
ExtensionCall call_of(const json& object, std::string key, std::string similar_key) {
  ExtensionCall call;
  call.key = std::move(key);
  call.similar_key = std::move(similar_key);
  call.name = object.at("name").get<std::string>();
  call.place = object.at("place").get<std::string>().substr(0, kNameBytesMax);
  call.with_cuda = flag_at(object, "with_cuda");
  call.is_inline = flag_at(object, "inline");
  const auto cpp = texts_at(object, "cpp");
  const auto cuda = texts_at(object, "cuda");
  call.has_cuda_sources = !cuda.empty();
  const auto has_loop = [](const std::string& text) { return has_word(text, "for") || has_word(text, "while"); };
  call.has_loops = std::any_of(cpp.begin(), cpp.end(), has_loop);
  add_sources(call, "cpp_sources", cpp);
  add_sources(call, "cuda_sources", cuda);
  call.files_at = call.sources.size();
  for (const json& file : object.at("files")) {
    call.sources.emplace_back(file[0].get<std::string>(), file[1].get<std::string>());
    call.has_cuda_sources = call.has_cuda_sources || call.sources.back().first.ends_with(".cu");
  }
  for (const json& function : object.at("functions")) call.functions.push_back(function[0].get<std::string>());
  call.has_implicit_headers = call.is_inline && flag_at(object, "implicit_headers");
  for (const char* kind : {"cflags", "cuda_cflags", "ldflags"}) {
    for (const std::string& flag : texts_at(object, kind)) call.flags.emplace_back(std::string("extra_") + kind, flag);
  }
  for (const auto& [name, line] : object.at("lines").items()) call.lines[name] = line.get<std::uint32_t>();
  call.text = object.dump(-1, ' ', false, json::error_handler_t::replace);
  return call;
}

std::vector<guard::Finding> judge_flags(const ExtensionCall& call) {
  std::map<std::string, std::string> joined;  // "-default-stream", "per-thread"
  for (const auto& [kind, flag] : call.flags) joined[kind] += (joined[kind].empty() ? "" : " ") + flag;
  std::deque<std::string> names;
  std::vector<guard::Fact> facts;
  std::uint32_t line = 0;  // one per flag, so that each broken rule is reported
  const auto add = [&](const std::string& kind, const std::string& flag) {
    facts.push_back({.file = call.place,
                     .line = ++line,
                     .kind = guard::FactKind::option,
                     .name = names.emplace_back("torch.utils.cpp_extension.load_inline(" + kind + ")"),
                     .argument = flag});
  };
  for (const auto& [kind, flag] : call.flags) add(kind, flag);
  for (const auto& [kind, flags] : joined) add(kind, flags);
  return guard::judge(facts);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  parts.push_back(text);
  return parts;
}

// Returns preprocessor text with the macros that the flags may define. The guard reads each as defined or not, because
// a flag may be for the other compiler only. -Xcompiler has several flags in a word, separated by commas; a part that
// is wrongly taken for a definition does no harm.
std::string definitions_in(const ExtensionCall& call) {
  std::string text;
  const auto define = [&](std::string_view definition_text) {
    std::string definition(definition_text);
    const std::size_t value = definition.find('=');
    definition = value == std::string::npos ? definition + " 1" : definition.replace(value, 1, " ");
    text += "#ifdef KQ_FLAGS\n#define " + definition + "\n#endif\n";
  };
  bool is_next = false;
  for (const auto& [kind, flag] : call.flags) {
    std::string_view word = flag;
    if (is_next) define(word);
    is_next = word == "-D";
    for (const std::string_view option : {"-Xcompiler=", "--compiler-options="}) {
      if (word.starts_with(option)) word.remove_prefix(option.size());
    }
    std::vector<std::string_view> parts = split(word, ',');
    if (parts.size() > 1) parts.push_back(word);
    for (std::string_view part : parts) {
      part.remove_prefix(std::min(part.find_first_not_of("'\""), part.size()));
      if (part.starts_with("-D") && part.size() > 2) define(part.substr(2));
    }
  }
  return text;
}

using Source = std::pair<std::string, std::string>;  // label or file name, text

// Sources that a compiler reads as one text, and the line at which each begins.
class Joined {
 public:
  explicit Joined(std::string definitions)
      : text_(std::move(definitions)), lines_(static_cast<std::uint32_t>(std::ranges::count(text_, '\n'))) {}

  // Adds a source behind a #line directive, as harness/extensions/builder.py does: a backslash at the end of a source
  // joins that directive and not the next source.
  void add(std::string_view name, std::string_view source) {
    text_.append("#line 1 \"").append(name).append("\"\n");
    parts_.push_back({.name = name, .lines_before = ++lines_});
    text_.append(source).append("\n");
    lines_ += static_cast<std::uint32_t>(std::ranges::count(source, '\n')) + 1;
  }

  // Judges the text. A finding before the first source, in the definition of a flag, gets the first line of the source.
  std::vector<guard::Finding> judged(std::span<const guard::CppSource> others) const {
    auto findings = guard::judge_cuda({.name = kName, .text = text_}, others);
    for (guard::Finding& finding : findings) {
      if (finding.file != kName) continue;
      const Part* part = &parts_.front();
      for (const Part& each : parts_) part = each.lines_before < finding.line ? &each : part;
      finding.file = part->name;
      finding.line = std::max(finding.line, part->lines_before + 1) - part->lines_before;
    }
    return findings;
  }

 private:
  static constexpr std::string_view kName = "(sources)";  // never the name of a file, because files have a folder
  struct Part {
    std::string_view name;
    std::uint32_t lines_before;
  };
  std::string text_;
  std::uint32_t lines_;
  std::vector<Part> parts_;
};

// Returns the source that exports the functions. Compilers read it after the call's sources, whose macros apply to it.
std::string module_of(const ExtensionCall& call) {
  std::string text = "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n";
  for (const std::string& function : call.functions) text += "m.def(" + function + ");\n";
  return text + "}";
}

// Returns every text that a compiler reads as one (harness/extensions/builder.py): each file; the C++ sources with the
// module; and the CUDA sources.
std::vector<Joined> texts_of(const ExtensionCall& call) {
  const std::string definitions = definitions_in(call), module = module_of(call);
  std::vector<Joined> texts;
  const std::span inline_sources = std::span(call.sources).first(call.files_at);
  const auto cuda_at =
      std::ranges::find_if(inline_sources, [](const auto& source) { return source.first.starts_with("cuda_sources"); });
  const std::span cpp(inline_sources.begin(), cuda_at), cuda(cuda_at, inline_sources.end());
  const auto join = [&](std::span<const Source> sources) -> Joined& {
    Joined& joined = texts.emplace_back(definitions);
    for (const auto& [name, text] : sources) joined.add(name, text);
    return joined;
  };
  if (call.is_inline) join(cpp).add("functions", module);
  if (!cuda.empty()) join(cuda);
  for (const Source& file : std::span(call.sources).subspan(call.files_at)) join({&file, 1});
  return texts;
}

// Moves a finding to the line of the submission's file, if the source is there word for word.
guard::Finding placed(const ExtensionCall& call, guard::Finding finding) {
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
  if (text.size() > kExtensionCallBytesMax)
    return bad_input("the sources of all calls of load_inline have more than " +
                     std::to_string(kExtensionCallBytesMax) + " bytes");
  const json all = parse_limited(text, kDepthMax);
  const auto has_list = [&](const char* name) { return all.contains(name) && all[name].is_array(); };
  if (!all.is_object() || !has_list("calls") || !has_list("keys") || !has_list("similar_keys")) {
    return bad_input("the calls of load_inline are unknown: the submission changed how they are recorded");
  }
  const json& keys = all["keys"];
  const json& similar_keys = all["similar_keys"];
  const json& list = all["calls"];
  if (list.size() != keys.size() || list.size() != similar_keys.size() || list.size() > kExtensionCallsMax) {
    return bad_input("load_inline is called more than " + std::to_string(kExtensionCallsMax) + " times");
  }
  std::vector<ExtensionCall> calls;
  for (std::size_t i = 0; i < list.size(); ++i) {
    KQ_TRY(check_fields(list[i]));
    for (const json* key : {&keys[i], &similar_keys[i]}) {
      if (!key->is_string() || key->get_ref<const std::string&>().size() > kNameBytesMax)
        return bad_input("the record of a call of load_inline is invalid");
    }
    calls.push_back(call_of(list[i], keys[i].get<std::string>(), similar_keys[i].get<std::string>()));
  }
  return calls;
}

std::optional<Verdict> judge_call(const ExtensionCall& call, const std::function<bool()>& may_go_on,
                                  const guard::Policy& policy) {
  const auto flags = judge_flags(call);
  if (const guard::Finding* finding = guard::first_rejected(flags, policy)) {
    guard::Finding flag_finding = *finding;
    flag_finding.file = call.place.empty() ? "load_inline" : call.place;
    flag_finding.line = 0;
    return rejected(flag_finding);
  }
  const bool reads_trigraphs =
      std::ranges::any_of(call.flags, [](const auto& flag) { return guard::asks_for_trigraphs(flag.second); });
  for (const auto& [name, text] : call.sources) {
    const auto findings =
        reads_trigraphs ? guard::judge_trigraphs({.name = name, .text = text}) : std::vector<guard::Finding>();
    if (const guard::Finding* finding = guard::first_rejected(findings, policy))
      return rejected(placed(call, *finding));
  }
  std::vector<guard::CppSource> files;  // files that a source may include
  for (const auto& [name, text] : std::span(call.sources).subspan(call.files_at))
    files.push_back({.name = name, .text = text});
  for (const Joined& text : texts_of(call)) {
    if (!may_go_on()) return std::nullopt;
    const auto findings = text.judged(files);
    if (const guard::Finding* finding = guard::first_rejected(findings, policy))
      return rejected(placed(call, *finding));
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

Hash failure_key(const ExtensionCall& call, const Hash& key) {
  return sha256("kq-extension-failure/1\n" + to_hex(key) + "\n" + call.text);
}

std::vector<std::string> header_variants(const ExtensionCall& call) {
  // A source is compiled with the first prefix whose header it includes (HEADERS in
  // harness/extensions/torch_prefix.py).
  struct Header {
    std::string_view prefix;
    std::string_view name;
  };
  constexpr Header kHeaders[] = {{"extension", "torch/extension.h"},
                                 {"extension", "torch/torch.h"},
                                 {"all", "torch/all.h"},
                                 {"python", "torch/python.h"},
                                 {"script", "torch/script.h"},
                                 {"types", "torch/types.h"},
                                 {"aten", "ATen/ATen.h"}};
  // The flags of C++ units have prefixes of their own. Those of nvcc are compiled with the prefixes of the level alone.
  const std::string level = header_level(call);
  std::vector<std::string> variants, bodies;
  const auto add_to = [](std::vector<std::string>& list, std::string variant) {
    if (std::ranges::find(list, variant) == list.end()) list.push_back(std::move(variant));
  };
  const auto add = [&](std::string_view prefix, bool is_cuda) {
    const std::size_t end = is_cuda ? level.find('-') : std::string::npos;
    add_to(variants, std::string(prefix) + "-" + level.substr(0, end));
    add_to(bodies,
           "bodies-O1" + level.substr(std::min(level.find('-'), level.size()), is_cuda ? 0 : std::string::npos));
  };
  if (call.has_implicit_headers) add("extension", false);
  for (const auto& [name, text] : call.sources) {
    const auto* first = std::ranges::find_if(
        kHeaders, [&](const Header& header) { return text.find(header.name) != std::string::npos; });
    const bool is_cuda_source = name.starts_with("cuda_sources");
    const bool begins_with_types = call.has_implicit_headers && is_cuda_source;
    if (first != std::end(kHeaders) && (first->prefix == "extension" || !begins_with_types)) {
      add(first->prefix, is_cuda_source || name.ends_with(".cu"));
    } else if (begins_with_types) {
      add("types", true);
    }
  }
  // What prefixes share is the same for all levels: the bodies, and the notes about the headers.
  std::ranges::move(bodies, std::back_inserter(variants));
  if (call.has_cuda_sources) variants.emplace_back("nvcc-O1");
  return variants;
}

std::string header_level(const ExtensionCall& call) {
  bool is_optimised = false;
  for (const auto& [kind, flag] : call.flags) {
    if (kind == "extra_cflags" && flag.find("-O") != std::string::npos) {
      is_optimised = flag.find("-O2") != std::string::npos || flag.find("-O3") != std::string::npos ||
                     flag.find("-Ofast") != std::string::npos;
    }
  }
  std::string level = is_optimised && (!call.has_cuda_sources || call.has_loops) ? "O2" : "O1";
  // OWN_PREFIX in harness/extensions/torch_prefix.py has the same.
  constexpr std::pair<std::string_view, std::string_view> kOwnPrefix[] = {
      {"fast", "-ffast-math"}, {"native", "-march=native"}, {"ndebug", "-DNDEBUG"}, {"openmp", "-fopenmp"}};
  for (const auto& [word, own] : kOwnPrefix) {
    const auto is_own = [&](const auto& flag) { return flag.first == "extra_cflags" && flag.second == own; };
    if (std::ranges::any_of(call.flags, is_own)) level += "-" + std::string(word);
  }
  return level;
}

}  // namespace kq::worker
