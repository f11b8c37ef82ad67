// The report of kq-doctor: what of kq works on this machine, and what to do about the rest.
#pragma once

#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "producer/client/json.h"

namespace kq::tools {

// weak: some jobs cannot run, or are less isolated. bad: no worker can run.
enum class Health { good, weak, bad };
constexpr std::array<std::string_view, 3> enum_names(Health) {
  return {"good", "weak", "bad"};
}

// One line of the report.
struct Finding {
  std::string what;  // such as "sandbox: seccomp"
  Health health = Health::good;
  std::string found;
  std::string advice;  // empty when there is nothing to do
};

// Makes findings of the JSON that kq-worker --self-test printed. Any part of `self_test` may be missing or of another
// type. `torch_advice` is the advice for a worker whose Python has no torch.
std::vector<Finding> findings_of(const producer::Json& self_test, const std::string& torch_advice);

// Looks for a program in the folders of `path`, which has the format of PATH.
Finding program_finding(const std::string& what, const std::string& program, const std::string& path,
                        const std::string& advice);

// Returns the worst health of all findings.
Health worst(const std::vector<Finding>& findings);
std::string doctor_text(const std::vector<Finding>& findings);
std::string doctor_json(const std::vector<Finding>& findings);

}  // namespace kq::tools
