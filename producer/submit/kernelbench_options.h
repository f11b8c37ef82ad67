// The key=value words of KernelBench's evaluation scripts (eval_from_generations.py, run_and_check.py), so that a
// command line of theirs works after `kq-submit`. One table; what has no meaning here is accepted and said.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.h"
#include "producer/submit/inspect.h"

namespace kq::producer {

// "level=1": a name, then =; no path that exists.
bool is_kernelbench_word(const std::string& word);

// Applies the words to the request, which may get its inputs from them; gives back what was passed over, one sentence
// each.
Expected<std::vector<std::string>> apply_kernelbench_words(const std::vector<std::string>& words,
                                                           SubmitRequest& request);

}  // namespace kq::producer
