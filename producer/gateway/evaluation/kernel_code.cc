#include "producer/gateway/evaluation/kernel_code.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <span>
#include <utility>

#include "core/limits.h"
#include "producer/gateway/evaluation/packed_data.h"

namespace kq::gateway::evaluation {
namespace {

using producer::described;
using producer::Json;
using producer::JsonObject;

constexpr std::size_t kDataBytesMax = 64u << 20;  // of one tensor whose values a request holds, unpacked
constexpr std::size_t kTextsMax = 64;             // compiler options, and name expressions
constexpr std::array<std::string_view, 5> kTypes{"tensor", "int", "float", "bool", "str"};
constexpr std::array<std::string_view, 6> kKinds{"randn", "uniform", "full", "zeros", "ones", "arange"};

std::string joined(std::span<const std::string_view> names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

// Returns a number that is whole: an integer, a number without a fraction, or the digits of one.
std::optional<std::int64_t> whole_number(const Json& json) {
  constexpr double kLimit = 9.2e18;
  if (json.integer() != nullptr) return *json.integer();
  if (const double* number = json.floating())
    return std::trunc(*number) == *number && std::abs(*number) < kLimit ? std::optional(std::int64_t(*number))
                                                                        : std::nullopt;
  if (const std::string* text = json.text()) {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (code == std::errc() && end == text->data() + text->size()) return value;
  }
  return std::nullopt;
}

std::optional<double> number_of(const Json& json) {
  if (json.integer() != nullptr) return static_cast<double>(*json.integer());
  if (json.floating() != nullptr) return *json.floating();
  return std::nullopt;
}

// Reads the members of objects and collects what is wrong with them, each with its path.
class Reader {
 public:
  FieldErrors errors;

  void wrong(std::string field, std::string message, std::string type) {
    errors.push_back({std::move(field), std::move(message), std::move(type)});
  }

  static std::string at(const std::string& path, std::string_view key) {
    return path.empty() ? std::string(key) : path + " -> " + std::string(key);
  }

  // Returns an object's member, and reports that it is missing where it is needed.
  const Json* member(const Json& object, const std::string& path, std::string_view key, bool needed) {
    const Json* json = object.find(key);
    if (json == nullptr && needed) wrong(at(path, key), "is required", "missing");
    return json;
  }
  const Json* object(const Json& parent, const std::string& path, std::string_view key, bool needed = false) {
    const Json* json = member(parent, path, key, needed);
    if (json == nullptr || json->object() != nullptr) return json;
    wrong(at(path, key), "must be an object, got " + described(*json), "model_type");
    return nullptr;
  }
  std::optional<std::string> text(const Json& parent, const std::string& path, std::string_view key,
                                  bool needed = false) {
    const Json* json = member(parent, path, key, needed);
    if (json == nullptr) return std::nullopt;
    if (json->text() != nullptr) return *json->text();
    wrong(at(path, key), "must be a text, got " + described(*json), "string_type");
    return std::nullopt;
  }
  std::optional<std::string> one_of(const Json& parent, const std::string& path, std::string_view key,
                                    std::span<const std::string_view> names, bool needed = false) {
    std::optional<std::string> name = text(parent, path, key, needed);
    if (!name || std::ranges::find(names, *name) != names.end()) return name;
    wrong(at(path, key), "must be one of " + joined(names) + ", got " + described(Json{*name}), "enum");
    return std::nullopt;
  }
  std::optional<bool> boolean(const Json& parent, const std::string& path, std::string_view key) {
    const Json* json = parent.find(key);
    if (json == nullptr) return std::nullopt;
    if (json->boolean() != nullptr) return *json->boolean();
    wrong(at(path, key), "must be true or false, got " + described(*json), "bool_type");
    return std::nullopt;
  }
  std::optional<std::int64_t> integer(const Json& parent, const std::string& path, std::string_view key) {
    const Json* json = parent.find(key);
    if (json == nullptr) return std::nullopt;
    const auto number = whole_number(*json);
    if (!number) wrong(at(path, key), "must be an integer, got " + described(*json), "int_type");
    return number;
  }
  std::optional<std::int64_t> integer_within(const Json& parent, const std::string& path, std::string_view key,
                                             std::int64_t min, std::int64_t max) {
    const auto number = integer(parent, path, key);
    if (!number || (*number >= min && *number <= max)) return number;
    wrong(at(path, key),
          "must be an integer from " + std::to_string(min) + " to " + std::to_string(max) + ", got " +
              std::to_string(*number),
          "value_error");
    return std::nullopt;
  }
  std::vector<std::string> texts(const Json& parent, const std::string& path, std::string_view key) {
    const Json* json = parent.find(key);
    if (json == nullptr) return {};
    const auto is_text = [](const Json& one) { return one.text() != nullptr; };
    if (json->array() == nullptr || json->array()->size() > kTextsMax ||
        !std::ranges::all_of(*json->array(), is_text)) {
      wrong(at(path, key), "must be a list of at most " + std::to_string(kTextsMax) + " texts, got " + described(*json),
            "list_type");
      return {};
    }
    std::vector<std::string> texts;
    for (const Json& one : *json->array()) texts.push_back(*one.text());
    return texts;
  }

  std::optional<std::vector<std::int64_t>> shape(const Json& parent, const std::string& path) {
    const Json* json = parent.find("shape");
    if (json == nullptr) return std::nullopt;
    const std::string field = at(path, "shape");
    if (json->array() == nullptr || json->array()->size() > kRankMax) {
      wrong(field, "must be a list of at most " + std::to_string(kRankMax) + " sizes, got " + described(*json),
            "list_type");
      return std::nullopt;
    }
    std::vector<std::int64_t> sizes;
    std::int64_t left = kTensorBytesMax / 8;
    for (std::size_t i = 0; i < json->array()->size(); ++i) {
      const auto size = whole_number((*json->array())[i]);
      if (!size || *size < 1) {
        wrong(at(field, std::to_string(i)), "must be a positive integer, got " + described((*json->array())[i]),
              "int_type");
        return std::nullopt;
      }
      if (*size > left) {
        wrong(field, "has more elements than any device has memory for", "value_error");
        return std::nullopt;
      }
      left /= *size;
      sizes.push_back(*size);
    }
    return sizes;
  }

  std::string dtype(const Json& parent, const std::string& path) {
    std::optional<std::string> name = text(parent, path, "dtype");
    if (!name) return "float32";
    if (name->starts_with("torch.")) name->erase(0, 6);
    if (element_bytes(*name) > 0) return *name;
    wrong(at(path, "dtype"),
          "must be one of float64, float32, float16, bfloat16, int64, int32, int16, int8, uint8, bool, got " +
              described(Json{*name}),
          "enum");
    return "float32";
  }

  // ---- IOContract

  std::optional<JsonObject> init(const Json& parent, const std::string& path) {
    const Json* json = object(parent, path, "init");
    if (json == nullptr) return std::nullopt;
    const std::string field = at(path, "init");
    JsonObject known;
    known.emplace_back("kind", Json{one_of(*json, field, "kind", kKinds).value_or("randn")});
    if (const auto seed = integer(*json, field, "seed")) known.emplace_back("seed", Json{*seed});
    for (const char* key : {"mean", "std", "low", "high", "fill_value", "start", "step"}) {
      const Json* number = json->find(key);
      if (number == nullptr) continue;
      if (!number_of(*number)) {
        wrong(at(field, key), "must be a number, got " + described(*number), "float_type");
      } else {
        known.emplace_back(key, *number);  // an integer stays one, so that none loses digits
      }
    }
    return known;
  }

  std::optional<TensorData> data(const Json& parent, const std::string& path, const std::vector<std::int64_t>& shape) {
    const Json* json = object(parent, path, "data");
    if (json == nullptr) return std::nullopt;
    const std::string field = at(path, "data");
    constexpr std::array<std::string_view, 2> kPackings{"none", "zlib"};
    const auto text64 = text(*json, field, "data_b64", true);
    const auto packing = one_of(*json, field, "compress", kPackings).value_or("none");
    TensorData found{.dtype = dtype(*json, field), .shape = {}, .packed = {}};
    const auto own = this->shape(*json, field);
    found.shape = own && !own->empty() ? *own : shape;
    if (!text64 || !errors.empty()) return std::nullopt;
    const std::int64_t wanted = elements_of(found.shape) * element_bytes(found.dtype);
    if (wanted > static_cast<std::int64_t>(kDataBytesMax)) {
      wrong(field,
            "has " + std::to_string(wanted) + " bytes, at most " + std::to_string(kDataBytesMax) + " are possible",
            "value_error");
      return std::nullopt;
    }
    Expected<std::string> bytes = decode_base64(*text64);
    if (bytes && packing == "zlib") bytes = inflate(*bytes, static_cast<std::size_t>(wanted));
    if (bytes && bytes->size() != static_cast<std::size_t>(wanted)) {
      bytes = bad_input("has " + std::to_string(bytes->size()) + " bytes, its shape and dtype need " +
                        std::to_string(wanted));
    }
    if (!bytes) {
      wrong(at(field, "data_b64"), bytes.error().message, "value_error");
      return std::nullopt;
    }
    found.packed = pack(*bytes);
    return found;
  }

  std::optional<TensorSpec> tensor(const Json& arg, const std::string& path) {
    const Json* json = object(arg, path, "tensor_spec", true);
    if (json == nullptr) return std::nullopt;
    const std::string field = at(path, "tensor_spec");
    TensorSpec spec{.shape = shape(*json, field).value_or(std::vector<std::int64_t>{}), .dtype = dtype(*json, field)};
    spec.init = init(*json, field);
    spec.data = data(*json, field, spec.shape);
    if (spec.data) {
      spec.shape = spec.data->shape;
      spec.dtype = spec.data->dtype;
    }
    return spec;
  }

  void scalar(const Json& arg, const std::string& path, Argument& found) {
    const Json* value = member(arg, path, "value", true);
    if (value == nullptr) return;
    const bool is_number = number_of(*value).has_value();
    const bool fits = found.type == "int"     ? value->integer() != nullptr || (is_number && whole_number(*value))
                      : found.type == "float" ? is_number
                      : found.type == "bool"  ? value->boolean() != nullptr
                                              : value->text() != nullptr;
    if (!fits)
      return wrong(at(path, "value"), "must be of type " + found.type + ", got " + described(*value), "value_error");
    found.value = *value;
    if (found.type == "int") found.value = Json{*whole_number(*value)};
    if (found.type == "float") found.value = Json{*number_of(*value)};
  }

  Argument argument(const Json& json, const std::string& path) {
    Argument found;
    found.name = text(json, path, "name", true).value_or("");
    found.type = one_of(json, path, "type", kTypes, true).value_or("");
    constexpr std::array<std::string_view, 3> kRoles{"input", "output", "inout"};
    const std::string role = one_of(json, path, "role", kRoles).value_or("input");
    found.role = role == "output" ? Role::output : role == "inout" ? Role::inout : Role::input;
    found.is_meta = boolean(json, path, "is_meta").value_or(false);
    if (found.type.empty()) return found;
    if (found.type == "tensor") {
      found.tensor = tensor(json, path);
      const Json* value = json.find("value");
      if (value != nullptr && (value->object() != nullptr || value->array() != nullptr))
        wrong(at(path, "value"), "must be a number, a text, true or false, got " + described(*value), "value_error");
    } else {
      scalar(json, path, found);
      if (found.role != Role::input)
        wrong(at(path, "role"), "must be input: only a tensor can be written", "value_error");
    }
    return found;
  }

  std::array<std::int64_t, 3> dimensions(const Json& launch, const std::string& path, const char* key,
                                         std::array<std::int64_t, 3> sizes, std::array<std::int64_t, 3> max) {
    const Json* json = object(launch, path, key);
    if (json == nullptr) return sizes;
    sizes = {1, 1, 1};
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::string_view axis = std::string_view("xyz").substr(i, 1);
      sizes[i] = integer_within(*json, at(path, key), axis, 1, max[i]).value_or(1);
    }
    return sizes;
  }

  Launch launch(const Json& io, const std::string& path) {
    Launch found;
    const Json* json = object(io, path, "launch");
    if (json == nullptr) return found;
    const std::string field = at(path, "launch");
    found.grid = dimensions(*json, field, "grid", found.grid, {2147483647, 65535, 65535});
    found.block = dimensions(*json, field, "block", found.block, {1024, 1024, 64});
    if (found.block[0] * found.block[1] * found.block[2] > 1024)
      wrong(at(field, "block"), "has more than 1024 threads", "value_error");
    found.num_warps = integer_within(*json, field, "num_warps", 1, 32);
    if (found.num_warps && (*found.num_warps & (*found.num_warps - 1)) != 0)
      wrong(at(field, "num_warps"), "must be 1, 2, 4, 8, 16 or 32, got " + std::to_string(*found.num_warps),
            "value_error");
    found.num_stages = integer_within(*json, field, "num_stages", 1, 32);
    found.shared_mem_bytes = integer_within(*json, field, "shared_mem_bytes", 0, 227 << 10).value_or(0);
    return found;
  }

  std::optional<Contract> contract(const Json& kernel, const std::string& path) {
    const Json* json = object(kernel, path, "io");
    if (json == nullptr) return std::nullopt;
    const std::string field = at(path, "io");
    const Json* args = member(*json, field, "args", true);
    if (args == nullptr) return std::nullopt;
    if (args->array() == nullptr || args->array()->size() > kArgumentsMax) {
      wrong(at(field, "args"),
            "must be a list of at most " + std::to_string(kArgumentsMax) + " arguments, got " + described(*args),
            "list_type");
      return std::nullopt;
    }
    Contract found{.args = {}, .launch = launch(*json, field)};
    for (std::size_t i = 0; i < args->array()->size(); ++i) {
      const Json& one = (*args->array())[i];
      const std::string place = at(at(field, "args"), std::to_string(i));
      if (one.object() == nullptr) {
        wrong(place, "must be an object, got " + described(one), "model_type");
      } else {
        found.args.push_back(argument(one, place));
      }
    }
    return found.args.empty() ? std::nullopt : std::optional(std::move(found));
  }

  Metadata metadata(const Json& kernel, const std::string& path) {
    Metadata found;
    const Json* json = object(kernel, path, "metadata");
    if (json == nullptr) return found;
    const std::string field = at(path, "metadata");
    found.kernel_name = text(*json, field, "kernel_name");
    found.function_name = text(*json, field, "function_name");
    found.class_name = text(*json, field, "class_name");
    found.method_name = text(*json, field, "method_name");
    found.entry_point = text(*json, field, "entry_point");
    constexpr std::array<std::string_view, 2> kCompilers{"nvrtc", "nvcc"};
    found.backend = one_of(*json, field, "backend", kCompilers);
    found.compiler_options = texts(*json, field, "compiler_options");
    found.name_expressions = texts(*json, field, "name_expressions");
    return found;
  }

  std::optional<KernelCode> kernel(const Json& body, const std::string& key) {
    const Json* json = object(body, "", key, true);
    if (json == nullptr) return std::nullopt;
    for (const auto& [name, value] : *json->object()) {
      constexpr std::array<std::string_view, 4> kKnown{"source_code", "kernel_type", "io", "metadata"};
      if (std::ranges::find(kKnown, name) == kKnown.end())
        wrong(at(key, name), "is no member of a kernel, which has " + joined(kKnown), "extra_forbidden");
    }
    KernelCode found{.field = key, .source = source(*json, key, "source_code")};
    const auto type = one_of(*json, key, "kernel_type", kEnumNames<Backend>, true);
    if (type) found.type = *parse_enum<Backend>(*type);
    found.io = contract(*json, key);
    found.metadata = metadata(*json, key);
    if (found.type == Backend::multi_kernel && !found.metadata.entry_point)
      wrong(at(at(key, "metadata"), "entry_point"), "is required for multi_kernel: the function that is called",
            "missing");
    return found;
  }

  std::string source(const Json& parent, const std::string& path, const char* key) {
    std::string code = text(parent, path, key, true).value_or("");
    if (!code.empty() && code.find('\0') != std::string::npos)
      wrong(at(path, key), "has a NUL character", "value_error");
    else if (parent.find(key) != nullptr && code.find_first_not_of(" \t\r\n") == std::string::npos && errors.empty())
      wrong(at(path, key), "is empty", "value_error");
    else if (code.size() > kFileBytesMax)
      wrong(at(path, key),
            "has " + std::to_string(code.size()) + " bytes, at most " + std::to_string(kFileBytesMax) + " are possible",
            "value_error");
    return code;
  }
};

// Reads the numbers that both requests have, and the extension.
tl::expected<void, BodyError> read_numbers(const Json& body, Reader& reader, EvaluationRequest& request,
                                           bool has_tolerances) {
  const auto trials = reader.integer(body, "", "num_trials");
  const auto timeout = reader.integer(body, "", "timeout");
  request.force_rerun = reader.boolean(body, "", "force_rerun").value_or(false);
  std::array<std::pair<const char*, double*>, 2> tolerances{{{"atol", &request.atol}, {"rtol", &request.rtol}}};
  for (const auto& [key, value] : tolerances) {
    const Json* json = has_tolerances ? body.find(key) : nullptr;
    if (json == nullptr) continue;
    const auto number = number_of(*json);
    if (!number) reader.wrong(key, "must be a number, got " + described(*json), "float_type");
    *value = number.value_or(*value);
  }
  if (!reader.errors.empty()) return tl::unexpected(BodyError{.fields = reader.errors});
  const auto refused = [](std::string error, const char* key, Json value) {
    Refusal refusal{std::move(error)};
    refusal.details.emplace_back(key, std::move(value));
    return tl::unexpected(BodyError{.refusal = std::move(refusal)});
  };
  const std::int64_t count = trials.value_or(request.num_trials), seconds = timeout.value_or(request.timeout_s);
  if (count < 1) return refused("num_trials must be at least 1", "num_trials", Json{count});
  if (count > kTrialsRequestMax)
    return refused("num_trials cannot exceed " + std::to_string(kTrialsRequestMax), "num_trials", Json{count});
  if (seconds < kTimeoutMinS)
    return refused("timeout must be at least " + std::to_string(kTimeoutMinS) + " seconds", "timeout", Json{seconds});
  if (seconds > kTimeoutMaxS)
    return refused("timeout cannot exceed " + std::to_string(kTimeoutMaxS) + " seconds", "timeout", Json{seconds});
  for (const auto& [key, value] : tolerances) {
    if (!(*value >= 0 && *value <= 1))
      return refused(std::string(key) + " must be a number from 0 to 1", key, Json{*value});
  }
  request.num_trials = static_cast<std::uint32_t>(count);
  request.timeout_s = static_cast<std::uint32_t>(seconds);
  return {};
}

// Returns the refusal of a kernel that cannot be called without an IOContract and has none.
std::optional<BodyError> lacks_contract(const KernelCode& kernel, bool is_compared) {
  const bool has_class = kernel.source.find("class ModelNew") != std::string::npos;
  const bool needs = kernel.type == Backend::cuda || (kernel.type == Backend::triton && !has_class);
  if (!needs || kernel.io) return std::nullopt;
  const bool is_triton = kernel.type == Backend::triton;
  Refusal refusal{std::string(is_triton ? "Triton" : "CUDA") + " kernels require io_contract to be specified"};
  if (is_compared) refusal.details.emplace_back("kernel", Json{kernel.field});
  refusal.details.emplace_back("kernel_type", Json{std::string(to_string(kernel.type))});
  return BodyError{.refusal = std::move(refusal)};
}

tl::expected<EvaluationRequest, BodyError> not_an_object(const std::string& message) {
  return tl::unexpected(BodyError{.fields = {{"body", message, "json_invalid"}}});
}

template <class Read>
tl::expected<EvaluationRequest, BodyError> parsed(std::string_view body, Read read) {
  const Expected<Json> json = producer::parse_json(body);
  if (!json) return not_an_object("is not JSON, " + json.error().message);
  return read(*json);
}

tl::expected<EvaluationRequest, BodyError> read_legacy(const Json& body) {
  Reader reader;
  EvaluationRequest request;
  request.timeout_s = kTimeoutLegacyS;
  request.kernel = {
      .field = "custom_code", .source = reader.source(body, "", "custom_code"), .type = Backend::torch_cuda};
  request.reference =
      KernelCode{.field = "ref_code", .source = reader.source(body, "", "ref_code"), .type = Backend::torch};
  if (const auto read = read_numbers(body, reader, request, true); !read) return tl::unexpected(read.error());
  return request;
}

}  // namespace

std::int64_t element_bytes(std::string_view dtype) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 10> kSizes{{{"float64", 8},
                                                                              {"float32", 4},
                                                                              {"float16", 2},
                                                                              {"bfloat16", 2},
                                                                              {"int64", 8},
                                                                              {"int32", 4},
                                                                              {"int16", 2},
                                                                              {"int8", 1},
                                                                              {"uint8", 1},
                                                                              {"bool", 1}}};
  const auto found = std::ranges::find(kSizes, dtype, [](const auto& row) { return row.first; });
  return found == kSizes.end() ? 0 : found->second;
}

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

