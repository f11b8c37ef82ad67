// The problem that is one call of an operator.
#pragma once

#include <string>
#include <string_view>

namespace kq::producer::backendbench {

// The text of op_problem.py.
extern const std::string_view kOpProblem;

// Returns the text of the problem for a call whose arguments parse_record() takes. The tolerances of a strict problem
// are those of BackendBench.
std::string op_problem(const std::string& op, const std::string& args, bool strict);

}  // namespace kq::producer::backendbench
