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
    4;  // of bytecode: a version, then CR LF (Python's importlib._bootstrap_external, MAGIC_NUMBER)

bool ends_with_any(std::string_view name, const auto& endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

// What kind of file nobody can read it is.
std::optional<std::string_view> unreadable(std::string_view bytes, std::string_view name) {
  // No text begins so: the byte before CR LF is never a letter's, as versions are counted from 3,000 on in two bytes.
  const bool is_bytecode = bytes.size() > kMagicBytes && bytes.substr(2, 2) == "\r\n" &&
                           static_cast<unsigned char>(bytes[1]) < 0x20 && bytes[1] != '\n' && bytes[1] != '\t';
  if (is_bytecode || ends_with_any(name, kBytecode)) return "source.bytecode";
  if (bytes.starts_with(kZip) || ends_with_any(name, kArchives)) return "source.archive";
  // Python finds an archive from its end, whatever stands before it; and compilers differ on what they make of a text
  // behind such a byte.
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
