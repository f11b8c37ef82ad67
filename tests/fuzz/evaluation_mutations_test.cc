// Sends thousands of mutations of valid bodies. Every answer is a documented one, and no body makes a job that a broker
// would refuse.
#include <gtest/gtest.h>

#include <random>

#include "producer/gateway/evaluation/answer_check.h"

using namespace kq;
using namespace kq::gateway::evaluation;
using producer::Json;
using producer::JsonArray;
using producer::JsonObject;

namespace {

constexpr std::size_t kMutations = 10'000;

const std::string kTensor =
    R"({"name": "x", "type": "tensor", "role": "input", "is_meta": false, "tensor_spec": {"shape": [2, 3],
        "dtype": "float16", "init": {"kind": "randn", "seed": 4, "mean": 1.0, "std": 2, "low": 0, "high": 1}}})";
const std::string kData =
    R"({"name": "d", "type": "tensor", "tensor_spec": {"shape": [2], "data": {"data_b64": "AAAAAAAAAAA=",
        "dtype": "float32", "shape": [2], "compress": "none"}}})";
const std::string kOut = R"({"name": "out", "type": "tensor", "role": "output", "tensor_spec": {"shape": [6]}})";
const std::string kScalars =
    R"({"name": "n", "type": "int", "value": 6}, {"name": "B", "type": "int", "value": 8, "is_meta": true})";
const std::string kTriton =
    R"({"source_code": "@triton.jit\ndef f(): pass", "kernel_type": "triton", "io": {"args": [)" + kTensor + "," +
    kOut + "," + kScalars + R"(], "launch": {"grid": {"x": 2, "y": 1}, "num_warps": 4, "num_stages": 2}},
    "metadata": {"kernel_name": "f"}})";
const std::string kCuda = R"({"source_code": "__global__ void f() {}", "kernel_type": "cuda", "io": {"args": [)" +
                          kTensor + "," + kData + "," + kOut +
                          R"(], "launch": {"grid": {"x": 2}, "block": {"x": 32}, "shared_mem_bytes": 64}},
    "metadata": {"backend": "nvcc", "compiler_options": ["--use_fast_math"], "name_expressions": ["f"]}})";
const std::string kTorch =
    R"({"source_code": "class Model: pass\ndef get_inputs(): return []", "kernel_type": "torch"})";
const std::string kFunction = R"({"source_code": "def f(x): return x", "kernel_type": "torch", "io": {"args": [)" +
                              kTensor + R"(]}, "metadata": {"function_name": "f", "class_name": "C"}})";
const std::string kEntry = R"({"source_code": "def f(x): return x", "kernel_type": "multi_kernel", "io": {"args": [)" +
                           kTensor + R"(]}, "metadata": {"entry_point": "f"}})";

std::vector<std::pair<std::string, std::string>> bodies() {
  const auto pair = [](const std::string& reference, const std::string& custom) {
    return "{\"ref_kernel\": " + reference + ", \"custom_kernel\": " + custom +
           ", \"num_trials\": 10, \"timeout\": 30, \"atol\": 0.01, \"rtol\": 0.1}";
  };
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string& one : {kTriton, kCuda, kTorch, kFunction, kEntry}) {
    all.emplace_back("/evaluate", "{\"kernel\": " + one + ", \"num_trials\": 10, \"timeout\": 30}");
    all.emplace_back("/compare", pair(kFunction, one));
    all.emplace_back("/compare", pair(kTorch, one));
    all.emplace_back("/", pair(one, kFunction));
  }
  all.emplace_back("/", R"({"ref_code": "class Model: pass\ndef get_inputs(): return []", "custom_code": "x",
                            "num_trials": 5, "timeout": 30})");
  return all;
}

