#include "gpu_worker/compile/extension.h"

#include <gtest/gtest.h>

#include "gpu_worker/compile/test_builds.h"

namespace kq::worker {
namespace {

// Returns a record with one call that has every field. A field in `fields` replaces the default, because it comes
// later.
std::string calls(const std::string& fields, const std::string& key = "k1") {
  const std::string plain =
      R"("name": "m", "place": "add.py:9", "inline": true, "implicit_headers": true, "cpp": [], "cuda": [], )"
      R"("files": [], "sources": [], "functions": null, "cflags": [], "cuda_cflags": [], "ldflags": [], )"
      R"("include_paths": [], "with_cuda": false, "is_python_module": true, "error_handling": true, "lines": {})";
  return R"({"calls": [{)" + plain + (fields.empty() ? "" : ", " + fields) + R"(}], "keys": [")" + key +
         R"("], "similar_keys": ["s-)" + key + R"("]})";
}
ExtensionCall call(const std::string& fields) {
  const auto parsed = parse_calls(calls(fields));
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed->front();
}
std::string verdict(const std::string& fields) {
  const auto found = judge_call(call(fields));
  if (!found) return "fine";
  const Evidence& evidence = *evidence_of(*found);
  return evidence.reason + " " + evidence.rule + " at " + evidence.place;
}

TEST(ExtensionCalls, have_sources_and_flags) {
  const ExtensionCall found =
      call(R"("cpp": ["int f();"], "cuda": ["a", "b"], "cuda_cflags": ["-O3"], "with_cuda": true, )"
           R"("lines": {"cuda_sources[0]": 3})");
  EXPECT_EQ(found.key, "k1");
  EXPECT_EQ(found.name, "m");
  EXPECT_TRUE(found.with_cuda && found.has_cuda_sources && found.has_implicit_headers);
  ASSERT_EQ(found.sources.size(), 3u);
  EXPECT_EQ(found.sources[0].first, "cpp_sources");
  EXPECT_EQ(found.sources[2].first, "cuda_sources[1]");
  EXPECT_EQ(found.flags.front(), (std::pair<std::string, std::string>("extra_cuda_cflags", "-O3")));
  EXPECT_EQ(found.lines.at("cuda_sources[0]"), 3u);
}

