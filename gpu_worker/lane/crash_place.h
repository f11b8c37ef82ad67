// Where a submission's process died, by what faulthandler wrote into its log.
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

}  // namespace kq::worker
