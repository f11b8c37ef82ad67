// The expected outcomes of kq sweep --expect: how each job should end on each kind of device.
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
  std::string reason;  // empty for any reason
};

// The expected outcomes of a file, compared with rows one at a time.
class Expectations {
 public:
  // Parses CSV with the header job,device,verdict,reason. `name` is the name of the file, for error messages.
  static Expected<Expectations> parse(std::string_view text, const std::string& name);
  static Expected<Expectations> read(const std::string& path);

  // Compares one row with its expectation. Returns "job device: expected X, got Y", or nothing when they agree.
  std::optional<std::string> disagreement(const RunRow& row);

  // Returns a sentence for each expected job without a row. To be called after all rows.
  std::vector<std::string> missing() const;

 private:
  std::map<std::pair<std::string, DeviceKind>, Expectation> rows_;
  std::map<std::string, bool> seen_;  // every job of the file, and whether it had a row
};

}  // namespace kq::tools