TEST(ExtensionCalls, are_judged_as_the_compiler_reads_them) {
  EXPECT_EQ(verdict(R"("cuda": ["int x;\nvoid f() { MAKE(&s); }"], "cuda_cflags": ["-DMAKE=cudaStreamCreate"])"),
            "stream cuda_stream_create at add.py:9, cuda_sources:2");
  EXPECT_EQ(verdict(R"("cuda": ["void f() { MAKE(&s); }"], "cuda_cflags": ["-D", "MAKE=cudaStreamCreate"])"),
            "stream cuda_stream_create at add.py:9, cuda_sources:1");
  EXPECT_EQ(verdict(R"("cuda": ["#define MAKE cudaStreamCreate", "void g();\nvoid f() { MAKE(&s); }"], )"
                    R"("lines": {"cuda_sources[1]": 30})"),
            "stream cuda_stream_create at add.py:31");
  EXPECT_EQ(verdict(R"("cuda": ["#define SAME(x) x\nvoid f() { SAME(", "cudaStreamCreate(&s)); }"])"),
            "stream cuda_stream_create at add.py:9, cuda_sources[1]:1");
  // Macros of one language's sources do not apply to those of the other, because no compiler reads both as one text.
  EXPECT_EQ(verdict(R"("cpp": ["#define MAKE cudaStreamCreate"], "cuda": ["void f() { MAKE(&s); }"])"), "fine");
  // The compile child puts a line of its own between two sources, and the backslash joins that line.
  EXPECT_EQ(verdict(R"("cpp": ["// \\", "void f() { cudaStreamCreate(&s); }"])"),
            "stream cuda_stream_create at add.py:9, cpp_sources[1]:1");
  EXPECT_EQ(verdict(R"("cpp": ["#define f std::thread"], "functions": [["f", ""]])"),
            "async host_thread at add.py:9, functions:2");
  EXPECT_EQ(verdict(R"("cuda": ["void f() { k<<<N, 256>>>(); }"], "cuda_cflags": ["-DN=4", "-O3"])"), "fine");
}

TEST(ExtensionCalls, that_are_invalid_are_bad_input) {
  for (const std::string text :
       {"", "[]", "{}", R"({"calls": 3, "keys": [], "similar_keys": []})",
        R"({"calls": [3], "keys": ["a"], "similar_keys": ["a"]})",
        R"({"calls": [{}], "keys": [], "similar_keys": [""]})", R"({"calls": [{}], "keys": [7], "similar_keys": [""]})",
        R"({"calls": [], "keys": []})", "\xff\xfe"}) {
    const auto parsed = parse_calls(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::bad_input);
  }
  EXPECT_FALSE(parse_calls(std::string(kExtensionCallBytesMax + 1, ' ')));
}

TEST(ExtensionCalls, have_findings_in_lines_of_the_submissions_file) {
  EXPECT_EQ(verdict(R"("cuda": ["\nvoid f() { cudaStreamCreate(&s); }"])"),
            "stream cuda_stream_create at add.py:9, cuda_sources:2");
  EXPECT_EQ(verdict(R"("cuda": ["\nvoid f() { cudaStreamCreate(&s); }"], "lines": {"cuda_sources": 20})"),
            "stream cuda_stream_create at add.py:21");
  EXPECT_EQ(verdict(R"("files": [["part0/x.cu", "void f() { cudaStreamCreate(&s); }"]])"),
            "stream cuda_stream_create at add.py:9, part0/x.cu:1");
  EXPECT_EQ(verdict(R"("cuda": ["// cudaStreamCreate"])"), "fine");
}

TEST(ExtensionCalls, with_flags_that_break_a_rule_are_rejected) {
  EXPECT_EQ(verdict(R"("cuda_cflags": ["--default-stream=per-thread"])"), "policy per_thread_flag at add.py:9");
  EXPECT_EQ(verdict(R"("cuda_cflags": ["--default-stream", "per-thread"])"), "policy per_thread_flag at add.py:9");
  EXPECT_EQ(verdict(R"("cflags": ["-fplugin=x.so"])"), "policy compiler_flag at add.py:9");
}

TEST(ExtensionCalls, may_have_definitions_in_every_form_of_a_flag) {
  for (const char* flags :
       {R"("cflags": ["-O2", "-DT=std::thread"])", R"("cuda_cflags": ["-Xcompiler=-DT=std::thread"])",
        R"("cuda_cflags": ["-Xcompiler", "-O2,-DT=std::thread"])",
        R"("cuda_cflags": ["--compiler-options", "'-O2,-DT=std::thread'"])",
        R"("cuda_cflags": ["-D", "T=std::thread"])"}) {
    EXPECT_EQ(verdict(std::string(R"("cpp": ["void f() { T t; }"], )") + flags),
              "async host_thread at add.py:9, cpp_sources:1")
        << flags;
  }
  EXPECT_EQ(verdict(R"("cpp": ["void f() { std::thread t; }"], "cuda_cflags": ["-Dthread=mutex"])"),
            "async host_thread at add.py:9, cpp_sources:1")
      << "the flag is for the other compiler only";
  const std::string last = std::string(kExtensionFlagBytesMax - 40, 'x') + ",--default-stream=per-thread";
  EXPECT_EQ(verdict(R"("cuda_cflags": ["-Xcompiler=)" + last + R"("])"), "policy per_thread_flag at add.py:9");
}

TEST(ExtensionCalls, with_fields_of_another_form_are_refused) {
  for (const char* fields : {R"("cpp": {"std::thread t;": 1})",
                             R"("cpp": "int a;")",
                             R"("cpp": ["a", 3])",
                             R"("cpp": null)",
                             R"("cflags": {"-DX": 1})",
                             R"("cflags": ["-O2 -DX"])",
                             R"("cflags": ["-O2\t-DX"])",
                             R"("cflags": ["-DX=\u00e9"])",
                             R"("cflags": ["-O2\u00a0-DX"])",
                             R"("files": [["a", "b", "c"]])",
                             R"("files": {"a": "b"})",
                             R"("sources": [3])",
                             R"("functions": ["f"])",
                             R"("functions": {"f": "f"})",
                             R"("inline": 1)",
                             R"("with_cuda": "yes")",
                             R"("name": ["m"])",
                             R"("lines": {"a": -1})",
                             R"("lines": [])",
                             R"("more": 1)",
                             R"("include_paths": "/x")"}) {
    const auto parsed = parse_calls(calls(fields));
    ASSERT_FALSE(parsed) << fields;
    EXPECT_EQ(parsed.error().kind, ErrorKind::bad_input);
  }
}

TEST(ExtensionCalls, have_a_limited_number_of_sources) {
  std::string many = R"("cpp": [""])";
  for (std::size_t i = 1; i < kExtensionSourcesMax; ++i) many.insert(many.size() - 1, R"(, "")");
  EXPECT_TRUE(parse_calls(calls(many)));
  many.insert(many.size() - 1, R"(, "")");
  const auto parsed = parse_calls(calls(many));
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message, "load_inline: cpp_sources are more than 64");
}

TEST(ExtensionCalls, are_judged_while_there_is_time) {
  int queries = 0;
  EXPECT_FALSE(judge_call(call(R"("cpp": ["std::thread t;"])"), [&] { return ++queries == 0; }));
  EXPECT_EQ(queries, 1);
}

TEST(ExtensionCalls, with_trigraphs_are_rejected) {
  const std::string source = R"("cpp": ["\nstd::th?\u003f/\nread t;"])";
  for (const char* flag : {"-std=c++14", "-std=c++11", "-ansi", "--std=c++0x"}) {
    EXPECT_EQ(verdict(source + R"(, "cflags": [")" + flag + R"("])"),
              "policy disguised_source at add.py:9, cpp_sources:2")
        << flag;
  }
  EXPECT_EQ(verdict(source + R"(, "cflags": ["-std=gnu++14"])"), "fine");
}

TEST(ExtensionKey, changes_with_what_shapes_the_module_only) {
  const ExtensionCall one = call(R"("cpp": ["a"])");
  const Hash key = extension_key(one, "sm_90", "g++ 12");
  EXPECT_NE(key, extension_key(one, "sm_100", "g++ 12"));
  EXPECT_NE(key, extension_key(one, "sm_90", "g++ 13"));
  EXPECT_NE(key, extension_key(call(R"("cpp": ["b"])"), "sm_90", "g++ 12"));
  EXPECT_NE(key, extension_key(call(R"("cpp": ["a"], "cflags": ["-O3"])"), "sm_90", "g++ 12"));
  EXPECT_EQ(key, extension_key(call(R"("cpp": ["a"], "lines": {"cpp_sources": 7})"), "sm_90", "g++ 12"));
}

TEST(ExtensionHeader, depends_on_sources_and_flags) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(header_variants(call(R"("cpp": ["a"])")), (Names{"extension-O1", "bodies-O1"}));
  EXPECT_EQ(header_variants(call(R"("cpp": ["a"], "cflags": ["-O3"])")), (Names{"extension-O2", "bodies-O1"}));
  const std::string cuda = R"("cuda": ["b"], "with_cuda": true, "cflags": ["-O3"])";
  EXPECT_EQ(header_variants(call(R"("cpp": ["a"], )" + cuda)),
            (Names{"extension-O1", "types-O1", "bodies-O1", "nvcc-O1"}));
  EXPECT_EQ(header_level(call(R"("cpp": ["int forward(); int before_while;"], )" + cuda)), "O1") << "no loop";
  EXPECT_EQ(header_variants(call(R"("cpp": ["for (;;) {}"], )" + cuda)),
            (Names{"extension-O2", "types-O2", "bodies-O1", "nvcc-O1"}));
  EXPECT_EQ(header_variants(call(R"("cpp": [], "cuda": ["#include <torch/extension.h>"], "with_cuda": true)")),
            (Names{"extension-O1", "bodies-O1", "nvcc-O1"}));
  const std::string flags = R"("cpp": ["a"], "cflags": ["-fopenmp", "-O3", "-ffast-math"])";
  EXPECT_EQ(header_variants(call(flags)), (Names{"extension-O2-fast-openmp", "bodies-O1-fast-openmp"}));
  EXPECT_EQ(header_variants(call(flags + R"(, "cuda": ["b"], "with_cuda": true)")),
            (Names{"extension-O1-fast-openmp", "types-O1", "bodies-O1-fast-openmp", "bodies-O1", "nvcc-O1"}));
  EXPECT_EQ(header_variants(call(R"("implicit_headers": false, "cpp": ["#include <cmath>"])")), Names{});
  EXPECT_EQ(header_variants(call(R"("implicit_headers": false, "cpp": ["#include <torch/types.h>"])")),
            (Names{"types-O1", "bodies-O1"}));
  EXPECT_EQ(header_variants(call(R"("implicit_headers": false, "cpp": ["#include <ATen/ATen.h>"])")),
            (Names{"aten-O1", "bodies-O1"}));
  EXPECT_EQ(header_variants(call(R"("implicit_headers": false, "cpp": ["#include <torch/torch.h>"])")),
            (Names{"extension-O1", "bodies-O1"}));
}

// Builds extensions and runs them on the lane.
class ExtensionRunTest : public ::testing::Test, protected TestBuilds {
 protected:
  static void SetUpTestSuite() {
    const auto ready = set_up();
    ASSERT_TRUE(ready) << ready.error().message;
  }
  static void TearDownTestSuite() { tear_down(); }
  static constexpr std::string_view kProblem =
      "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n"
      "def get_inputs():\n    return [torch.rand(64)]\ndef get_init_inputs():\n    return []\n";

  // Returns a submission that calls load_inline in its constructor or in forward, with `more` added to the C source.
  static std::string submission(bool in_forward, const std::string& more) {
    const std::string load = "load_inline('small', SOURCE + " + more + ", no_implicit_headers=True)";
    return "import os, torch\nfrom torch.utils.cpp_extension import load_inline\nSOURCE = r'''\n#include <Python.h>\n"
           "static PyObject* one(PyObject*, PyObject*) { return PyLong_FromLong(1); }\n"
           "static PyMethodDef methods[] = {{\"one\", one, METH_NOARGS, \"\"}, {nullptr, nullptr, 0, nullptr}};\n"
           "static PyModuleDef definition = {PyModuleDef_HEAD_INIT, \"small\", nullptr, -1, methods};\n"
           "PyMODINIT_FUNC PyInit_small() { return PyModule_Create(&definition); }\n'''\n"
           "class ModelNew(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.small "
           "= " +
           (in_forward ? "None" : load) +
           "\n    def forward(self, x):\n        small = " + (in_forward ? load : "self.small") +
           "\n        return x + small.one()\n";
  }
  static Expected<Result> build_and_run(const std::string& source, const std::string& file = "// none") {
    Lane& lane = (*TestLane::get())->lane();
    Lease lease = lease_of(Backend::torch_cuda, {{"k.py", source}, {"small.cc", file}});
    lease.device = lane.device();
    lease.submission.problem.hash = sha256(kProblem);
    lease.submission.trials = {.correctness = 1, .warmup = 1, .timed = 2};
    lease.blobs.push_back({sha256(kProblem), std::string(kProblem)});
    const auto built = build(lease);
    if (!built) return failure(built.error());
    if (built->verdict) return our_fault("not built: " + evidence_of(*built->verdict)->message);
    return lane.run(lease, *built);
  }
};

TEST_F(ExtensionRunTest, an_extension_is_loaded_in_the_constructor_or_in_forward) {
  for (const bool in_forward : {false, true}) {
    const auto result = build_and_run(submission(in_forward, "''"));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(to_string(name_of(result->verdict)), "passed")
        << (evidence_of(result->verdict) ? evidence_of(result->verdict)->message : "");
    EXPECT_EQ(result->toolchain.compiler.find("g++ "), 0u);
  }
}

// load() of a file beside the submission makes a library that is no module; it writes a file when it is loaded.
TEST_F(ExtensionRunTest, a_file_is_loaded_as_a_plain_library) {
  const auto result = build_and_run(
      "import pathlib, torch\nfrom torch.utils.cpp_extension import load\n"
      "path = load('small', [pathlib.Path(__file__).parent / 'small.cc'], extra_cflags=['-DONE=1'], "
      "is_python_module=False)\n"
      "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n        with open(pathlib.Path.cwd() / 'loaded') "
      "as file:\n            return x + int(file.read())\n",
      "#include <fstream>\nnamespace {\nstruct Loaded {\n  Loaded() { std::ofstream(\"loaded\") << ONE; }\n} "
      "loaded;\n}\n");
  EXPECT_EQ(to_string(name_of(result.value().verdict)), "passed");
}

// The folder of a submission's file is a copy that the submission may write, and the file's folder is another one in
// each child. The library is compiled from the text that was recorded.
TEST_F(ExtensionRunTest, a_file_that_the_submission_writes_beside_itself_is_loaded) {
  const auto result = build_and_run(
      "import argparse, pathlib, torch\nfrom torch.utils.cpp_extension import load\n"
      "argparse.ArgumentParser().parse_args()\nfolder = pathlib.Path(__file__).parent / 'scratch'\nfolder.mkdir()\n"
      "(folder / 'small.cc').write_text('#include <fstream>\\nstruct Loaded { Loaded() { '\n"
      "    'std::ofstream(\"loaded\") << 1; } } loaded;')\n"
      "path = load('small', [folder / 'small.cc'], is_python_module=False)\n"
      "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n        with open(pathlib.Path.cwd() / 'loaded') "
      "as file:\n            return x + int(file.read())\n");
  EXPECT_EQ(to_string(name_of(result.value().verdict)), "passed");
}

TEST_F(ExtensionRunTest, a_source_that_differs_in_each_process_is_not_compiled_in_the_run) {
  const auto result = build_and_run(submission(false, "f'// {os.urandom(4)}'"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(to_string(name_of(result->verdict)), "load_failed");
  EXPECT_EQ(evidence_of(result->verdict)
                ->message.find("k.py:13: this call of load_inline was not there when the submission was built"),
            0u)
      << evidence_of(result->verdict)->message;
}

}  // namespace
}  // namespace kq::worker
