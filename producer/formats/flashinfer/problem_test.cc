#include "producer/formats/flashinfer/problem.h"

#include <gtest/gtest.h>

namespace kq::producer::flashinfer {
namespace {

constexpr const char* kDefinition =
    R"({"name": "scale",
"axes": {"n": {"type": "var"}, "m": {"type": "const", "value": 8}},
"inputs": {"x": {"shape": ["n", "m"], "dtype": "float32"}, "factor": {"shape": null, "dtype": "float32"}},
"outputs": {"y": {"shape": ["n", "m"], "dtype": "float32"}},
"reference": "def run(x, factor):\n    return x * factor\n"})";
constexpr const char* kWorkload = R"({"uuid": "a", "axes": {"n": 4},
"inputs": {"x": {"type": "random"}, "factor": {"type": "scalar", "value": 2.0}}})";

std::string problem_error(const std::string& definition, const std::vector<std::string>& workloads) {
  JsonArray all;
  for (const std::string& workload : workloads) all.push_back(*parse_json(workload));
  const auto text = problem_text(*parse_json(definition), all, ".");
  return text ? "" : text.error().message;
}

Candidate candidate_of(const std::string& solution) {
  Candidate candidate;
  const auto done = read_solution(*parse_json(solution), "solution.json", candidate);
  EXPECT_TRUE(done) << done.error().message;
  return candidate;
}
std::string solution_error(const std::string& solution) {
  Candidate candidate;
  const auto done = read_solution(*parse_json(solution), "solution.json", candidate);
  return done ? "" : done.error().message;
}

TEST(problem_text, begins_with_the_definition_and_its_workloads) {
  const auto text = problem_text(*parse_json(kDefinition), {*parse_json(kWorkload)}, ".");
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_TRUE(text->starts_with(R"(GIVEN = "{\"definition\": {\"name\": \"scale\", )"));
  EXPECT_NE(text->find(R"(\"workloads\": [{\"uuid\": \"a\")"), std::string::npos);
  EXPECT_TRUE(text->ends_with(kTraceProblem));
}

TEST(problem_text, what_cannot_run_is_one_sentence) {
  EXPECT_EQ(problem_error(R"({"axes": {}, "inputs": {}})", {kWorkload}),
            "a definition has the objects axes, inputs and outputs; missing here: outputs");
  EXPECT_EQ(problem_error(R"({"axes": {}, "inputs": {}, "outputs": {}})", {kWorkload}),
            "the definition has no text reference");
  EXPECT_EQ(problem_error(kDefinition, {}), "the definition has 0 workloads; 1 to 128 can run");
  EXPECT_EQ(problem_error(kDefinition, {R"({"axes": {}})"}), "a workload has no text uuid");
  EXPECT_EQ(problem_error(kDefinition, {R"({"uuid": "a", "axes": {}, "inputs": {}})"}),
            "workload a gives axis n no size");
  EXPECT_EQ(problem_error(kDefinition, {R"({"uuid": "a", "axes": {"n": 1}, "inputs": {"x": {"type": "pickle"}}})"}),
            "workload a gives input x the type 'pickle'; random, scalar, custom and safetensors can run");
  EXPECT_EQ(problem_error(kDefinition, {R"({"uuid": "a", "axes": {"n": 1}, "inputs": {"x": {"type": "custom"}}})"}),
            "workload a has a custom input, but the definition no custom_inputs_entrypoint");
}

TEST(read_solution, a_python_function_is_called_with_the_outputs_behind_the_inputs) {
  const Candidate candidate = candidate_of(
      R"({"name": "mine", "definition": "scale", "author": "ada", "spec": {"languages": ["triton"],
      "entry_point": "kernel.py::run"}, "sources": [{"path": "kernel.py", "content": "x = 1\n"}]})");
  EXPECT_EQ(candidate.label, "scale/mine");
  EXPECT_EQ(candidate.author, "ada");
  EXPECT_EQ(candidate.backend, Backend::triton);
  ASSERT_EQ(candidate.files.size(), 2u);
  EXPECT_EQ(candidate.files[0].name, "kq_entry.py");
  EXPECT_TRUE(candidate.files[0].text->starts_with("from kernel import run as function\n"));
  EXPECT_TRUE(candidate.files[0].text->ends_with("return kq_problem.call_with_outputs(function, inputs)\n"));
  EXPECT_EQ(candidate.files[1].name, "kernel.py");
}

