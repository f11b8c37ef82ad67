// Extracts the names that a CUDA C++ source uses, as facts: identifiers outside comments, strings and character
// literals, after the preprocessor (guard/preprocessor.h). No compiler and no library header is needed.
//
//   call    a name with the text in the parentheses or braces behind it, or behind a variable of that type:
//           "cudaStreamCreate" "&s", "at::cuda::CUDAStreamGuard" "getCurrentCUDAStream()"
//   value   a name alone
//   text    a string that is a name, in a source that looks up functions by name
//   option  the text of a #define or #pragma
//   note    a reason why the source is hard to read: "source.macros" (macros over a limit), "source.parts" (only partly
//           read), "source.line" (a #line directive)
//
// A plain number that is cast to a stream, or is the stream of a launch, is a call of "stream_number", unless it is the
// default stream.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "guard/facts.h"
#include "guard/preprocessor.h"

namespace kq::guard {

struct CudaFacts {
  std::deque<std::string> texts;  // the facts are views of these texts
  std::vector<Fact> facts;        // in the order of the source
  std::size_t work = 0;           // the number of tokens that expanding its macros took
};

// Returns the facts of one source. `others` are the other files of the submission, which the source may include.
CudaFacts cuda_facts(const CppSource& source, std::span<const CppSource> others = {});

// Returns the facts of the output of `g++ -E` for a source named `source.name`. Text of headers that are not among
// `others` is left out.
CudaFacts preprocessed_facts(const CppSource& source, std::span<const CppSource> others = {});

}  // namespace kq::guard
