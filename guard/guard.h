// Static detection: whether what a submission's source says it does breaks a rule.
//
// It is a courtesy that names file, line and rule before anything runs. A submission that gets past it still meets the judge's clock,
// which does not care how a stream was made; so the rules here aim at no false alarm first, and at evasion second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace kq {

inline constexpr std::size_t kFindingsMax = 64;  // what a person can read; the rest is not reported

struct Finding {
  std::string rule;  // "cuda_stream_create", of guard/rules.h
  std::string file;
  std::uint32_t line = 0;
  std::string message;  // "creates a CUDA stream: torch.cuda.Stream"
  std::string hint;     // what would be right

  friend bool operator==(const Finding&, const Finding&) = default;
};

// Judges the facts of all files of a submission (guard/facts.h), in their order, each rule at most once per line.
Expected<std::vector<Finding>> judge_facts(std::string_view facts);

// Judges the identifiers of one CUDA C++ file; words in comments and strings are no identifiers.
std::vector<Finding> judge_cuda(std::string_view source, std::string_view file);

}  // namespace kq
