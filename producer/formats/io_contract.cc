#include "producer/formats/io_contract.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace kq::producer {
namespace {

constexpr std::size_t kArgsMax = 64;
constexpr std::size_t kRankMax = 8;
constexpr std::size_t kCompilerOptionsMax = 32;
constexpr std::int64_t kDimensionMax = std::int64_t{1} << 40;
// The limits of CUDA on any device (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
constexpr std::int64_t kBlockThreadsMax = 1024;
constexpr std::int64_t kSharedBytesMax = 227 * 1024;

constexpr std::array<std::string_view, 5> kTypes{"tensor", "int", "float", "bool", "str"};
constexpr std::size_t kCudaTypeCount = 4;
constexpr std::array<std::int64_t, 6> kWarps{1, 2, 4, 8, 16, 32};
constexpr std::int64_t kStagesMax = 32;
constexpr std::array<std::string_view, 3> kRoles{"input", "output", "inout"};
constexpr std::array<std::string_view, 21> kDtypes{
    "float64",         "float32",        "float16",       "bfloat16",    "int64",
    "int32",           "int16",          "int8",          "uint8",       "bool",
    "complex64",       "complex128",     "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
    "float8_e5m2fnuz", "float8_e8m0fnu", "uint16",        "uint32",      "uint64",
    "complex32"};

// "input, output or inout"
std::string any_of(std::span<const std::string_view> names) {
  std::string text(names.front());
  for (std::size_t i = 1; i < names.size(); ++i)
    text += (i + 1 == names.size() ? " or " : ", ") + std::string(names[i]);
  return text;
}

class Checker {
 public:
  Checker(std::string_view name, Backend backend) : name_(name), backend_(backend) {}

  void check(const Json& contract) {
    if (contract.object() == nullptr)
      return wrong("", "an IOContract is an object {args, launch}, got " + described(contract));
    const Part io = part(contract, "io", "args"), launch = part(contract, "io", "launch");
    bool names_function = false;
    for (const char* key : {"kernel_name", "function_name", "class_name", "method_name", "entry_point"}) {
      const Part names = part(contract, "metadata", key);
      check_text(*names.object, names.path, key,
                 backend_ == Backend::multi_kernel && key == std::string_view("entry_point"));
      names_function |= key != std::string_view("kernel_name") && names.object->find(key) != nullptr;
    }
    const Part options = part(contract, "metadata", "compiler_options");
    check_compiler_options(*options.object, options.path);
    const bool is_kernel = backend_ == Backend::cuda ||
                           (backend_ == Backend::triton && !names_function && io.object->find("args") != nullptr);
    if (is_kernel || io.object->find("args") != nullptr) check_args(*io.object, io.path, is_kernel);
    if (is_kernel || launch.object->find("launch") != nullptr) check_launch(*launch.object, launch.path);
  }

  std::vector<std::string> mistakes;

 private:
  // The object that has a key: the contract, or one of its parts.
  struct Part {
    const Json* object = nullptr;
    std::string path{};
  };
  static Part part(const Json& contract, std::string_view name, std::string_view key) {
    const Json* inner = contract.find(name);
    if (contract.find(key) != nullptr || inner == nullptr || inner->find(key) == nullptr) return {&contract};
    return {inner, std::string(name) + "."};
  }

  void wrong(const std::string& path, const std::string& sentence) {
    mistakes.push_back(name_ + ": " + path + (path.empty() ? "" : " ") + sentence);
  }
  static std::string got(const Json* json) { return json == nullptr ? ", got nothing" : ", got " + described(*json); }

  void check_text(const Json& object, const std::string& path, std::string_view key, bool needed) {
    const Json* text = object.find(key);
    if (text == nullptr ? needed : text->text() == nullptr || text->text()->empty()) {
      wrong(path + std::string(key), "must be a text" + got(text));
    }
  }
  void check_one_of(const Json& object, const std::string& path, std::string_view key,
                    std::span<const std::string_view> names, bool needed) {
    const Json* text = object.find(key);
    if (text == nullptr && !needed) return;
    const bool known =
        text != nullptr && text->text() != nullptr && std::ranges::find(names, *text->text()) != names.end();
    if (!known) wrong(path + std::string(key), "must be " + any_of(names) + got(text));
  }
  // Returns whether the member is present and valid, and reports a mistake where it is not valid.
  bool check_integer(const Json& object, const std::string& path, std::string_view key, std::int64_t min,
                     std::int64_t max) {
    const Json* number = object.find(key);
    if (number == nullptr) return false;
    if (number->integer() != nullptr && *number->integer() >= min && *number->integer() <= max) return true;
    wrong(path + std::string(key),
          "must be an integer from " + std::to_string(min) + " to " + std::to_string(max) + got(number));
    return false;
  }

