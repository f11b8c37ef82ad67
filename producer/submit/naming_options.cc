#include "producer/submit/naming_options.h"

#include "core/base/no_name.h"
#include "core/submission.h"

namespace kq::producer {

Expected<void> NamingTexts::apply(InputOptions& options) const {
  if (!author.empty()) {
    if (const auto wrong = name_error(author)) return bad_input("--author '" + author + "' " + *wrong);
    options.author = author;
  }
  for (const std::string& text : tags) {
    if (text == kNoName) {
      options.tags.emplace(text, "");
      continue;
    }
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return bad_input("--tag must be NAME=VALUE, such as model=m1, or - to empty the tags, got '" + text + "'");
    }
    const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
    if (const auto wrong = name_error(name)) return bad_input("--tag '" + text + "': the name " + *wrong);
    if (const auto wrong = name_error(value)) return bad_input("--tag '" + text + "': the value " + *wrong);
    const auto [given, is_new] = options.tags.emplace(name, value);
    if (!is_new && given->second != value)
      return bad_input("--tag gives '" + name + "' two values, '" + given->second + "' and '" + value + "'");
  }
  return {};
}

}  // namespace kq::producer
