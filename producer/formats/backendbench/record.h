// Reads the arguments of one call of an operator, as BackendBench's traces and data sets write them in Python's syntax:
//
//   ((T([2, 3], f32), [T([4], i64, [2])], -1.5, None), {'dtype': torch.float16, 'device': torch.device('cuda')})
//
//   record = "(" tuple "," "{" [ text ":" value { "," text ":" value } [ "," ] ] "}" [ "," ] ")"
//   value  = number | [ "-" | "+" ] "inf" | "nan" | text | "True" | "False" | "None" | dtype | "torch." name
//          | tuple | list | tensor | "torch.device(" text [ "," number ] ")"
//   tensor = "T(" list of sizes "," dtype [ "," list of strides, in elements ] [ "," "device" "=" value ] ")"
//   dtype  = "f32" and the other short names of dtypes, also between quotation marks
//
// "th." stands for "torch.", and the whole may lie between quotation marks. Nothing is evaluated. The result is JSON,
// from which op_problem.py makes the arguments:
//
//   numbers, texts, true, false, null                   themselves
//   {"number": "inf"}                                   inf, -inf or nan
//   {"list": [...]}, {"tuple": [...]}                   with values
//   {"torch": "float16"}                                a member of torch: a dtype, layout or memory format
//   {"device": "cuda", "index": 0}                      a device, the index only where given
//   {"tensor": [2, 3], "dtype": "float32", "strides": [3, 1]}   strides only where given
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/error.h"
#include "producer/client/json.h"

namespace kq::producer::backendbench {

inline constexpr std::size_t kRecordBytesMax = 256u << 10;
inline constexpr std::size_t kRecordDepthMax = 16;      // of values inside values
inline constexpr std::size_t kRecordTensorsMax = 64;    // as many as one side of a problem may have
inline constexpr std::size_t kTensorDimensionsMax = 8;  // likewise

struct Record {
  JsonArray positional;
  JsonObject named;
  std::uint64_t tensor_bytes = 0;  // of all tensors, each as if it were contiguous
};

// Returns the record. The error text starts with the place: "column 7: ...".
Expected<Record> parse_record(std::string_view text);

}  // namespace kq::producer::backendbench
