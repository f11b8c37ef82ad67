// What all programs of kq share when CLI11 parses their command lines: the form of --help, and one sentence for each
// mistake. CLI11's own sentences name neither the argument nor what would be right.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace kq::sys {

// Sets the layout of --help: wrapped descriptions, the groups of options in the order of their first options, and
// --help and --version in the last group. Call it after the version flag was added.
void prepare(CLI::App& app);

// Returns the text of --help. Headings are bold where standard output is a terminal that takes colours.
std::string help_text(const CLI::App& app);

// Returns the sentence about a mistake that CLI11 found, which names the program's --help.
std::string mistake_text(const CLI::App& app, const CLI::ParseError& error);

// Describes an option whose value is empty, which happens when a variable of a script is not set. Such a value must not
// count as absent: "kq-ctl pause --submitter ''" would pause all submitters. `may_be_empty` is the name of an option
// whose empty value has a meaning, such as "--keys ''": no keys, whatever the environment names.
std::optional<std::string> empty_value_text(const CLI::App& app, std::string_view may_be_empty = "");

}  // namespace kq::sys