  void check_compiler_options(const Json& contract, const std::string& in) {
    const Json* options = contract.find("compiler_options");
    if (options == nullptr) return;
    if (options->array() == nullptr || options->array()->size() > kCompilerOptionsMax) {
      return wrong(in + "compiler_options",
                   "must be a list of at most " + std::to_string(kCompilerOptionsMax) + " texts" + got(options));
    }
    for (std::size_t i = 0; i < options->array()->size(); ++i) {
      const Json& option = (*options->array())[i];
      if (option.text() == nullptr)
        wrong(in + "compiler_options[" + std::to_string(i) + "]", "must be a text" + got(&option));
    }
  }

  void check_args(const Json& contract, const std::string& in, bool is_kernel) {
    const Json* args = contract.find("args");
    if (args == nullptr || args->array() == nullptr || args->array()->empty()) {
      return wrong(in + "args", "must be a list of the kernel's arguments" + got(args));
    }
    if (args->array()->size() > kArgsMax) {
      return wrong(in + "args", "has " + std::to_string(args->array()->size()) + " entries, at most " +
                                    std::to_string(kArgsMax) + " are allowed");
    }
    bool any_output = false;
    for (std::size_t i = 0; i < args->array()->size(); ++i) {
      const Json& arg = (*args->array())[i];
      const std::string path = in + "args[" + std::to_string(i) + "]";
      if (arg.object() == nullptr) {
        wrong(path, "must be an object {name, type, role, ...}" + got(&arg));
      } else {
        check_arg(arg, path + ".");
        any_output |= is(arg, "role", "output") || is(arg, "role", "inout");
      }
    }
    // A misspelt role would make this mistake misleading, so it is reported only where the arguments have no other
    // mistake. A Python function needs no output argument, because it can return its outputs.
    if (is_kernel && !any_output && mistakes.empty())
      wrong(in + "args", "has no output: one argument needs the role output or inout");
  }

  static bool is(const Json& object, std::string_view key, std::string_view value) {
    const Json* text = object.find(key);
    return text != nullptr && text->text() != nullptr && *text->text() == value;
  }

  void check_arg(const Json& arg, const std::string& path) {
    check_text(arg, path, "name", true);
    check_one_of(arg, path, "type", std::span(kTypes).first(backend_ == Backend::cuda ? kCudaTypeCount : kTypes.size()),
                 true);
    check_one_of(arg, path, "role", kRoles, false);
    check_one_of(arg, path, "dtype", kDtypes, false);
    if (const Json* meta = arg.find("is_meta"); meta != nullptr && meta->boolean() == nullptr) {
      wrong(path + "is_meta", "must be true or false" + got(meta));
    }
    if (is(arg, "type", "tensor")) return check_tensor(arg, path);
    check_scalar(arg, path);
  }

  // The problem gives the shape of an input. An output needs a shape, because it is allocated before the call.
  void check_tensor(const Json& arg, const std::string& path) {
    const Json* spec = arg.find("tensor_spec");
    if (spec == nullptr) {
      if (is(arg, "role", "output")) wrong(path + "tensor_spec", "is missing: an output needs {shape, dtype}");
      return;
    }
    if (spec->object() == nullptr) return wrong(path + "tensor_spec", "must be an object {shape, dtype}" + got(spec));
    check_one_of(*spec, path + "tensor_spec.", "dtype", kDtypes, false);
    const Json* shape = spec->find("shape");
    if (shape == nullptr) return;  // a single element
    const std::string shape_path = path + "tensor_spec.shape";
    if (shape->array() == nullptr || shape->array()->size() > kRankMax) {
      return wrong(shape_path, "must be a list of at most " + std::to_string(kRankMax) + " sizes" + got(shape));
    }
    for (std::size_t i = 0; i < shape->array()->size(); ++i) {
      const Json& size = (*shape->array())[i];
      const bool right = size.integer() != nullptr && *size.integer() >= 1 && *size.integer() <= kDimensionMax;
      if (!right) wrong(shape_path + "[" + std::to_string(i) + "]", "must be a positive integer" + got(&size));
    }
  }

