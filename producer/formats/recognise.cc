#include "producer/formats/recognise.h"

#include <algorithm>
#include <cctype>

namespace kq::producer {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Returns whether `text` has `phrase` as whole words.
bool holds(std::string_view text, std::string_view phrase) {
  for (std::size_t at = text.find(phrase); at != std::string_view::npos; at = text.find(phrase, at + 1)) {
    const std::size_t end = at + phrase.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

// Returns whether any line begins with these words, after blanks.
bool line_begins(std::string_view text, std::string_view words) {
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    std::string_view line = text.substr(start, end - start);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.starts_with(words) && (line.size() == words.size() || !is_word(line[words.size()]))) return true;
    start = end + 1;
  }
  return false;
}

}  // namespace

bool is_device_code(std::string_view file_name) {
  return file_name.ends_with(".cu") || file_name.ends_with(".ptx") || file_name.ends_with(".cubin");
}

Backend recognise_backend(std::string_view file_name, std::string_view text) {
  if (is_device_code(file_name)) return Backend::cuda;
  // A source may lack the import of triton, because the worker adds usual imports.
  const bool imports = line_begins(text, "import triton") || line_begins(text, "from triton");
  if (line_begins(text, "@triton.jit") || (imports && line_begins(text, "@jit"))) return Backend::triton;
  for (const char* loader : {"from torch.utils.cpp_extension import", "import torch.utils.cpp_extension",
                             "from torch.utils import cpp_extension"}) {
    if (line_begins(text, loader)) return Backend::torch_cuda;
  }
  // A source may lack that import too, because torch has imported the module for itself in most processes.
  for (const char* call : {"torch.utils.cpp_extension.load_inline(", "torch.utils.cpp_extension.load("}) {
    if (text.find(call) != std::string_view::npos) return Backend::torch_cuda;
  }
  return Backend::torch;
}

bool is_torch_extension(std::string_view text) {
  return line_begins(text, "PYBIND11_MODULE") && recognise_backend("", text) == Backend::torch;
}

std::string backend_error(std::string_view file_name, Backend backend) {
  if (backend == Backend::eval_program) return "";
  const bool is_device = is_device_code(file_name);
  if (is_device == (backend == Backend::cuda)) return "";
  if (is_device)
    return "backend " + std::string(to_string(backend)) +
           " takes a .py file, a .cu, .ptx or .cubin file is of backend cuda";
  return "backend cuda takes a .cu, .ptx or .cubin file with its .json beside it, Python that compiles CUDA itself is "
         "of backend torch_cuda";
}

std::vector<std::string> missing_from_problem(std::string_view text) {
  std::vector<std::string> missing;
  if (!holds(text, "class Model")) missing.emplace_back("class Model");
  if (!holds(text, "get_inputs") && !holds(text, "get_input_groups")) missing.emplace_back("get_inputs");
  return missing;
}

bool is_identifier(std::string_view text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && is_letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace kq::producer
