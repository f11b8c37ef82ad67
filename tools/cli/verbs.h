// The verbs of kq. Each verb is a program kq-VERB in the folder of kq or in PATH.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kq::tools {

struct Verb {
  std::string_view name;
  std::string_view doc;
};
std::span<const Verb> verbs();

// Returns the text of `kq --help`: the table of verbs, then the names of other kq-* programs in `folder`.
std::string verbs_help(const std::string& folder);

// Returns the message for a verb without a program, with the most similar known verb.
std::string unknown_verb(const std::string& verb, const std::string& folder);

// Returns whether a word can be part of a program's name: lower-case letters, digits, dashes and underscores.
bool is_verb(std::string_view word);

}  // namespace kq::tools
