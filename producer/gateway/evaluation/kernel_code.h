// The requests of the evaluation server's clients, as they arrive: POST /evaluate and POST /compare, with the kernels
// and IOContracts in them. Reading a body checks its form; producer/gateway/evaluation/job.h makes a job of it.
//
// Unknown members of a request and of an IOContract are ignored, and those of a kernel are refused, as in the server
// whose clients these are.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/submission.h"
#include "producer/client/json.h"

namespace kq::gateway::evaluation {

inline constexpr std::uint32_t kTrialsDefault = 100;
inline constexpr std::uint32_t kTrialsRequestMax = 10'000;
inline constexpr std::uint32_t kTimeoutDefaultS = 120;
inline constexpr std::uint32_t kTimeoutLegacyS = 30;  // of a body with ref_code and custom_code
inline constexpr std::uint32_t kTimeoutMinS = 5;
inline constexpr std::uint32_t kTimeoutMaxS = 600;
inline constexpr double kToleranceDefault = 1e-2;
inline constexpr std::size_t kArgumentsMax = 64;
inline constexpr std::size_t kRankMax = 8;
inline constexpr std::int64_t kTensorBytesMax = std::int64_t{1} << 40;

// What is wrong with one member of a body. The field is its path, as "kernel -> io -> args -> 0 -> name".
struct FieldError {
  std::string field;
  std::string message;
  std::string type;

  friend bool operator==(const FieldError&, const FieldError&) = default;
};
using FieldErrors = std::vector<FieldError>;

// A request that is well formed and cannot be served: a number out of bounds, a kernel without what it needs.
struct Refusal {
  std::string error;
  producer::JsonObject details{};
};

// What is wrong with a body: fields, or the request as a whole.
struct BodyError {
  FieldErrors fields{};
  std::optional<Refusal> refusal{};
};

// The values of a tensor that a request holds, checked and packed again.
struct TensorData {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::string packed;  // base85 of zlib
};

struct TensorSpec {
  std::vector<std::int64_t> shape;
  std::string dtype = "float32";
  std::optional<producer::JsonObject> init{};  // the known members that are present
  std::optional<TensorData> data{};            // takes precedence over `init`
};

enum class Role { input, output, inout };

struct Argument {
  std::string name;
  std::string type;  // "tensor", "int", "float", "bool" or "str"
  Role role = Role::input;
  bool is_meta = false;
  producer::Json value{};              // of an argument that is no tensor
  std::optional<TensorSpec> tensor{};  // of a tensor
};

struct Launch {
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::array<std::int64_t, 3> block{256, 1, 1};
  std::optional<std::int64_t> num_warps{};
  std::optional<std::int64_t> num_stages{};
  std::int64_t shared_mem_bytes = 0;
};

struct Contract {
  std::vector<Argument> args;
  Launch launch{};
};

// The members of metadata that have a meaning; others are ignored.
struct Metadata {
  std::optional<std::string> kernel_name{};
  std::optional<std::string> function_name{};
  std::optional<std::string> class_name{};
  std::optional<std::string> method_name{};
  std::optional<std::string> entry_point{};
  std::optional<std::string> backend{};  // the compiler of a CUDA kernel: "nvrtc" or "nvcc"
  std::vector<std::string> compiler_options{};
  std::vector<std::string> name_expressions{};
};

struct KernelCode {
  std::string field{};  // its member in the request: "kernel", "ref_kernel", "custom_code"
  std::string source{};
  Backend type = Backend::torch;
  std::optional<Contract> io{};
  Metadata metadata{};
};

struct EvaluationRequest {
  KernelCode kernel{};                    // the kernel that is measured
  std::optional<KernelCode> reference{};  // of a comparison
  std::uint32_t num_trials = kTrialsDefault;
  std::uint32_t timeout_s = kTimeoutDefaultS;
  double atol = kToleranceDefault;
  double rtol = kToleranceDefault;
  bool force_rerun = false;  // an extension: measure again what has been measured
};

// Reads the body of /evaluate, or of /compare in either of its forms.
tl::expected<EvaluationRequest, BodyError> read_evaluate(std::string_view body);
tl::expected<EvaluationRequest, BodyError> read_compare(std::string_view body);
tl::expected<EvaluationRequest, BodyError> read_evaluate(const producer::Json& body);
tl::expected<EvaluationRequest, BodyError> read_compare(const producer::Json& body);

// The number of bytes of one element, or 0 for a dtype that a request cannot name.
std::int64_t element_bytes(std::string_view dtype);
// The number of elements of a shape whose sizes were checked.
std::int64_t elements_of(const std::vector<std::int64_t>& shape);

}  // namespace kq::gateway::evaluation