// Changes one node of a body.
class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  void mutate(Json& body) {
    std::vector<Json*> nodes;
    collect(body, nodes);
    Json& node = *nodes[below(nodes.size())];
    auto* object = std::get_if<JsonObject>(&node.value);
    auto* array = std::get_if<JsonArray>(&node.value);
    const std::size_t how = below(5);
    if (object != nullptr && !object->empty() && how < 2) {
      object->erase(object->begin() + static_cast<std::ptrdiff_t>(below(object->size())));
    } else if (object != nullptr && how == 2) {
      object->emplace_back("unknown_" + std::to_string(below(9)), any());
    } else if (array != nullptr && !array->empty() && how < 2) {
      array->push_back((*array)[below(array->size())]);
    } else if (array != nullptr && !array->empty() && how == 2) {
      array->erase(array->begin() + static_cast<std::ptrdiff_t>(below(array->size())));
    } else {
      node = any();
    }
  }

 private:
  std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }

  static void collect(Json& json, std::vector<Json*>& nodes) {
    nodes.push_back(&json);
    if (auto* object = std::get_if<JsonObject>(&json.value)) {
      for (auto& member : *object) collect(member.value, nodes);
    } else if (auto* array = std::get_if<JsonArray>(&json.value)) {
      for (Json& element : *array) collect(element, nodes);
    }
  }

  Json any() {
    const std::string kTexts[] = {"",
                                  "x",
                                  "tensor",
                                  "int",
                                  "output",
                                  "inout",
                                  "zlib",
                                  "torch_cuda",
                                  "nvcc",
                                  "randn",
                                  "arange",
                                  "bool",
                                  "in",
                                  "a b",
                                  "\xC3\xA4",
                                  "12",
                                  "class Model: 1",
                                  std::string(300, 'n'),
                                  std::string("\0", 1),
                                  "AAAA"};
    const std::int64_t kIntegers[] = {0, 1, -1, 2, 33, 1'024, 65'536, 1ll << 40, INT64_MAX, INT64_MIN};
    const double kNumbers[] = {0.5, -0.0, 1e308, 1e-300, 3.0, 9.3e18};
    switch (below(8)) {
      case 0:
        return Json{nullptr};
      case 1:
        return Json{below(2) == 0};
      case 2:
      case 3:
        return Json{kIntegers[below(std::size(kIntegers))]};
      case 4:
        return Json{kNumbers[below(std::size(kNumbers))]};
      case 5:
        return Json{JsonArray(below(4), Json{std::int64_t{2}})};
      case 6:
        return Json{JsonObject{}};
      default:
        return Json{kTexts[below(std::size(kTexts))]};
    }
  }

  std::mt19937 random_;
};

}  // namespace

TEST(Mutations, every_valid_body_is_accepted) {
  const gateway::Routes routes = evaluation_routes({});
  for (const auto& [path, body] : bodies()) {
    CannedService service = passing_service();
    EXPECT_EQ(answer_to(routes, service, path, body).status, 200) << body;
  }
}

TEST(Mutations, every_answer_is_a_documented_one) {
  const gateway::Routes routes = evaluation_routes({});
  const auto valid = bodies();
  std::map<int, std::size_t> counts;
  for (std::uint32_t seed = 0; seed < kMutations; ++seed) {
    Mutator mutator(seed);
    const auto& [path, text] = valid[seed % valid.size()];
    Json body = producer::parse_json(text).value();
    for (std::uint32_t i = 0; i <= seed % 3; ++i) mutator.mutate(body);
    CannedService service = passing_service();
    const std::string sent = producer::to_text(body);
    const gateway::Response response = answer_to(routes, service, path, sent);
    const auto parsed = producer::parse_json(response.body);
    ASSERT_TRUE(parsed.has_value()) << response.body;
    const auto wrong = undocumented(response.status, *parsed);
    ASSERT_FALSE(wrong.has_value()) << *wrong << "\nseed " << seed << "\n" << sent << "\n" << response.body;
    for (const producer::PackedJob& job : service.jobs) {
      const auto refused = unacceptable(job);
      ASSERT_FALSE(refused.has_value()) << *refused << "\nseed " << seed << "\n" << sent;
    }
    ++counts[response.status];
  }
  EXPECT_GT(counts[200], kMutations / 20);
  EXPECT_GT(counts[400], kMutations / 2);
}
