// The public id of a job.
//
// The id holds the job's number, run and label, because the broker finds a result by run and label. So every gateway
// beside a broker answers for every id, also after a restart, and a gateway keeps no table of ids.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/job.h"

namespace kq::gateway {

struct JobId {
  Sequence seq = 0;
  std::string run;  // as the submitter names it
  std::string label;

  // "17.ZXZhbHVhdGUAYWJj": the number, and run NUL label in base64url. Clients take it as opaque text.
  std::string text() const;
  // Fails with not_found where the text is no id.
  static Expected<JobId> parse(std::string_view text);

  friend bool operator==(const JobId&, const JobId&) = default;
};

}  // namespace kq::gateway
