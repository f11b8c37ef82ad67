#include "producer/gateway/evaluation/kernel_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kq;
using namespace kq::gateway::evaluation;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr std::string_view kTorch = R"({"source_code": "class Model: pass", "kernel_type": "torch"})";

std::string evaluate(std::string_view kernel, std::string_view more = "") {
  return "{\"kernel\": " + std::string(kernel) + std::string(more) + "}";
}
// A torch kernel with the IOContract of these arguments.
std::string with_args(std::string_view args, std::string_view launch = "null") {
  return evaluate("{\"source_code\": \"x\", \"kernel_type\": \"torch\", \"io\": {\"args\": [" + std::string(args) +
                  "], \"launch\": " + std::string(launch) + "}}");
}
std::string tensor(std::string_view spec) {
  return "{\"name\": \"x\", \"type\": \"tensor\", \"tensor_spec\": " + std::string(spec) + "}";
}
// The only error of a body, as "FIELD: MESSAGE (TYPE)".
std::string error_of(const std::string& body) {
  const auto read = read_evaluate(body);
  if (read) return "accepted";
  if (read.error().refusal) return read.error().refusal->error;
  if (read.error().fields.size() != 1) return std::to_string(read.error().fields.size()) + " errors";
  const FieldError& error = read.error().fields[0];
  return error.field + ": " + error.message + " (" + error.type + ")";
}

}  // namespace

TEST(KernelCode, defaults_of_both_requests_and_of_the_legacy_body) {
  const EvaluationRequest single = read_evaluate(evaluate(kTorch)).value();
  EXPECT_EQ(single.num_trials, 100u);
  EXPECT_EQ(single.timeout_s, 120u);
  EXPECT_FALSE(single.reference);
  const EvaluationRequest both =
      read_compare("{\"ref_kernel\": " + std::string(kTorch) + ", \"custom_kernel\": " + std::string(kTorch) + "}")
          .value();
  EXPECT_EQ(both.timeout_s, 120u);
  EXPECT_EQ(both.atol, 1e-2);
  EXPECT_EQ(both.rtol, 1e-2);
  const EvaluationRequest legacy = read_compare(R"({"ref_code": "r", "custom_code": "c"})").value();
  EXPECT_EQ(legacy.num_trials, 100u);
  EXPECT_EQ(legacy.timeout_s, 30u);
  EXPECT_EQ(legacy.reference->type, Backend::torch);
  EXPECT_EQ(legacy.kernel.type, Backend::torch_cuda);
}

TEST(KernelCode, tolerances_of_the_legacy_body_count) {  // the original ignores them
  EXPECT_EQ(read_compare(R"({"ref_code": "r", "custom_code": "c", "atol": 0.5})").value().atol, 0.5);
}

TEST(KernelCode, bounds_are_refused_with_the_value) {
  EXPECT_EQ(error_of(evaluate(kTorch, ", \"num_trials\": 0")), "num_trials must be at least 1");
  EXPECT_EQ(error_of(evaluate(kTorch, ", \"num_trials\": 10001")), "num_trials cannot exceed 10000");
  EXPECT_EQ(error_of(evaluate(kTorch, ", \"timeout\": 4")), "timeout must be at least 5 seconds");
  EXPECT_EQ(error_of(evaluate(kTorch, ", \"timeout\": 601")), "timeout cannot exceed 600 seconds");
  EXPECT_EQ(error_of(evaluate(kTorch, ", \"timeout\": 600, \"num_trials\": 10000")), "accepted");
  const auto refused = read_compare(R"({"ref_code": "r", "custom_code": "c", "rtol": 2})");
  EXPECT_EQ(refused.error().refusal->error, "rtol must be a number from 0 to 1");
}

TEST(KernelCode, unknown_members_are_ignored_in_requests_and_contracts_and_refused_in_kernels) {
  EXPECT_EQ(error_of(evaluate(kTorch, ", \"color\": 1")), "accepted");
  EXPECT_EQ(error_of(with_args(R"({"name": "n", "type": "int", "value": 1, "color": 1})")), "accepted");
  EXPECT_EQ(error_of(evaluate(R"({"source_code": "x", "kernel_type": "torch", "color": 1})")),
            "kernel -> color: is no member of a kernel, which has source_code, kernel_type, io, metadata "
            "(extra_forbidden)");
}

