// Fuzzes the judge's reading of the tensor tables that a child writes, and the layout that the judge computes from
// them.
#include <cstring>

#include "core/base/check.h"
#include "gpu_worker/judge/tensor/layout.h"
#include "gpu_worker/judge/tensor/table.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;
using namespace kq::judge;

namespace {

constexpr std::size_t kRowsMax = channel::kInputsMax;

// Returns the rows of the input. If the input ends within a row, the rest of the row is zeros.
std::vector<channel::TensorDesc> rows_of(std::string_view rest) {
  std::vector<channel::TensorDesc> rows;
  while (!rest.empty() && rows.size() < kRowsMax) {
    const std::string_view bytes = fuzz::take(rest, sizeof(channel::TensorDesc));
    std::memcpy(static_cast<void*>(&rows.emplace_back()), bytes.data(), bytes.size());
  }
  return rows;
}

void check_tensor(const judge::Tensor& tensor) {
  KQ_CHECK(!judge::describe(tensor).empty());
  if (tensor.kind != channel::Kind::tensor) {
    KQ_CHECK(tensor.shape.empty() && tensor.bytes == 0);
    return;
  }
  KQ_CHECK(tensor.shape.size() <= channel::kDimsMax && tensor.bytes <= judge::kTensorBytesMax);
  const auto again = judge::read_table(std::vector{judge::row_of(tensor)}, "row");
  KQ_CHECK(again && judge::difference(tensor, again->front()).reason.empty() && again->front().bytes == tensor.bytes);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto table = judge::read_table(rows_of(fuzz::text_of(data, size)), "input");
  if (!table) {
    KQ_CHECK(table.error().starts_with("input "));
    return 0;
  }
  for (const judge::Tensor& tensor : *table) check_tensor(tensor);
  // Using the table for inputs, outputs and states gives the largest layout that a child can cause.
  const judge::Layout layout = judge::make_layout({.inputs = *table, .outputs = *table, .states = *table});
  KQ_CHECK(judge::fits(layout, layout.tables));
  std::uint64_t end = 0;
  for (const auto* part : {&layout.tables.inputs, &layout.tables.states, &layout.tables.outputs}) {
    for (const judge::Tensor& tensor : *part) {
      KQ_CHECK(tensor.offset % channel::kAlign == 0 && tensor.offset >= end + channel::kAlign);
      end = tensor.offset + tensor.bytes;
    }
  }
  KQ_CHECK(layout.bytes() >= end + channel::kAlign);
  return 0;
}
