#include "producer/formats/io_contract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::producer {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kGood = R"({
  "kernel_name": "scale", "compiler_options": ["--use_fast_math"],
  "args": [{"name": "x", "type": "tensor"},
           {"name": "out", "type": "tensor", "role": "output", "tensor_spec": {"shape": [8, 4], "dtype": "float32"}},
           {"name": "n", "type": "int", "value": 32},
           {"name": "a", "type": "float", "value": 2},
           {"name": "flag", "type": "bool", "value": true, "is_meta": false}],
  "launch": {"grid": {"x": 2}, "block": {"x": 256, "y": 1, "z": 1}, "shared_mem_bytes": 4096},
  "of_another_system": 1})";

// Returns the mistakes of the valid contract after `from` is replaced by `to`.
std::vector<std::string> with(std::string_view from, std::string_view to) {
  std::string text(kGood);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return io_contract_mistakes("scale.json", text.replace(at, from.size(), to));
}

TEST(IoContract, a_good_one_has_no_mistakes) {
  EXPECT_THAT(io_contract_mistakes("scale.json", kGood), IsEmpty());
}

TEST(IoContract, says_where_it_is_not_json) {
  EXPECT_THAT(io_contract_mistakes("scale.json", "{]"),
              ElementsAre(testing::StartsWith("scale.json: not JSON, column 2: syntax error")));
  EXPECT_THAT(io_contract_mistakes("scale.json", "[1]"),
              ElementsAre("scale.json: an IOContract is an object {args, launch}, got a list"));
}

TEST(IoContract, names_what_is_missing) {
  EXPECT_THAT(io_contract_mistakes("scale.json", "{}"),
              ElementsAre("scale.json: args must be a list of the kernel's arguments, got nothing",
                          "scale.json: launch must be an object {grid, block, shared_mem_bytes}, got nothing"));
  EXPECT_THAT(with(R"("grid": {"x": 2}, )", ""),
              ElementsAre("scale.json: launch.grid must be an object {x, y, z}, got nothing"));
  EXPECT_THAT(with(R"({"name": "x", )", "{"), ElementsAre("scale.json: args[0].name must be a text, got nothing"));
}

TEST(IoContract, names_the_known_words) {
  EXPECT_THAT(with(R"("role": "output")", R"("role": "in")"),
              ElementsAre("scale.json: args[1].role must be input, output or inout, got 'in'"));
  EXPECT_THAT(with(R"("type": "int")", R"("type": "str")"),
              ElementsAre("scale.json: args[2].type must be tensor, int, float or bool, got 'str'"));
  EXPECT_THAT(
      with(R"("dtype": "float32")", R"("dtype": "fp32")"),
      ElementsAre("scale.json: args[1].tensor_spec.dtype must be float64, float32, float16, bfloat16, int64, int32, "
                  "int16, int8, uint8, bool, complex64, complex128, "
                  "float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu, uint16, "
                  "uint32, uint64 or complex32, got 'fp32'"));
}

TEST(IoContract, an_output_needs_its_shape) {
  EXPECT_THAT(with(R"(, "tensor_spec": {"shape": [8, 4], "dtype": "float32"})", ""),
              ElementsAre("scale.json: args[1].tensor_spec is missing: an output needs {shape, dtype}"));
  EXPECT_THAT(with("[8, 4]", "[8, -4]"),
              ElementsAre("scale.json: args[1].tensor_spec.shape[1] must be a positive integer, got -4"));
  EXPECT_THAT(with("[8, 4]", "8"),
              ElementsAre("scale.json: args[1].tensor_spec.shape must be a list of at most 8 sizes, got 8"));
  EXPECT_THAT(with(R"("role": "output")", R"("role": "input")"),
              ElementsAre("scale.json: args has no output: one argument needs the role output or inout"));
}

