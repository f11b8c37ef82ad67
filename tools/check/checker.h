// What kq-check does with one file: told by its name and content what it is, it is judged by the guard's rules.
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
  std::string path;  // as it is told; "<stdin>" for standard input
  std::string bytes;
};

// A file that could not be judged: no source, too large, not readable.
struct UncheckedFile {
  std::string path;
  std::uint32_t line = 1;
  std::string message;
};

struct CheckReport {
  std::vector<guard::Finding> findings;  // in the order of the files
  std::vector<UncheckedFile> unchecked;
  std::size_t files = 0;
  std::vector<double> file_ms;  // of each file that was judged
};

// By the ending of its name, else by how it begins; nothing for what is none of them.
std::optional<Language> language_of(std::string_view path, std::string_view bytes);
bool is_header(std::string_view path);

class Checker {
 public:
  explicit Checker(FactsChildOptions options) : python_(std::move(options)) {}

  // `headers`: what a C++ source may include. Adds to `report`; an Error only where Python cannot be run.
  Expected<void> check(const CheckInput& input, Language language, std::span<const guard::CppSource> headers,
                       CheckReport& report);

 private:
  FactsChild python_;
};

}  // namespace kq::tools