tl::expected<EvaluationRequest, BodyError> read_evaluate(const Json& body) {
  if (body.object() == nullptr) return not_an_object("must be an object, got " + described(body));
  Reader reader;
  EvaluationRequest request;
  auto kernel = reader.kernel(body, "kernel");
  if (const auto read = read_numbers(body, reader, request, false); !read) return tl::unexpected(read.error());
  request.kernel = std::move(*kernel);
  if (auto lacks = lacks_contract(request.kernel, false)) return tl::unexpected(std::move(*lacks));
  return request;
}

tl::expected<EvaluationRequest, BodyError> read_compare(const Json& body) {
  if (body.object() == nullptr) return not_an_object("must be an object, got " + described(body));
  if (body.find("ref_code") != nullptr && body.find("custom_code") != nullptr) return read_legacy(body);
  Reader reader;
  EvaluationRequest request;
  auto reference = reader.kernel(body, "ref_kernel");
  auto kernel = reader.kernel(body, "custom_kernel");
  if (const auto read = read_numbers(body, reader, request, true); !read) return tl::unexpected(read.error());
  request.kernel = std::move(*kernel);
  request.reference = std::move(*reference);
  for (const KernelCode* one : {&*request.reference, &request.kernel}) {
    if (auto lacks = lacks_contract(*one, true)) return tl::unexpected(std::move(*lacks));
  }
  return request;
}

tl::expected<EvaluationRequest, BodyError> read_evaluate(std::string_view body) {
  return parsed(body, [](const Json& json) { return read_evaluate(json); });
}
tl::expected<EvaluationRequest, BodyError> read_compare(std::string_view body) {
  return parsed(body, [](const Json& json) { return read_compare(json); });
}

}  // namespace kq::gateway::evaluation
