// Checks one file against the guard's rules: decides by name and content whether the file is Python, C++ or a library,
// and applies the rules for that language.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "guard/guard.h"
#include "tools/check/facts_child.h"

namespace kq::tools {

enum class Language { automatic, python, cuda, library };
constexpr std::array<std::string_view, 4> enum_names(Language) {
  return {"auto", "python", "cuda", "library"};
}

struct CheckInput {
  std::string path;  // the path shown in findings; "<stdin>" for standard input
  std::string bytes;
};

// A file that could not be checked, because it is no source, too large or not readable.
struct UncheckedFile {
  std::string path;
  std::uint32_t line = 1;
  std::string message;
};

struct CheckReport {
  std::vector<guard::Finding> findings;  // in the order of the files
  std::vector<UncheckedFile> unchecked;
  std::size_t files = 0;
  std::vector<double> file_ms;  // duration of the check of each file
};

// Returns the language of a file by its content if it is binary, else by the ending of its name; nothing for other
// files.
std::optional<Language> language_of(std::string_view path, std::string_view bytes);
bool is_header(std::string_view path);

// Checks files one after the other, with one Python child for all Python sources.
class Checker {
 public:
  explicit Checker(FactsChildOptions options) : python_(std::move(options)) {}

  // Checks one file and adds the findings to `report`. `headers` are the headers that a C++ source may include. Returns
  // an Error only when Python cannot be run.
  Expected<void> check(const CheckInput& input, Language language, std::span<const guard::CppSource> headers,
                       CheckReport& report);

 private:
  FactsChild python_;
};

}  // namespace kq::tools
