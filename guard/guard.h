// Static detection: whether what a submission's source says it does breaks a rule.
//
// It names file, line and rule before anything runs. A submission that gets past it still meets the judge's clock,
// which does not care how a stream was made; so the rules that reject aim at no false alarm first, and what only looks
// odd is told for review and changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "guard/facts.h"
#include "guard/preprocessor.h"
#include "guard/rules.h"

namespace kq::guard {

inline constexpr std::size_t kFindingsMax = 64;  // of each severity: what a person can read; the rest is not reported

// Of macros in all texts of a submission's Python together; a text of its own may take half of it. Nobody writes what
// goes over that.
inline constexpr std::size_t kFactsWorkMax = 2 * kWorkMax;

struct Finding {
  std::string rule{};  // "cuda_stream_create", of guard/rules.cc
  Severity severity = Severity::reject;
  std::string reason{};  // of the verdict: "stream"
  std::string file{};
  std::uint32_t line = 0;
  std::string message{};  // "creates a CUDA stream: torch.cuda.Stream"
  std::string hint{};     // what would be right

  friend bool operator==(const Finding&, const Finding&) = default;
};

// The first finding that ends the job; null where there are reviews at most.
const Finding* first_rejected(std::span<const Finding> findings);

// Judges the facts of all files of a submission (guard/facts.h), in their order, each rule at most once per line. C++
// texts inside Python sources are judged like files, in the lines of the source.
Expected<std::vector<Finding>> judge_facts(std::string_view facts);

// Judges one CUDA C++ file; words in comments and strings are none. `others`: files of the submission that it may
// include.
std::vector<Finding> judge_cuda(const CppSource& source, std::span<const CppSource> others = {});
// The same of a preprocessor's output (`g++ -E`), with its line marks.
std::vector<Finding> judge_preprocessed(const CppSource& source, std::span<const CppSource> others = {});

// Whether a compiler's flag asks for a standard before C++17, other than GNU's: it has trigraphs.
bool asks_for_trigraphs(std::string_view flag);
// Judges a source that is compiled by one: what they stand for nothing here reads.
std::vector<Finding> judge_trigraphs(const CppSource& source);

// Judges facts that were read elsewhere: those of a built library (guard/elf.h).
std::vector<Finding> judge(std::span<const Fact> facts);

}  // namespace kq::guard
