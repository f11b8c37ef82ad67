// Cheap looks at Python text. They help a person who mixed files up; what the text means is for the worker to find out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/submission.h"

namespace kq::producer {

// Whether a file holds device code, which needs a contract beside it: .cu, .ptx, .cubin.
bool is_device_code(std::string_view file_name);

// The backend of a file nobody named one for: device code is cuda, Python that has a @triton.jit is triton, that
// imports from torch.utils.cpp_extension torch_cuda, the rest torch.
Backend recognise_backend(std::string_view file_name, std::string_view text);

// Why a file cannot be of that backend, or nothing: "backend cuda takes a .cu file ...".
std::string backend_complaint(std::string_view file_name, Backend backend);

// Of "class Model", "get_inputs" and "get_init_inputs", what the text nowhere says.
std::vector<std::string> missing_from_problem(std::string_view text);

}  // namespace kq::producer
