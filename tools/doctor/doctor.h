// What works on this machine, and what to do about the rest.
#pragma once

#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "producer/client/json.h"

namespace kq::tools {

enum class Health { good, weak, bad };  // bad: no worker can run; weak: some jobs cannot, or are less well kept apart
constexpr std::array<std::string_view, 3> enum_names(Health) {
  return {"good", "weak", "bad"};
}

struct Finding {
  std::string what;  // "sandbox: seccomp"
  Health health = Health::good;
  std::string found;
  std::string advice;  // empty where all is well
};

// `self_test` is what kq-worker --self-test printed. Nothing of it is believed to be there.
std::vector<Finding> findings_of(const producer::Json& self_test);

// A program that is looked for in PATH.
Finding program_finding(const std::string& what, const std::string& program, const std::string& path,
                        const std::string& advice);

Health worst(const std::vector<Finding>& findings);
std::string doctor_text(const std::vector<Finding>& findings);
std::string doctor_json(const std::vector<Finding>& findings);

}  // namespace kq::tools
