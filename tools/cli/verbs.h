// The verbs of kq: one program each, kq-VERB, beside kq or in PATH.
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

// The table, then whatever other kq-* programs stand in `folder`.
std::string verbs_help(const std::string& folder);

// One sentence for a verb that is no program anywhere, with the nearest known one.
std::string unknown_verb(const std::string& verb, const std::string& folder);

// A verb is part of a program's name: lower-case letters, digits, dashes and underscores.
bool is_verb(std::string_view word);

}  // namespace kq::tools
