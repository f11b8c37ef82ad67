// The names of an operator of torch: "add.Tensor" in results, "aten.add.Tensor" in traces, "add__Tensor" as a folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kq::producer::backendbench {

// Returns "add.Tensor" of "aten.add.Tensor", "aten::add.Tensor", "torch.ops.aten.add.Tensor" or "add.Tensor". A name
// without an overload gets the overload "default". Returns nothing where the name is not of this form. Operators of
// other libraries keep the library's name: "torchvision.nms.default".
std::optional<std::string> op_name(std::string_view written);

// Returns the name of the folder of an operator's kernels: each "." becomes "__".
std::string folder_name(std::string_view op);

// Returns the operator of a folder. The last "__" stands before the overload, so that names with "__" of their own,
// such as "__and__.Tensor", survive. Returns nothing where the name has no overload.
std::optional<std::string> op_of_folder(std::string_view folder);

}  // namespace kq::producer::backendbench
