// The guard: finds violations of the rules in the sources and binaries of a submission, without running them.
//
// Each finding names rule, file and line. The guard need not find everything, because the judge's clock measures a
// submission correctly however its streams were made. So rules that reject are written to have no false alarms, and
// code that only looks suspicious is reported for review, which changes no verdict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/submission.h"
#include "guard/facts.h"
#include "guard/preprocessor.h"
#include "guard/rules.h"

namespace kq::guard {

inline constexpr std::size_t kFindingsMax = 64;  // per severity; further findings are dropped

// Limit of the macro expansion in all C++ texts of a submission's Python files together, in tokens. One text may take
// half of it. Honest sources stay far below.
inline constexpr std::size_t kFactsWorkMax = 2 * kWorkMax;

// One violation of a rule.
struct Finding {
  std::string rule{};  // the name of a rule in guard/rules.cc: "cuda_stream_create"
  Severity severity = Severity::reject;
  std::string reason{};  // the reason of the verdict: "stream"
  std::string file{};
  std::uint32_t line = 0;
  std::string message{};  // "creates a CUDA stream: torch.cuda.Stream"
  std::string hint{};     // what the author should do instead

  friend bool operator==(const Finding&, const Finding&) = default;
};

// What a job allows its submission (Trials in core/submission.h). Graphs include streams, because a capture needs one.
struct Policy {
  Streams streams = Streams::reject;
  Graphs graphs = Graphs::reject;
};
// Returns whether the policy allows what a rule rejects.
bool is_allowed(std::string_view rule, const Policy& policy);

// Returns the first finding of severity `reject` that the policy does not allow, or null if there is none.
const Finding* first_rejected(std::span<const Finding> findings, const Policy& policy = {});

// Judges the facts of all Python files of a submission (guard/facts.h), in their order. Each rule is reported at most
// once per line. C++ texts inside Python sources are judged like CUDA files, with the lines of the Python file.
Expected<std::vector<Finding>> judge_facts(std::string_view facts);

// Judges one CUDA C++ file, without its comments and strings. `others` are the files of the submission that it may
// include.
std::vector<Finding> judge_cuda(const CppSource& source, std::span<const CppSource> others = {});
// Judges the output of a preprocessor (`g++ -E`), by its line marks.
std::vector<Finding> judge_preprocessed(const CppSource& source, std::span<const CppSource> others = {});

// Returns whether a compiler flag selects an ISO standard before C++17, which has trigraphs.
bool asks_for_trigraphs(std::string_view flag);
// Judges a source that is compiled with trigraphs. The lexer does not replace trigraphs, so those that hide code are
// reported.
std::vector<Finding> judge_trigraphs(const CppSource& source);

// Judges facts that were made elsewhere, such as those of a built library (guard/elf.h).
std::vector<Finding> judge(std::span<const Fact> facts);

}  // namespace kq::guard