  void check_scalar(const Json& arg, const std::string& path) {
    if (is(arg, "role", "output") || is(arg, "role", "inout")) {
      wrong(path + "role", "must be input for a value, only a tensor can be written" + got(arg.find("role")));
    }
    const Json* value = arg.find("value");
    const auto needs = [&](bool right, const char* what) {
      if (!right) wrong(path + "value", std::string("must be ") + what + got(value));
    };
    if (is(arg, "type", "int")) needs(value && value->integer(), "an integer");
    if (is(arg, "type", "float")) needs(value && (value->integer() || value->floating()), "a number");
    if (is(arg, "type", "bool")) needs(value && value->boolean(), "true or false");
    if (is(arg, "type", "str") && backend_ != Backend::cuda) needs(value && value->text(), "a text");
  }

  void check_launch(const Json& contract, const std::string& in) {
    const Json* launch = contract.find("launch");
    const bool is_cuda = backend_ == Backend::cuda;
    if (launch == nullptr || launch->object() == nullptr) {
      return wrong(in + "launch", (is_cuda ? "must be an object {grid, block, shared_mem_bytes}"
                                           : "must be an object {grid, num_warps, num_stages}") +
                                      got(launch));
    }
    check_dimensions(*launch, in, "grid", {2147483647, 65535, 65535});
    if (is_cuda || launch->find("block") != nullptr) {
      const std::int64_t threads = check_dimensions(*launch, in, "block", {1024, 1024, 64});
      if (threads > kBlockThreadsMax) {
        wrong(in + "launch.block", "has " + std::to_string(threads) + " threads, at most " +
                                       std::to_string(kBlockThreadsMax) + " are allowed");
      }
    }
    check_integer(*launch, in + "launch.", "shared_mem_bytes", 0, kSharedBytesMax);
    check_integer(*launch, in + "launch.", "num_stages", 1, kStagesMax);
    const Json* warps = launch->find("num_warps");
    if (warps != nullptr &&
        (warps->integer() == nullptr || std::ranges::find(kWarps, *warps->integer()) == kWarps.end())) {
      wrong(in + "launch.num_warps", "must be 1, 2, 4, 8, 16 or 32" + got(warps));
    }
  }

  // Returns the product of the dimensions, or 0 where one is wrong.
  std::int64_t check_dimensions(const Json& launch, const std::string& in, const std::string& key,
                                std::array<std::int64_t, 3> max) {
    const Json* dimensions = launch.find(key);
    if (dimensions == nullptr || dimensions->object() == nullptr) {
      wrong(in + "launch." + key, "must be an object {x, y, z}" + got(dimensions));
      return 0;
    }
    std::int64_t product = 1;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string_view axis = std::string_view("xyz").substr(i, 1);
      if (dimensions->find(axis) == nullptr) continue;
      const bool right = check_integer(*dimensions, in + "launch." + key + ".", axis, 1, max[i]);
      product *= right ? *dimensions->find(axis)->integer() : 0;
    }
    return product;
  }

  std::string name_;
  Backend backend_;
};

}  // namespace

std::vector<std::string> io_contract_mistakes(std::string_view name, std::string_view text, Backend backend) {
  const Expected<Json> contract = parse_json(text);
  if (!contract) return {std::string(name) + ": not JSON, " + contract.error().message};
  Checker checker(name, backend);
  checker.check(*contract);
  return std::move(checker.mistakes);
}

bool is_io_contract(std::string_view text) {
  const Expected<Json> contract = parse_json(text);
  if (!contract) return false;
  constexpr std::string_view kKeys[] = {"args",          "io",         "metadata",   "kernel_name",
                                        "function_name", "class_name", "entry_point"};
  return std::ranges::any_of(kKeys, [&](std::string_view key) { return contract->find(key) != nullptr; });
}

}  // namespace kq::producer