TEST(read_solution, a_function_that_returns_its_outputs_gets_the_inputs_alone) {
  const Candidate candidate = candidate_of(
      R"({"name": "mine", "definition": "scale", "spec": {"language": "pytorch", "entry_point": "kernel.py::run",
      "destination_passing_style": false}, "sources": [{"path": "kernel.py", "content": "x = 1\n"}]})");
  EXPECT_EQ(candidate.backend, Backend::torch);
  EXPECT_TRUE(candidate.files[0].text->ends_with("        return kq_problem.call(function, inputs)\n"));
}

TEST(read_solution, sources_in_cuda_become_an_extension) {
  const Candidate candidate = candidate_of(
      R"({"name": "mine", "definition": "scale", "spec": {"languages": ["cuda_cpp"], "entry_point": "main.cpp::run",
      "compile_options": {"ld_flags": ["-lcuda"]}}, "sources": [{"path": "kernel.h", "content": "int a;"},
      {"path": "kernel.cu", "content": "int b;"}, {"path": "main.cpp", "content": "int c;"}]})");
  EXPECT_EQ(candidate.backend, Backend::torch_cuda);
  ASSERT_EQ(candidate.files.size(), 4u);
  const std::string& text = *candidate.files[0].text;
  EXPECT_NE(text.find(R"(sources=[os.path.join(HERE, "kernel.cu"), os.path.join(HERE, "main.cpp")])"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"(extra_cuda_cflags=["-O3", "--use_fast_math"])"), std::string::npos);
  EXPECT_NE(text.find(R"(extra_ldflags=["-lcuda"])"), std::string::npos);
  EXPECT_NE(text.find("function = extension.run\n"), std::string::npos);
}

TEST(read_solution, sources_in_folders_travel_under_flat_names_and_come_back) {
  const Candidate candidate = candidate_of(
      R"({"name": "mine", "definition": "scale",
      "spec": {"languages": ["pytorch"], "entry_point": "pkg/kernel.py::run"},
      "sources": [{"path": "pkg/kernel.py", "content": "x = 1\n"}, {"path": "./help.py", "content": "y = 1\n"}]})");
  ASSERT_EQ(candidate.files.size(), 3u);
  EXPECT_EQ(candidate.files[1].name, "pkg__kernel.py");
  EXPECT_EQ(candidate.files[2].name, "help.py");
  const std::string& text = *candidate.files[0].text;
  EXPECT_NE(text.find(R"(FOLDERS = {"pkg__kernel.py": "pkg/kernel.py", "help.py": "./help.py"})"), std::string::npos)
      << text;
  EXPECT_NE(text.find("from pkg.kernel import run as function\n"), std::string::npos) << text;
}

TEST(read_solution, what_is_wrong_is_one_sentence) {
  EXPECT_EQ(solution_error(R"({"spec": {}})"), "a solution has an object spec and a list sources");
  EXPECT_EQ(solution_error(R"({"spec": {"entry_point": "run"}, "sources": [{"path": "a.py", "content": "x"}]})"),
            "spec.entry_point is 'run'; FILE::FUNCTION is needed");
  EXPECT_EQ(solution_error(R"({"spec": {"entry_point": "b.py::run"}, "sources": [{"path": "a.py", "content": "x"}]})"),
            "spec.entry_point names the file b.py, which is no source");
  EXPECT_EQ(
      solution_error(R"({"spec": {"entry_point": "a.py::run"}, "sources": [{"path": "../a.py", "content": "x"}]})"),
      "source '../a.py' is no path inside the solution's own folder");
  EXPECT_EQ(solution_error(R"({"spec": {"entry_point": "d/a.py::run"}, "sources": [{"path": "d/a.py", "content": "x"},
                              {"path": "d__a.py", "content": "x"}]})"),
            "two sources are named d__a.py without their folders");
  EXPECT_EQ(
      solution_error(R"({"spec": {"entry_point": "a-b.py::f"}, "sources": [{"path": "a-b.py", "content": "x"}]})"),
      "spec.entry_point is 'a-b.py::f', which is no name of a module and function of Python");
  EXPECT_EQ(solution_error(R"({"spec": {"entry_point": "a.py::run"}, "sources": [{"path": "a.py"}]})"),
            "a source has the texts path and content");
}

}  // namespace
}  // namespace kq::producer::flashinfer
