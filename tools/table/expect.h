// --expect: how each job of a sweep ought to end on each kind of device.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/device.h"
#include "core/records.h"

namespace kq::tools {

struct Expectation {
  VerdictName verdict = VerdictName::passed;
  std::string reason;  // empty: any
};

class Expectations {
 public:
  // CSV with the header job,device,verdict,reason; `name` is the file's, for complaints.
  static Expected<Expectations> parse(std::string_view text, const std::string& name);
  static Expected<Expectations> read(const std::string& path);

  // Judges one row: "job device: expected X, got Y", or nothing when it ended as it should.
  std::optional<std::string> disagreement(const RunRow& row);

  // After all rows: expected jobs that never came.
  std::vector<std::string> missing() const;

 private:
  std::map<std::pair<std::string, DeviceKind>, Expectation> rows_;
  std::map<std::string, bool> seen_;  // every job of the file
};

}  // namespace kq::tools
