// JSON Lines: one submission per line, in a .jsonl file or a directory's submissions.jsonl.
//
//   {"id": "relu/fast", "problem": "problems/relu.py", "backend": "triton", "path": "submissions/relu/fast.py",
//    "device": "cuda", "gpu": "NVIDIA H200", "author": "ada", "precision": "fp16", "rtol": 0.01, "atol": 0.01,
//    "params": {"correctness": 5, "warmup": 2, "timed": 20}, "tags": {"model": "m1"}}
//
// A line needs `problem` or `problem_source`, and one of `path`, `source` and `files`. `source` is the text of the
// kernel, and a CUDA text also needs its IOContract as `io`. `files` is an object of texts by file name, whose first is
// the entry: {"new.py": "...", "helper.py": "..."}. Paths are relative to the file. `problem` may also be a name in
// --problems DIR; beside `problem_source`, the text of the problem, it is only a name. Unknown keys are ignored,
// because other systems add their own; those that look like a known one are noted.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "producer/client/json.h"
#include "producer/formats/candidate.h"

namespace kq::producer {

inline constexpr std::size_t kLineBytesMax = 8u << 20;  // enough for the largest source with every character escaped

std::string recognise_jsonl(const std::filesystem::path& input);
// A key of a line that kq does not know.
struct UnknownKey {
  std::string key;    // a key within params has "params." before it
  std::string meant;  // the known keys that it may stand for; empty: none is similar
};
// Returns the unknown keys of a line's object, or of an object of settings for several lines.
std::vector<UnknownKey> unknown_keys(const JsonObject& line);

void read_jsonl(const std::filesystem::path& input, const InputOptions& options, const CandidateSink& sink);

}  // namespace kq::producer
