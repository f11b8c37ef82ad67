#include "producer/gateway/evaluation/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace kq;
using namespace kq::gateway;
using namespace kq::gateway::evaluation;
using producer::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

namespace {

constexpr const char* kBench =
    "class Model(torch.nn.Module):\n    def forward(self, a, b):\n        return a + b\n\n"
    "def get_inputs():\n    return [torch.randn(4), torch.randn(4)]\n";

std::string tensor(const std::string& name, const std::string& more = "", const std::string& spec = "") {
  return "{\"name\": \"" + name + "\", \"type\": \"tensor\"" + more + ", \"tensor_spec\": {\"shape\": [4]" + spec +
         "}}";
}
std::string kernel(const std::string& source, const std::string& type, const std::string& args = "",
                   const std::string& metadata = "") {
  std::string text = "{\"source_code\": " + producer::json_quoted(source) + ", \"kernel_type\": \"" + type + "\"";
  if (!args.empty()) text += ", \"io\": {\"args\": [" + args + "]}";
  if (!metadata.empty()) text += ", \"metadata\": " + metadata;
  return text + "}";
}

EvaluationJob made(const tl::expected<EvaluationRequest, BodyError>& request, const EvaluationSettings& settings = {}) {
  return job_of(request.value(), settings).value();
}
EvaluationJob evaluated(const std::string& one) {
  return made(read_evaluate("{\"kernel\": " + one + "}"));
}
tl::expected<EvaluationJob, BodyError> compared(const std::string& reference, const std::string& custom) {
  return job_of(read_compare("{\"ref_kernel\": " + reference + ", \"custom_kernel\": " + custom + "}").value(), {});
}

// JSON without its blanks.
std::string squeezed(std::string text) {
  std::erase(text, ' ');
  return text;
}

std::string file(const EvaluationJob& job, const std::string& name) {
  for (const auto& one : job.job.files) {
    if (one.name == name) return name == "kernel.json" ? squeezed(*one.text) : *one.text;
  }
  return "";
}
// The plan in the problem's second line.
Json plan(const EvaluationJob& job) {
  const std::string text = file(job, "problem.py");
  const std::size_t begin = text.find("\nPLAN = ") + 8;
  const Json quoted = producer::parse_json(text.substr(begin, text.find('\n', begin) - begin)).value();
  return producer::parse_json(*quoted.text()).value();
}
std::string member(const Json& json, const char* name) {
  const Json* found = json.find(name);
  return found == nullptr ? "null" : squeezed(producer::to_text(*found));
}

}  // namespace

