// What a CUDA C++ source names, as facts: identifiers outside comments, strings and character literals, after the
// preprocessor (guard/preprocessor.h). No compiler and no header is needed.
//
//   call    a name with what stands in the parentheses or braces behind it, also those of a variable of that type:
//           "cudaStreamCreate" "&s", "at::cuda::CUDAStreamGuard" "getCurrentCUDAStream()"
//   value   a name alone
//   text    a string that is a name, in a source that looks functions up by name
//   option  what a #define or #pragma says
//   note    what makes a source hard to read: "source.macros" beyond measure, "source.parts", "source.line"
//
// A plain number that is cast to a stream, or stands as the stream of a launch, is a call of "stream_number" unless it
// is the default stream.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <vector>

#include "guard/facts.h"
#include "guard/preprocessor.h"

namespace kq::guard {

struct CudaFacts {
  std::deque<std::string> texts;  // what the facts are views of
  std::vector<Fact> facts;        // in order
  std::size_t work = 0;           // that its macros took
};

// Facts of one source. `others`: further files of the submission, which it may include.
CudaFacts cuda_facts(const CppSource& source, std::span<const CppSource> others = {});

// The same of what `g++ -E` made of a source named `source.name`; text from headers that are not among `others` is left
// out.
CudaFacts preprocessed_facts(const CppSource& source, std::span<const CppSource> others = {});

}  // namespace kq::guard