TEST(IoContract, a_value_has_the_type_it_says) {
  EXPECT_THAT(with(R"("value": 32)", R"("value": 1.5)"),
              ElementsAre("scale.json: args[2].value must be an integer, got 1.5"));
  EXPECT_THAT(with(R"(, "value": 32)", ""), ElementsAre("scale.json: args[2].value must be an integer, got nothing"));
  EXPECT_THAT(with(R"("value": 2})", R"("value": "2"})"),
              ElementsAre("scale.json: args[3].value must be a number, got '2'"));
  EXPECT_THAT(
      with(R"("value": 32)", R"("value": 32, "role": "output")"),
      ElementsAre("scale.json: args[2].role must be input for a value, only a tensor can be written, got 'output'"));
}

TEST(IoContract, a_launch_is_one_that_cuda_allows) {
  EXPECT_THAT(with(R"("x": 2})", R"("x": 0})"),
              ElementsAre("scale.json: launch.grid.x must be an integer from 1 to 2147483647, got 0"));
  EXPECT_THAT(with(R"("y": 1)", R"("y": 8)"),
              ElementsAre("scale.json: launch.block has 2048 threads, at most 1024 are allowed"));
  EXPECT_THAT(with("4096", "1e9"),
              ElementsAre("scale.json: launch.shared_mem_bytes must be an integer from 0 to 232448, got 1e+09"));
}

TEST(IoContract, lists_every_mistake) {
  EXPECT_THAT(
      io_contract_mistakes("a.json", R"({"kernel_name": 1, "compiler_options": [2], "args": [3], "launch": 4})"),
      ElementsAre("a.json: kernel_name must be a text, got 1", "a.json: compiler_options[0] must be a text, got 2",
                  "a.json: args[0] must be an object {name, type, role, ...}, got 3",
                  "a.json: launch must be an object {grid, block, shared_mem_bytes}, got 4"));
}

TEST(IoContract, python_needs_what_it_uses) {
  const auto mistakes_of = [](std::string_view text, Backend backend) {
    return io_contract_mistakes("k.json", text, backend);
  };
  constexpr std::string_view kArgs =
      R"("args": [{"name": "mode", "type": "str", "value": "a"}, {"name": "out", "type": "tensor", "role": "inout"}])";
  EXPECT_THAT(mistakes_of(R"({"function_name": "f"})", Backend::torch), IsEmpty());
  EXPECT_THAT(
      mistakes_of(R"({"metadata": {"entry_point": "f"}, "io": {)" + std::string(kArgs) + "}}", Backend::multi_kernel),
      IsEmpty());
  EXPECT_THAT(mistakes_of(R"({"metadata": {"entry_point": 3}})", Backend::multi_kernel),
              ElementsAre("k.json: metadata.entry_point must be a text, got 3"));
  EXPECT_THAT(mistakes_of("{}", Backend::multi_kernel), ElementsAre("k.json: entry_point must be a text, got nothing"));
  EXPECT_THAT(mistakes_of("{" + std::string(kArgs) + "}", Backend::triton),
              ElementsAre("k.json: launch must be an object {grid, num_warps, num_stages}, got nothing"));
  EXPECT_THAT(mistakes_of(R"({"io": {"launch": {"grid": {"x": 2}, "num_warps": 3, "num_stages": 0}, )" +
                              std::string(kArgs) + "}}",
                          Backend::triton),
              ElementsAre("k.json: io.launch.num_stages must be an integer from 1 to 32, got 0",
                          "k.json: io.launch.num_warps must be 1, 2, 4, 8, 16 or 32, got 3"));
}

TEST(IoContract, is_distinguished_from_other_files) {
  EXPECT_TRUE(is_io_contract(kGood));
  EXPECT_TRUE(is_io_contract(R"({"metadata": {}})"));
  for (const char* other : {"", "{", "[1]", R"({"results": []})"}) EXPECT_FALSE(is_io_contract(other)) << other;
}

TEST(IoContract, sizes_are_bounded) {
  std::string args = R"({"name": "x", "type": "tensor", "role": "inout"})";
  for (int i = 0; i < 64; ++i) args += R"(, {"name": "x", "type": "tensor"})";
  EXPECT_THAT(io_contract_mistakes("a.json", R"({"launch": {"grid": {}, "block": {}}, "args": [)" + args + "]}"),
              ElementsAre("a.json: args has 65 entries, at most 64 are allowed"));
}

}  // namespace
}  // namespace kq::producer
