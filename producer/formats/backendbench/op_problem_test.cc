#include "producer/formats/backendbench/op_problem.h"

#include <gtest/gtest.h>

namespace kq::producer::backendbench {
namespace {

TEST(op_problem, begins_with_the_call_as_a_text_of_python) {
  const std::string text = op_problem("add.Tensor", "((T([2], f32), 'a\"b\\\\'), {'alpha': 2})", true);
  EXPECT_TRUE(text.starts_with(
      R"(CALL = "{\"op\": \"add.Tensor\", \"positional\": [{\"tensor\": [2], \"dtype\": \"float32\"}, )"
      R"(\"a\\\"b\\\\\"], \"named\": {\"alpha\": 2}, \"strict\": true}")"
      "\n"))
      << text.substr(0, 200);
  EXPECT_TRUE(text.ends_with(kOpProblem));
}

TEST(op_problem, of_equal_calls_is_equal) {
  EXPECT_EQ(op_problem("add.Tensor", "((1,), {})", false), op_problem("add.Tensor", "( (1,), {} )", false));
  EXPECT_NE(op_problem("add.Tensor", "((1,), {})", false), op_problem("add.Tensor", "((1,), {})", true));
}

}  // namespace
}  // namespace kq::producer::backendbench