TEST(KernelCode, schema_errors_name_the_field_by_its_path) {
  EXPECT_EQ(error_of("{}"), "kernel: is required (missing)");
  EXPECT_EQ(error_of("[1]"), "body: must be an object, got a list (json_invalid)");
  EXPECT_THAT(error_of("{"), HasSubstr("body: is not JSON, "));
  EXPECT_EQ(error_of(evaluate(R"({"kernel_type": "torch"})")), "kernel -> source_code: is required (missing)");
  EXPECT_EQ(error_of(evaluate(R"({"source_code": " ", "kernel_type": "torch"})")),
            "kernel -> source_code: is empty (value_error)");
  EXPECT_EQ(error_of(evaluate(R"({"source_code": "x", "kernel_type": "hip"})")),
            "kernel -> kernel_type: must be one of torch, triton, cuda, torch_cuda, multi_kernel, eval_program, "
            "got 'hip' (enum)");
  EXPECT_EQ(error_of(evaluate(R"({"source_code": "x", "kernel_type": "multi_kernel"})")),
            "kernel -> metadata -> entry_point: is required for multi_kernel: the function that is called (missing)");
  EXPECT_EQ(error_of(evaluate(kTorch, ", \"num_trials\": \"many\"")),
            "num_trials: must be an integer, got 'many' (int_type)");
  EXPECT_EQ(error_of(with_args(R"({"name": "x", "type": "tensor"})")),
            "kernel -> io -> args -> 0 -> tensor_spec: is required (missing)");
  EXPECT_EQ(error_of(with_args(R"({"name": "n", "type": "int"})")),
            "kernel -> io -> args -> 0 -> value: is required (missing)");
  EXPECT_EQ(error_of(with_args(R"({"name": "n", "type": "int", "value": 1.5})")),
            "kernel -> io -> args -> 0 -> value: must be of type int, got 1.5 (value_error)");
  EXPECT_EQ(error_of(with_args(R"({"name": "x", "type": "tensor", "value": {}, "tensor_spec": {}})")),
            "kernel -> io -> args -> 0 -> value: must be a number, a text, true or false, got an object (value_error)");
  EXPECT_EQ(error_of(with_args(tensor(R"({"shape": [4], "dtype": "float"})"))),
            "kernel -> io -> args -> 0 -> tensor_spec -> dtype: must be one of float64, float32, float16, bfloat16, "
            "int64, int32, int16, int8, uint8, bool, got 'float' (enum)");
  EXPECT_EQ(error_of(with_args(tensor(R"({"shape": [4, -1]})"))),
            "kernel -> io -> args -> 0 -> tensor_spec -> shape -> 1: must be a positive integer, got -1 (int_type)");
  EXPECT_EQ(error_of(with_args(tensor(R"({"shape": [1099511627776, 1099511627776]})"))),
            "kernel -> io -> args -> 0 -> tensor_spec -> shape: has more elements than any device has memory for "
            "(value_error)");
  EXPECT_EQ(
      error_of(with_args(tensor(R"({"init": {"kind": "normal"}})"))),
      "kernel -> io -> args -> 0 -> tensor_spec -> init -> kind: must be one of randn, uniform, full, zeros, ones, "
      "arange, got 'normal' (enum)");
  EXPECT_EQ(error_of(with_args(tensor("{}"), R"({"block": {"x": 1024, "y": 2}})")),
            "kernel -> io -> launch -> block: has more than 1024 threads (value_error)");
}

TEST(KernelCode, whole_numbers_may_be_written_as_python_servers_take_them) {
  EXPECT_EQ(read_evaluate(evaluate(kTorch, ", \"num_trials\": \"50\", \"timeout\": 60.0")).value().num_trials, 50u);
}

TEST(KernelCode, kernels_that_cannot_be_called_without_a_contract_are_refused) {
  EXPECT_EQ(error_of(evaluate(R"({"source_code": "x", "kernel_type": "triton"})")),
            "Triton kernels require io_contract to be specified");
  EXPECT_EQ(error_of(evaluate(R"({"source_code": "x", "kernel_type": "cuda", "io": {"args": []}})")),
            "CUDA kernels require io_contract to be specified");
  EXPECT_EQ(error_of(evaluate(R"({"source_code": "class ModelNew: 1", "kernel_type": "triton"})")), "accepted");
}

TEST(KernelCode, a_contract_is_read_with_its_defaults) {
  const auto request = read_evaluate(with_args(
      R"({"name": "x", "type": "tensor", "role": "inout", "tensor_spec": {"init": {"kind": "randn", "std": 2}}},
         {"name": "n", "type": "int", "value": 7, "is_meta": true})",
      R"({"grid": {"x": 4}, "num_warps": 8})"));
  const Contract& io = request.value().kernel.io.value();
  EXPECT_EQ(io.args[0].role, Role::inout);
  EXPECT_TRUE(io.args[0].tensor->shape.empty());  // one element
  EXPECT_EQ(io.args[0].tensor->dtype, "float32");
  EXPECT_TRUE(io.args[1].is_meta);
  EXPECT_EQ(*io.args[1].value.integer(), 7);
  EXPECT_THAT(io.launch.grid, ElementsAre(4, 1, 1));
  EXPECT_THAT(io.launch.block, ElementsAre(256, 1, 1));  // as the original where none is given
  EXPECT_EQ(io.launch.num_warps, 8);
}

TEST(KernelCode, literal_data_must_have_the_bytes_of_its_shape) {
  const auto data = [](std::string_view more) {
    return with_args(tensor("{\"shape\": [2], \"data\": {\"data_b64\": \"AAAAAAAAAAA=\"" + std::string(more) + "}}"));
  };
  EXPECT_EQ(error_of(data("")), "accepted");
  EXPECT_EQ(error_of(data(", \"dtype\": \"float64\", \"shape\": [1]")), "accepted");
  const std::string field = "kernel -> io -> args -> 0 -> tensor_spec -> data -> ";
  EXPECT_EQ(error_of(data(", \"dtype\": \"int8\"")),
            field + "data_b64: has 8 bytes, its shape and dtype need 2 (value_error)");
  EXPECT_EQ(error_of(data(", \"compress\": \"zlib\"")),
            field + "data_b64: is not what zlib has compressed (value_error)");
  EXPECT_EQ(error_of(data(", \"compress\": \"gzip\"")),
            field + "compress: must be one of none, zlib, got 'gzip' (enum)");
  // A bomb is refused by the size that its shape names, before memory is taken.
  EXPECT_EQ(error_of(data(", \"compress\": \"zlib\", \"shape\": [1073741824]")),
            "kernel -> io -> args -> 0 -> tensor_spec -> data: has 4294967296 bytes, at most 67108864 are possible "
            "(value_error)");
}
