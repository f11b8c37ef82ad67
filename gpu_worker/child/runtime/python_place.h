// The line of Python from which the present thread has called native code.
#pragma once

#include <string>
#include <string_view>

namespace kq::runtime {

// Returns "FILE:LINE" of the innermost frame of this thread that is neither of a library nor of the harness, or an
// empty text where the process has no Python, the thread runs none, or Python does not tell. Needs no interpreter lock:
// the thread is inside native code, so its frames do not change.
std::string python_place();

// The same for the text that _Py_DumpTraceback has written: lines `  File "FILE", line N in FUNCTION`, the innermost
// frame first.
std::string place_in_traceback(std::string_view text);

}  // namespace kq::runtime
