#include "tools/cli/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <iostream>

#include "core/base/version.h"
#include "producer/client/sentences.h"
#include "tools/cli/nearest.h"

namespace kq::tools {

struct Flags::Parser {
  explicit Parser(std::string about) : app(std::move(about)) {}

  CLI::App app;
};

namespace {

std::vector<std::string> known_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Describes the first argument that CLI11 could not assign. CLI11's own message does not name it.
std::string unexpected(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining();
  if (left.empty()) return "there is one argument too many";
  const std::string word = left.front().substr(0, left.front().find('='));
  if (word.empty() || word.front() != '-') return "'" + word + "' is one argument too many";
  const std::optional<std::string> meant = nearest(word, known_options(app));
  return "there is no option '" + word + "'" + (meant ? "; did you mean " + *meant + "?" : "");
}

// Describes an option that is given more often than once. CLI11's own message is "At Most 1 required but received 2".
std::optional<std::string> repeated(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const bool takes_one =
        option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw && option->get_items_expected_max() == 1;
    if (takes_one && option->count() > 1)
      return option->get_name() + " is given " + std::to_string(option->count()) + " times, but takes one value";
  }
  return std::nullopt;
}

// Describes an option whose value is empty, which happens when a variable of a script is not set. Such a value must not
// count as absent: "kq-ctl pause --submitter ''" would pause all submitters.
std::optional<std::string> emptied(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& values = option->results();
    if (std::find(values.begin(), values.end(), "") != values.end())
      return option->get_name() + " is empty; give it a value, or leave it out";
  }
  return std::nullopt;
}

std::string one_line(std::string text) {
  text = producer::cut_message(text);
  for (char& c : text) c = c == '\n' ? ' ' : c;
  return text;
}

}  // namespace

Flags::Flags(std::string program, std::string about) : parser_(std::make_unique<Parser>(std::move(about))) {
  CLI::App& app = parser_->app;
  app.name(std::move(program));
  app.set_version_flag("--version", app.get_name() + " " + std::string(kVersion), "Print the version and exit");
  app.get_formatter()->column_width(34);
}

Flags::~Flags() = default;

void Flags::argument(const std::string& name, const std::string& doc, std::string& into) {
  parser_->app.add_option(name, into, doc)->required()->type_name("");
}

void Flags::arguments(const std::string& name, const std::string& doc, std::vector<std::string>& into) {
  parser_->app.add_option(name, into, doc)->type_name("")->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Flags::option(const std::string& names, const std::string& value, const std::string& doc, std::string& into,
                   const std::string& env) {
  CLI::Option* option = parser_->app.add_option(names, into, doc)->type_name(value);
  if (!env.empty()) option->envname(env);
}

void Flags::repeatable_option(const std::string& names, const std::string& value, const std::string& doc,
                              std::vector<std::string>& into) {
  parser_->app.add_option(names, into, doc)
      ->type_name(value)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Flags::seconds(const std::string& names, const std::string& doc, std::optional<double>& into) {
  parser_->app
      .add_option_function<double>(
          names, [&into](const double& value) { into = value; }, doc)
      ->type_name("S")
      ->check([](const std::string& text) -> std::string {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        const bool is_number = !text.empty() && *end == '\0';
        return is_number && value > 0 && value < 1e9 ? "" : "must be a number of seconds above 0, got " + text;
      });
}

void Flags::number(const std::string& names, const std::string& doc, std::uint32_t& into, std::uint32_t min,
                   std::uint32_t max) {
  parser_->app.add_option(names, into, doc)->type_name("N")->check([min, max](const std::string& text) -> std::string {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    return is_number && value >= min && value <= max
               ? ""
               : "must be a whole number from " + std::to_string(min) + " to " + std::to_string(max) + ", got " + text;
  });
}

void Flags::choice(const std::string& names, const std::string& doc, std::string& into,
                   const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& word : known) list += (list.empty() ? "" : "|") + word;
  parser_->app.add_option(names, into, doc)
      ->type_name(list)
      ->check([known, list](const std::string& text) -> std::string {
        return std::find(known.begin(), known.end(), text) != known.end() ? ""
                                                                          : "must be one of " + list + ", got " + text;
      });
}

void Flags::flag(const std::string& names, const std::string& doc, bool& into) {
  parser_->app.add_flag(names, into, doc);
}

std::optional<ExitCode> Flags::parse(int argc, const char* const* argv) {
  CLI::App& app = parser_->app;
  try {
    app.parse(argc, argv);
    const std::optional<std::string> empty = emptied(app);
    if (!empty) return std::nullopt;
    std::cerr << app.get_name() << ": " << producer::cut_message(*empty) << '\n';
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return ExitCode::ok;
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << '\n';
    return ExitCode::ok;
  } catch (const CLI::ExtrasError&) {
    std::cerr << app.get_name() << ": " << producer::cut_message(unexpected(app)) << " (" << app.get_name()
              << " --help lists the options)\n";
  } catch (const CLI::Error& error) {
    std::cerr << app.get_name() << ": " << repeated(app).value_or(one_line(error.what())) << " (" << app.get_name()
              << " --help lists the options)\n";
  }
  return ExitCode::bad_input;
}

int report_error(const std::string& program, const Error& error) {
  std::cerr << program << ": " << producer::cut_message(error.message) << '\n';
  return static_cast<int>(exit_code(error.kind));
}

}  // namespace kq::tools
