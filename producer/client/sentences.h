// Sentences for standard error. Each is one line, whatever characters a file name or the output of a child has.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace kq::producer {

inline constexpr std::size_t kSentencesShown = 20;

// Returns the text with control characters, which could end the line or control the terminal, as \n, \t or \x1b, and
// with bytes that are not UTF-8 as \xff. A long text is cut as by cut_message().
std::string one_line(std::string_view text);

// The bytes of a message that a program prints. A longer one echoes what was given to the program.
inline constexpr std::size_t kMessageShownMax = 4096;
// Returns the text; of one that is longer than kMessageShownMax its begin and its end, with how many bytes are left
// out.
std::string cut_message(std::string_view text);

// Returns "kq-submit: SENTENCE\n" for each of the first kSentencesShown sentences, and then "kq-submit: and N more\n".
std::string listed(std::string_view program, std::span<const std::string> sentences);

// "3 jobs", "1 job".
std::string counted(std::size_t count, std::string_view noun);

// Returns a word of a command line that a person may copy, in quotes where a shell would not take it literally.
std::string shell_quoted(const std::string& word);

// "2 kernels were wrong and not submitted": the last sentence of a call with --keep-going.
std::string left_out_text(std::size_t kernel_count, std::string_view what_was_not_done);

}  // namespace kq::producer
