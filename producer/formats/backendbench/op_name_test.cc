#include "producer/formats/backendbench/op_name.h"

#include <gtest/gtest.h>

namespace kq::producer::backendbench {
namespace {

TEST(op_name, has_one_form_whatever_stands_in_front) {
  EXPECT_EQ(op_name("aten.add.Tensor"), "add.Tensor");
  EXPECT_EQ(op_name("aten::add.Tensor"), "add.Tensor");
  EXPECT_EQ(op_name("torch.ops.aten.add_.Tensor"), "add_.Tensor");
  EXPECT_EQ(op_name("aten.relu"), "relu.default");
  EXPECT_EQ(op_name("relu"), "relu.default");
  EXPECT_EQ(op_name("torchvision.nms.default"), "torchvision.nms.default");
  EXPECT_EQ(op_name("aten.__and__.Tensor"), "__and__.Tensor");
}

TEST(op_name, that_is_none_is_refused) {
  for (const char* name : {"", "aten.", "a.b.c.d", "add Tensor", "1.2", "aten.add-Tensor", "aten..Tensor"})
    EXPECT_FALSE(op_name(name)) << name;
}

TEST(op_name, of_a_folder_is_the_operator_again) {
  for (const char* op :
       {"add.Tensor", "add_.Tensor", "__and__.Tensor", "relu.default", "_softmax.default", "sum.dim_IntList"})
    EXPECT_EQ(op_of_folder(folder_name(op)), op);
  EXPECT_EQ(folder_name("add_.Tensor"), "add___Tensor");
  for (const char* folder : {"", "add", "__Tensor", "add__", "a b__Tensor"})
    EXPECT_FALSE(op_of_folder(folder)) << folder;
}

}  // namespace
}  // namespace kq::producer::backendbench
