#include "producer/formats/backendbench/record.h"

#include <gtest/gtest.h>

namespace kq::producer::backendbench {
namespace {

std::string read(std::string_view text) {
  const auto record = parse_record(text);
  if (!record) return record.error().message;
  return to_text(Json{record->positional}) + " " + to_text(Json{record->named});
}

TEST(record, has_every_kind_of_value) {
  EXPECT_EQ(read("((), {})"), "[] {}");
  EXPECT_EQ(read("((T([2, 3], f32), T([4], i64, [2])), {})"),
            R"([{"tensor": [2, 3], "dtype": "float32"}, {"tensor": [4], "dtype": "int64", "strides": [2]}] {})");
  EXPECT_EQ(read("((T([], b8, device='cuda:0'), T([0], u8, [1], torch.device('cuda', 1))), {})"),
            R"([{"tensor": [], "dtype": "bool"}, {"tensor": [0], "dtype": "uint8", "strides": [1]}] {})");
  EXPECT_EQ(read("((1, -2, 1.5, -0.25, 1e-05, True, False, None), {})"),
            "[1, -2, 1.5, -0.25, 1e-05, true, false, null] {}");
  EXPECT_EQ(read("((inf, -inf, nan), {})"), R"([{"number": "inf"}, {"number": "-inf"}, {"number": "nan"}] {})");
  EXPECT_EQ(read("(([1, [2]], (3,), (4)), {})"), R"([{"list": [1, {"list": [2]}]}, {"tuple": [3]}, 4] {})");
  EXPECT_EQ(read("((bf16, 'f16', torch.int8, th.strided, torch.channels_last), {})"),
            R"([{"torch": "bfloat16"}, {"torch": "float16"}, {"torch": "int8"}, )"
            R"({"torch": "strided"}, {"torch": "channels_last"}] {})");
  EXPECT_EQ(read("((torch.device('cuda'), \"torch.device('cuda', 0)\", torch.device(type='cpu')), {})").find("column"),
            0u);
  EXPECT_EQ(read("((torch.device('cuda'), \"torch.device('cuda', 0)\"), {})"),
            R"([{"device": "cuda"}, {"device": "cuda", "index": 0}] {})");
  EXPECT_EQ(read(R"((('a\'\n\x41\u00e9',), {'dtype': torch.float16, "memory_format": torch.contiguous_format, }))"),
            R"(["a'\nAé"] {"dtype": {"torch": "float16"}, "memory_format": {"torch": "contiguous_format"}})");
}

TEST(record, may_lie_between_quotation_marks) {
  EXPECT_EQ(read(" \"((T([2], f32), 'tanh'), {})\" "), R"([{"tensor": [2], "dtype": "float32"}, "tanh"] {})");
}

TEST(record, of_a_name_that_stands_twice_has_the_later_value) {
  EXPECT_EQ(read("((), {'a': 1, 'b': 2, 'a': 3})"), R"([] {"b": 2, "a": 3})");
}

TEST(record, knows_the_bytes_of_its_tensors) {
  EXPECT_EQ(parse_record("((T([2, 3], f32), [T([4], c128), T([7, 0], f64)]), {'out': T([5], b8)})")->tensor_bytes, 93u);
}

TEST(record, that_is_wrong_is_one_sentence_with_the_place) {
  EXPECT_EQ(read(""), "column 1: the record ends too early");
  EXPECT_EQ(read("None"), "column 1: expected a pair of a tuple and a dict of named arguments");
  EXPECT_EQ(read("((1), {})"), "column 1: expected a pair of a tuple and a dict of named arguments");
  EXPECT_EQ(read("((1,), {}) x"), "column 12: the record ends before this");
  EXPECT_EQ(read("((1 2), {})"), "column 5: expected ',' or ')'");
  EXPECT_EQ(read("((T([2], f99),), {})"),
            "column 10: 'f99' is no value; expected T(...), a dtype such as f32, torch.NAME, a number");
  EXPECT_EQ(read("((T([2], 3),), {})"), "column 11: expected a dtype such as f32 before this");
  EXPECT_EQ(read("((T([2], f32, [1, 1]),), {})"), "column 4: a tensor has as many strides as sizes");
  EXPECT_EQ(read("((T([-2], f32),), {})"), "column 5: the sizes of a tensor are at most 8 integers from 0 on");
  EXPECT_EQ(read("((__import__('os').system('ls'),), {})"),
            "column 3: '__import__' is no value; expected T(...), a dtype such as f32, torch.NAME, a number");
  EXPECT_EQ(read("((), {1: 2})"), "column 7: expected the name of an argument between quotation marks");
  EXPECT_EQ(read("(({'a': 1},), {})"), "column 3: a dict has only named arguments, as the second part of the pair");
  EXPECT_EQ(read("((9223372036854775808,), {})"), "column 3: the integer needs more than 64 bits");
  EXPECT_EQ(read("((012,), {})"), "column 3: an integer begins with 0");
  EXPECT_EQ(read("(('a), {})"), "column 11: a text has no closing quotation mark");
}

TEST(record, has_limits) {
  EXPECT_EQ(read("((" + std::string(20, '[') + std::string(20, ']') + ",), {})"),
            "column 17: more than 16 values lie inside one another");
  std::string many;
  for (int i = 0; i < 65; ++i) many += "T([1], f32),";
  EXPECT_NE(read("((" + many + "), {})").find("more than 64 tensors"), std::string::npos);
  EXPECT_NE(read("((T([4611686018427387904, 4], f32),), {})").find("tensors of 2^63 bytes"), std::string::npos);
  EXPECT_EQ(read(std::string(kRecordBytesMax + 1, ' ')), "column 1: the record has more than 262144 bytes");
}

}  // namespace
}  // namespace kq::producer::backendbench
