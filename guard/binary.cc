#include "guard/binary.h"

#include <algorithm>
#include <optional>
#include <string>

#include "guard/elf.h"

namespace kq::guard {
namespace {

constexpr std::string_view kBytecode[] = {".pyc", ".pyo"};
constexpr std::string_view kArchives[] = {".zip", ".egg", ".whl", ".pyz", ".tar", ".gz"};
constexpr std::string_view kZip = "PK\x03\x04";
constexpr std::size_t kMagicBytes =
    4;  // bytecode begins with a version, then CR LF (MAGIC_NUMBER of Python's importlib._bootstrap_external)

bool ends_with_any(std::string_view name, const auto& endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

// Returns the name of the fact for an unreadable file, or nothing for a text.
std::optional<std::string_view> unreadable(std::string_view bytes, std::string_view name) {
  // No text begins like that: the version has two bytes and is above 3,000, so the byte before CR LF is a control
  // character and never a letter.
  const bool is_bytecode = bytes.size() > kMagicBytes && bytes.substr(2, 2) == "\r\n" &&
                           static_cast<unsigned char>(bytes[1]) < 0x20 && bytes[1] != '\n' && bytes[1] != '\t';
  if (is_bytecode || ends_with_any(name, kBytecode)) return "source.bytecode";
  if (bytes.starts_with(kZip) || ends_with_any(name, kArchives)) return "source.archive";
  // Python finds an archive by its end, whatever precedes it. And compilers differ in how they read text behind a NUL
  // byte.
  if (bytes.find('\0') != std::string_view::npos) return "source.bytes";
  return std::nullopt;
}

}  // namespace

bool is_binary(std::string_view bytes, std::string_view name) {
  return is_elf(bytes) || unreadable(bytes, name).has_value();
}

std::vector<Finding> judge_binary(std::string_view bytes, std::string_view name) {
  if (is_elf(bytes)) return judge_elf(bytes, name);
  const auto kind = unreadable(bytes, name);
  if (!kind) return {};
  const Fact fact{.file = name, .line = 1, .kind = FactKind::note, .name = *kind, .argument = {}};
  std::vector<Finding> findings = judge({&fact, 1});
  for (Finding& finding : findings) finding.line = 0;
  return findings;
}

}  // namespace kq::guard
