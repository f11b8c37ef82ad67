// Recognition of backends and problems by simple searches in the text. It finds mixed-up files before they are sent;
// the worker then parses the text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/submission.h"

namespace kq::producer {

// Returns whether a file has device code, which needs an IOContract: .cu, .ptx or .cubin.
bool is_device_code(std::string_view file_name);

// Returns the backend of a file for which none is named. Device code is `cuda`, Python with @triton.jit is `triton`,
// Python that imports torch.utils.cpp_extension, or calls its load_inline() or load() by that whole name, is
// `torch_cuda`, and other Python is `torch`.
Backend recognise_backend(std::string_view file_name, std::string_view text);

// Returns whether a .cu has its own module for Python, as torch.utils.cpp_extension.load builds it.
bool is_torch_extension(std::string_view text);
// Returns why a file cannot have this backend ("backend cuda takes a .cu file ..."), or an empty text where it can.
std::string backend_error(std::string_view file_name, Backend backend);

// Returns whether a text is a name of Python in ASCII: letters, digits and underscores, but no digit first.
bool is_identifier(std::string_view text);

// Returns those of "class Model" and "get_inputs" that the text of a problem lacks; get_init_inputs may be missing, and
// get_input_groups stands for get_inputs.
std::vector<std::string> missing_from_problem(std::string_view text);

}  // namespace kq::producer
