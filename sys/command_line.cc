#include "sys/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <sstream>
#include <string_view>
#include <vector>

#include "sys/colour.h"
#include "sys/nearest.h"

namespace kq::sys {
namespace {

constexpr std::size_t kNameColumns = 28;
constexpr std::size_t kLineColumns = 100;
constexpr const char* kLastGroup = "Other options";

// Appends the words of a text to `lines`, so that no line is longer than kLineColumns. Each line but the first begins
// with `indent` spaces. `column` is the column at which the first word is to begin.
std::string wrapped(const std::string& text, std::size_t column, std::size_t indent) {
  std::string result;
  std::istringstream words(text);
  std::size_t at = column;
  for (std::string word; words >> word;) {
    const bool is_first = result.empty() || result.back() == ' ' || result.back() == '\n';
    if (!is_first && at + 1 + word.size() > kLineColumns) {
      result += '\n' + std::string(indent, ' ');
      at = indent;
    } else if (!is_first) {
      result += ' ';
      ++at;
    }
    result += word;
    at += word.size();
  }
  return result;
}

// Lays out the help: a column of names, and beside it the wrapped descriptions. It leaves out the words of CLI11 that
// descriptions of kq's options say themselves, such as "REQUIRED" and "Excludes: ...".
class Layout final : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    const std::string value = value_text(*option);
    const bool shows_value = !is_positional || value.find('|') != std::string::npos;
    std::string name = "  " + option->get_name(is_positional, !is_positional) + (shows_value ? value : "");
    // CLI11 marks a negated flag so: "--no-audit{false}".
    if (const std::size_t mark = name.find("{false}"); mark != std::string::npos) name.erase(mark, 7);
    std::string description = option->get_description();
    if (!option->get_default_str().empty()) description += " (default: " + option->get_default_str() + ")";
    if (!option->get_envname().empty()) description += " [" + option->get_envname() + "]";
    if (name.size() + 2 > kNameColumns) {
      name += '\n' + std::string(kNameColumns, ' ');
    } else {
      name.resize(kNameColumns, ' ');
    }
    return name + wrapped(description, kNameColumns, kNameColumns) + '\n';
  }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string text = "Usage: " + (name.empty() ? app->get_name() : name) + " [options]";
    for (const CLI::Option* option : app->get_options([](const CLI::Option* one) { return one->get_positional(); })) {
      const std::string word = option->get_name(true) + (option->get_items_expected_max() > 1 ? " ..." : "");
      text += option->get_required() ? " " + word : " [" + word + "]";
    }
    return text + "\n";
  }

  std::string make_description(const CLI::App* app) const override {
    return wrapped(app->get_description(), 0, 0) + "\n\n";
  }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    return make_description(app) + make_usage(app, std::move(name)) + make_positionals(app) + groups_text(app) +
           make_subcommands(app, mode) + make_footer(app);
  }

 private:
  // Returns the groups in the order of their first options, and the group of --help last.
  std::string groups_text(const CLI::App* app) const {
    std::vector<std::string> groups = app->get_groups();
    std::stable_partition(groups.begin(), groups.end(), [](const std::string& group) { return group != kLastGroup; });
    std::string text;
    for (const std::string& group : groups) {
      const auto options = app->get_options([&](const CLI::Option* one) {
        return one->get_group() == group && one->nonpositional() && !one->get_positional();
      });
      if (!group.empty() && !options.empty()) text += make_group(group, false, options);
    }
    return text;
  }

  // Returns the value of an option as the help shows it: " FILE", or " auto|text|json" for a checked set of words.
  static std::string value_text(const CLI::Option& option) {
    if (option.get_type_size() == 0) return "";
    const std::string type = option.get_type_name();
    const std::size_t words = type.find(":{");
    if (words != std::string::npos && type.ends_with('}')) {
      std::string list = type.substr(words + 2, type.size() - words - 3);
      std::replace(list.begin(), list.end(), ',', '|');
      return " " + list;
    }
    // CLI11 writes the bounds of a number behind a colon. Another colon belongs to the form of the value: "HOST:PORT".
    const std::string plain = type.substr(0, type.find(':'));
    if (plain == "UINT" || plain == "INT" || plain == "FLOAT") return " N";
    const bool has_bounds = type.find(" in [") != std::string::npos;
    return type.empty() ? "" : " " + (has_bounds ? plain : type);
  }
};

std::vector<std::string> known_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Describes the first argument that CLI11 could not assign.
std::string unexpected(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining();
  if (left.empty()) return "there is one argument too many";
  const std::string word = left.front().substr(0, left.front().find('='));
  if (word.empty() || word.front() != '-') return "'" + word + "' is one argument too many";
  const std::optional<std::string> meant = nearest(word, known_options(app));
  return "there is no option '" + word + "'" + (meant ? "; did you mean " + *meant + "?" : "");
}

// Describes an option that is given more often than once.
std::optional<std::string> repeated(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const bool takes_one =
        option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw && option->get_items_expected_max() == 1;
    if (takes_one && option->count() > 1)
      return option->get_name() + " is given " + std::to_string(option->count()) + " times, but takes one value";
  }
  return std::nullopt;
}

std::string one_line(std::string text) {
  for (char& c : text) c = c == '\n' ? ' ' : c;
  return text;
}

}  // namespace

void prepare(CLI::App& app) {
  app.formatter(std::make_shared<Layout>());
  app.get_help_ptr()->group(kLastGroup)->description("print this help and exit");
  if (CLI::Option* version = app.get_version_ptr(); version != nullptr)
    version->group(kLastGroup)->description("print the version and exit");
}

std::string help_text(const CLI::App& app) {
  const std::string text = app.help();
  if (!takes_colour(STDOUT_FILENO)) return text;
  std::string result;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    const std::string_view line = std::string_view(text).substr(from, end - from);
    const bool is_heading = !line.empty() && line.front() != ' ' && line.ends_with(':');
    result += is_heading ? coloured(line, Colour::bold) : std::string(line);
    result += '\n';
    from = end + 1;
  }
  return result;
}

std::string mistake_text(const CLI::App& app, const CLI::ParseError& error) {
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const std::string sentence = is_extra ? unexpected(app) : repeated(app).value_or(one_line(error.what()));
  return sentence + " (" + app.get_name() + " --help lists the options)";
}

std::optional<std::string> empty_value_text(const CLI::App& app, std::string_view may_be_empty) {
  for (const CLI::Option* option : app.get_options()) {
    if (!may_be_empty.empty() && option->get_name() == may_be_empty) continue;
    const std::vector<std::string>& values = option->results();
    if (std::find(values.begin(), values.end(), "") != values.end())
      return option->get_name() + " is empty; give it a value, or leave it out";
  }
  return std::nullopt;
}

}  // namespace kq::sys
