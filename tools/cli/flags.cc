#include "tools/cli/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <iostream>

#include "core/base/version.h"
#include "producer/client/sentences.h"
#include "sys/command_line.h"

namespace kq::tools {

namespace {

// Returns the words as --help shows a choice: "csv|json". The completion of shells reads them there.
std::string joined(const std::vector<std::string>& words) {
  std::string list;
  for (const std::string& word : words) list += (list.empty() ? "" : "|") + word;
  return list;
}

}  // namespace

struct Flags::Parser {
  explicit Parser(std::string about) : app(std::move(about)) {}

  CLI::App app;
};

Flags::Flags(std::string program, std::string about) : parser_(std::make_unique<Parser>(std::move(about))) {
  CLI::App& app = parser_->app;
  app.name(std::move(program));
  app.set_version_flag("--version", app.get_name() + " " + std::string(kVersion), "print the version and exit");
  sys::prepare(app);
}

Flags::~Flags() = default;

void Flags::group(const std::string& name) {
  parser_->app.option_defaults()->group(name);
}

void Flags::examples(const std::string& lines) {
  parser_->app.footer("\nExamples:\n" + lines);
}

void Flags::optional_argument(const std::string& name, const std::string& doc, std::string& into,
                              const std::vector<std::string>& known) {
  parser_->app.add_option(name, into, doc)->type_name(joined(known));
}

void Flags::run(const std::string& doc, std::string& into) {
  parser_->app.add_option("RUN,--run", into, doc)->type_name("");
}

void Flags::runs(const std::string& doc, std::vector<std::string>& into) {
  parser_->app.add_option("RUN,--run", into, doc)->type_name("")->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

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
  const std::string list = joined(known);
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

void Flags::format(const std::string& doc, std::string& into, const std::vector<std::string>& known) {
  choice("--format", doc, into, known);
  short_formats(into, known);
}

void Flags::short_formats(std::string& into, const std::vector<std::string>& known) {
  CLI::Option* const format = parser_->app.get_option("--format");
  std::vector<CLI::Option*> others{format};
  for (const std::string word : {"json", "jsonl", "csv"}) {
    if (std::ranges::find(known, word) == known.end()) continue;
    CLI::Option* const short_form = parser_->app.add_flag(
        "--" + word, [&into, word](std::int64_t) { into = word; }, "the same as --format " + word);
    for (CLI::Option* other : others) short_form->excludes(other);
    others.push_back(short_form);
  }
}

void Flags::json(const std::string& doc, bool& into) {
  CLI::Option* const flag = parser_->app.add_flag("--json", into, doc);
  parser_->app
      .add_option_function<std::string>(
          "--format", [&into](const std::string& word) { into = word == "json"; }, "json is the same as --json")
      ->type_name("table|json")
      ->check([](const std::string& text) -> std::string {
        return text == "table" || text == "json" ? "" : "must be one of table|json, got " + text;
      })
      ->excludes(flag);
}

std::optional<ExitCode> Flags::parse(int argc, const char* const* argv) {
  CLI::App& app = parser_->app;
  try {
    app.parse(argc, argv);
    const std::optional<std::string> empty = sys::empty_value_text(app);
    if (!empty) return std::nullopt;
    std::cerr << app.get_name() << ": " << producer::cut_message(*empty) << '\n';
  } catch (const CLI::CallForHelp&) {
    std::cout << sys::help_text(app);
    return ExitCode::ok;
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << '\n';
    return ExitCode::ok;
  } catch (const CLI::ParseError& error) {
    std::cerr << app.get_name() << ": " << producer::cut_message(sys::mistake_text(app, error)) << '\n';
  }
  return ExitCode::bad_input;
}

int report_error(const std::string& program, const Error& error) {
  std::cerr << program << ": " << producer::cut_message(error.message) << '\n';
  return static_cast<int>(exit_code(error.kind));
}

}  // namespace kq::tools