TEST(EvaluationJob, a_kernelbench_reference_is_the_problem_as_it_is) {
  const EvaluationJob job = compared(kernel(kBench, "torch"), kernel("class ModelNew: pass", "torch_cuda")).value();
  EXPECT_EQ(file(job, "problem.py"), kBench);
  EXPECT_EQ(file(job, "kernel.py"), "class ModelNew: pass");
  EXPECT_EQ(file(job, "kernel.json"), "");
  EXPECT_EQ(job.job.submission.backend, Backend::torch_cuda);
  EXPECT_EQ(job.job.submission.problem.rtol, 1e-2);
  EXPECT_EQ(job.job.submission.problem.hash, sha256(kBench));
  EXPECT_EQ(job.job.submission.time_limit_ms, 120'000u);
  EXPECT_EQ(job.job.submission.tags.at("request"), "compare");
  EXPECT_TRUE(validate([&] {
                Submission submission = job.job.submission;
                submission.label = "x";
                return submission;
              }())
                  .has_value());
}

TEST(EvaluationJob, an_evaluated_kernel_with_get_inputs_is_its_own_reference) {
  const EvaluationJob job = evaluated(kernel(kBench, "torch"));
  EXPECT_EQ(file(job, "problem.py"), kBench);
  EXPECT_EQ(file(job, "kernel.py"), kBench);
  EXPECT_EQ(job.job.submission.tags.at("request"), "evaluate");
}

TEST(EvaluationJob, a_torch_kernel_without_inputs_is_refused_with_what_is_missing) {
  const auto refused = job_of(read_evaluate("{\"kernel\": " + kernel("class Model: 1", "torch") + "}").value(), {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().fields[0].field, "kernel -> io");
  EXPECT_THAT(refused.error().fields[0].message, HasSubstr("the source defines no get_inputs()"));
  const auto legacy = job_of(read_compare(R"({"ref_code": "r", "custom_code": "c"})").value(), {});
  EXPECT_EQ(legacy.error().fields[0].field, "ref_code");
}

TEST(EvaluationJob, a_bare_kernel_has_placeholders_for_a_reference) {
  const std::string args = tensor("x") + ", " + tensor("out", ", \"role\": \"output\"") +
                           ", {\"name\": \"n\", \"type\": \"int\", \"value\": 4}";
  const EvaluationJob job = evaluated(kernel("__global__ void f();", "cuda", args));
  EXPECT_EQ(member(*plan(job).find("target"), "kind"), "\"none\"");
  EXPECT_EQ(member(plan(job), "names"), "[\"x\"]");
  EXPECT_EQ(member(plan(job), "outputs"), R"([{"shape":[4],"dtype":"float32","name":"out"}])");
  EXPECT_EQ(file(job, "kernel.json"),
            R"({"args":[{"name":"x","type":"tensor"},)"
            R"({"name":"out","type":"tensor","role":"output","tensor_spec":{"shape":[4],"dtype":"float32"}},)"
            R"({"name":"n","type":"int","value":4}],)"
            R"("launch":{"grid":{"x":1,"y":1,"z":1},"block":{"x":256,"y":1,"z":1},"shared_mem_bytes":0}})");
}

TEST(EvaluationJob, a_launch_may_ask_for_dynamic_shared_memory_and_warps) {  // the original knows neither
  const auto launched = [](const std::string& type, const std::string& launch) {
    const std::string args = tensor("x") + "," + tensor("out", ", \"role\": \"output\"");
    const std::string one = "{\"source_code\": \"f\", \"kernel_type\": \"" + type + "\", \"io\": {\"args\": [" + args +
                            "], \"launch\": " + launch + "}}";
    return file(evaluated(one), "kernel.json");
  };
  EXPECT_THAT(launched("cuda", R"({"block": {"x": 64}, "shared_mem_bytes": 65536})"),
              HasSubstr(R"("block":{"x":64,"y":1,"z":1},"shared_mem_bytes":65536})"));
  EXPECT_THAT(launched("triton", R"({"grid": {"x": 4}, "num_warps": 8, "num_stages": 3})"),
              HasSubstr(R"("launch":{"grid":{"x":4,"y":1,"z":1},"num_warps":8,"num_stages":3})"));
}

TEST(EvaluationJob, an_output_with_values_starts_from_them) {  // kernels that add to their output need that
  const std::string args =
      tensor("x") + ", " + tensor("sum", ", \"role\": \"output\"", ", \"init\": {\"kind\": \"zeros\"}");
  const EvaluationJob job = evaluated(kernel("__global__ void f();", "cuda", args));
  EXPECT_THAT(file(job, "kernel.json"), HasSubstr(R"({"name":"sum","type":"tensor","role":"inout"})"));
  EXPECT_EQ(member(plan(job), "names"), "[\"x\",\"sum\"]");
  EXPECT_THAT(job.notes, testing::Contains(HasSubstr("the copy is part of the measured time")));
}

TEST(EvaluationJob, without_a_marked_output_a_bare_kernel_writes_all_tensors) {
  const EvaluationJob job = evaluated(kernel("__global__ void f();", "cuda", tensor("x")));
  EXPECT_THAT(file(job, "kernel.json"), HasSubstr(R"("role":"inout")"));
  EXPECT_EQ(member(plan(job), "outputs"), R"([{"shape":[4],"dtype":"float32","name":"x"}])");
}

TEST(EvaluationJob, both_kernels_get_the_same_inputs_by_place_or_by_name) {
  const std::string seeded = ", \"init\": {\"kind\": \"randn\", \"seed\": 1}";
  const auto names = [&](const std::string& of_reference, const std::string& of_custom) {
    const auto job =
        compared(kernel("class Model: 1", "torch", of_reference), kernel("def f(): 1", "torch", of_custom));
    return member(plan(job.value()), "names") + " + " + member(plan(job.value()), "extra");
  };
  EXPECT_THAT(names(tensor("a", "", seeded) + "," + tensor("b"), tensor("a_ptr") + "," + tensor("b_ptr")),
              StartsWith(R"(["a_ptr","b_ptr"] + [])"));
  EXPECT_THAT(names(tensor("a") + "," + tensor("b"), tensor("b") + "," + tensor("a")), StartsWith(R"(["a","b"] + [])"));
  // A tensor that only the custom kernel reads is drawn as it says; one that only the reference reads keeps its name.
  EXPECT_THAT(names(tensor("a"), tensor("p") + "," + tensor("ws")), HasSubstr(R"(["p"] + [{"name":"ws")"));
  EXPECT_THAT(names(tensor("p") + "," + tensor("a"), tensor("a")), StartsWith(R"(["a","a_"] + [])"));
}

TEST(EvaluationJob, inputs_of_other_forms_are_refused) {
  const auto refused = compared(kernel("class Model: 1", "torch", tensor("a")),
                                kernel("f", "torch", tensor("b", "", ", \"dtype\": \"float16\"")));
  EXPECT_EQ(refused.error().fields[0].field, "custom_kernel -> io -> args -> 0 -> tensor_spec");
  EXPECT_THAT(refused.error().fields[0].message,
              HasSubstr("another dtype or number of elements than ref_kernel -> io"));
}

TEST(EvaluationJob, a_function_or_a_method_is_the_target) {
  const EvaluationJob function =
      evaluated(kernel("def f(x): 1", "torch", tensor("x"), R"({"function_name": "f", "class_name": "C"})"));
  EXPECT_EQ(member(plan(function), "target"),
            R"({"kind":"function","name":"f","method":"forward","has_init_inputs":false})");
  EXPECT_THAT(file(function, "kernel.json"), HasSubstr(R"("function_name":"f")"));
  const EvaluationJob method =
      evaluated(kernel("class C: 1", "torch", tensor("x"), R"({"class_name": "C", "method_name": "m"})"));
  EXPECT_EQ(member(plan(method), "target"), R"({"kind":"class","name":"C","method":"m","has_init_inputs":true})");
  EXPECT_THAT(file(method, "kernel.json"), HasSubstr(R"("class_name":"C","method_name":"m")"));
  const EvaluationJob entry =
      evaluated(kernel("def go(x): 1", "multi_kernel", tensor("x"), R"({"entry_point": "go"})"));
  EXPECT_THAT(member(plan(entry), "target"), StartsWith(R"({"kind":"function","name":"go")"));
}

TEST(EvaluationJob, a_torch_kernel_is_its_class_model_even_beside_a_model_new) {
  const std::string both = std::string(kBench) + "class ModelNew(Model): pass\n";
  EXPECT_EQ(file(evaluated(kernel(both, "torch")), "kernel.json"), R"({"class_name":"Model"})");
  EXPECT_EQ(file(evaluated(kernel(both, "torch_cuda")), "kernel.json"), "");
}

TEST(EvaluationJob, fixed_inputs_vary_and_random_ones_do_not_need_to) {
  const auto vary = [](const std::string& init) {
    return member(plan(evaluated(kernel("class Model: 1", "torch", tensor("x", "", init)))), "vary");
  };
  EXPECT_EQ(vary(", \"init\": {\"kind\": \"ones\"}"), "true");
  EXPECT_EQ(vary(", \"init\": {\"kind\": \"uniform\"}"), "false");
  EXPECT_EQ(vary(""), "false");
}

TEST(EvaluationJob, whole_numbers_keep_all_their_digits) {  // the original goes through a float
  const EvaluationJob job = evaluated(kernel(
      "class Model: 1", "torch",
      tensor("x", "", ", \"dtype\": \"int64\", \"init\": {\"kind\": \"full\", \"fill_value\": 9007199254740993}")));
  EXPECT_THAT(file(job, "problem.py"), HasSubstr("9007199254740993"));
}

TEST(EvaluationJob, names_that_no_parameter_can_have_are_replaced) {
  const EvaluationJob job =
      evaluated(kernel("__global__ void f();", "cuda", tensor("my x") + "," + tensor("a") + "," + tensor("a")));
  EXPECT_EQ(member(plan(job), "names"), R"(["kq_0","a","kq_2"])");
}

TEST(EvaluationJob, one_kernel_of_a_file_is_chosen_by_its_name) {
  const std::string two = "__global__ void a(float* x) {}\n__global__ void b(float* x) {}";
  const EvaluationJob job = evaluated(kernel(two, "cuda", tensor("x"), R"({"kernel_name": "b", "jitify": false})"));
  EXPECT_THAT(file(job, "kernel.json"), HasSubstr("\"kernel_name\":\"b\""));
}

TEST(EvaluationJob, mistakes_of_a_contract_name_the_field) {
  std::string args;
  for (int i = 0; i < 3; ++i) args += "{\"name\": \"n\", \"type\": \"str\", \"value\": \"x\"},";
  const auto refused =
      job_of(read_evaluate("{\"kernel\": " + kernel("f", "cuda", args + tensor("x")) + "}").value(), {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().fields[0].field, "kernel -> io -> args -> 0 -> type");
}

TEST(EvaluationJob, trials_beyond_the_most_for_a_job_are_noted) {
  const EvaluationJob job = made(read_evaluate("{\"num_trials\": 5000, \"kernel\": " + kernel(kBench, "torch") + "}"));
  EXPECT_EQ(job.job.submission.trials.timed, kTrialsMax);
  EXPECT_THAT(job.notes, ElementsAre(HasSubstr("1000 calls are timed")));
}

TEST(EvaluationJob, metrics_come_from_the_profiling_pass) {
  const std::string body = "{\"kernel\": " + kernel(kBench, "torch") + "}";
  EXPECT_EQ(made(read_evaluate(body)).job.submission.trials.profile, Profiler::none);
  EXPECT_EQ(made(read_evaluate(body), {.gpu_device = {}, .gpu_type = {}, .device_metrics = true})
                .job.submission.trials.profile,
            Profiler::ncu);
}

TEST(EvaluationJob, data_that_no_file_of_a_problem_can_hold_is_refused) {
  std::string random;  // bytes that do not compress
  std::uint32_t state = 1;
  for (int i = 0; i < 2'000'000; ++i) {
    state = state * 1664525 + 1013904223;
    random += "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[state >> 26];
  }
  const std::string spec = ", \"data\": {\"dtype\": \"uint8\", \"shape\": [1500000], \"data_b64\": \"" + random + "\"}";
  const auto refused = job_of(
      read_evaluate("{\"kernel\": " + kernel("class Model: 1", "torch", tensor("x", "", spec)) + "}").value(), {});
  ASSERT_TRUE(refused.error().refusal.has_value());
  EXPECT_THAT(refused.error().refusal->error, HasSubstr("at most 1048576 are possible: use init for data"));
}
