// Where a submission failed: by what faulthandler wrote into the log of a process that died, or by its message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/submission.h"

namespace kq::worker {

// Returns "file:line" of the line of Python that ran when the process died of a signal, or an empty text where the log
// does not tell. A place in one of the submission's files has the file's name; other places have their whole paths. The
// log is untrusted text.
std::string crash_place(std::string_view log, const std::vector<SourceFile>& files);

// Returns "file:line" of the submission where the message of a failed child ends with it, as in "TypeError: no such
// attribute (add.py:12)", or an empty text. The message is untrusted text.
std::string message_place(std::string_view message, const std::vector<SourceFile>& files);

}  // namespace kq::worker
