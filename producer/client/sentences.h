// Sentences for standard error: one line each, whatever a file name or a child put into them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace kq::producer {

inline constexpr std::size_t kSentencesShown = 20;

// Control characters, which could end the line or steer the terminal, as \n, \t or \x1b; bytes that are not UTF-8 as
// \xff.
std::string one_line(std::string_view text);

// "kq-submit: SENTENCE\n" for each, at most kSentencesShown of them, then "kq-submit: and N more\n".
std::string listed(std::string_view program, std::span<const std::string> sentences);

// "3 jobs", "1 job".
std::string counted(std::size_t count, std::string_view noun);

// A word of a command line that somebody is to copy: in quotes where a shell would make something else of it.
std::string shell_quoted(const std::string& word);

// "2 kernels were wrong and not submitted": the last word of a call that kept going.
std::string left_out_text(std::size_t kernels_n, std::string_view what_was_not_done);

}  // namespace kq::producer
