// Tests what the manifest carries: submissions whose calls of load_inline do not compile, with real build children and
// the lane of the tests.
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "gpu_worker/compile/builder.h"
#include "gpu_worker/lane/test_lane.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProblem =
    "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n"
    "def get_inputs():\n    return [torch.rand(64)]\ndef get_init_inputs():\n    return []\n";

// Defines compiled(number, more), which calls load_inline with C++ that includes no headers of torch. The module has
// the function one(), which returns `number`; a number that is no number does not compile.
constexpr std::string_view kCompiled =
    "import os, torch\nfrom torch.utils.cpp_extension import load_inline\nSOURCE = r'''\n#include <Python.h>\n"
    "static PyObject* one(PyObject*, PyObject*) { return PyLong_FromLong(NUMBER); }\n"
    "static PyMethodDef methods[] = {{\"one\", one, METH_NOARGS, \"\"}, {nullptr, nullptr, 0, nullptr}};\n"
    "static PyModuleDef definition = {PyModuleDef_HEAD_INIT, \"m\", nullptr, -1, methods};\n"
    "#define INIT_(name) PyInit_##name\n#define INIT(name) INIT_(name)\n"
    "PyMODINIT_FUNC INIT(TORCH_EXTENSION_NAME)() { return PyModule_Create(&definition); }\n'''\n"
    "def compiled(number, name='small', **more):\n"
    "    return load_inline(name, SOURCE.replace('NUMBER', str(number)), no_implicit_headers=True, **more)\n"
    "class Plain:\n    @staticmethod\n    def one():\n        return 1\n";

// Uses the module `small` that the test's statements define.
constexpr std::string_view kModel =
    "class ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x + small.one()\n";

class ExtensionManifestTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto tests = TestLane::get();
    ASSERT_TRUE(tests) << tests.error().message;
    root_ = TestLane::root() / "extension-manifest";
    auto zygote = (*tests)->lane().zygote();
    ASSERT_TRUE(zygote) << zygote.error().message;
    zygote_ = *zygote;
  }
  static void TearDownTestSuite() { zygote_.reset(); }

  static Lease lease_of(const std::string& statements) {
    Lane& lane = (*TestLane::get())->lane();
    const std::string source = std::string(kCompiled) + statements + std::string(kModel);
    Lease lease;
    lease.submission.label = "test";
    lease.submission.backend = Backend::torch_cuda;
    lease.submission.problem.name = "p";
    lease.submission.problem.file = "p.py";
    lease.submission.problem.hash = sha256(kProblem);
    lease.submission.files = {{"k.py", sha256(source)}};
    lease.submission.trials = {.correctness = 1, .warmup = 1, .timed = 2};
    lease.blobs = {{sha256(kProblem), std::string(kProblem)}, {sha256(source), source}};
    lease.device = lane.device();
    return lease;
  }
  static Expected<Built> build(const Lease& lease) {
    Builder builder({.scratch = root_ / "scratch", .uid = ::geteuid() == 0 ? 61200u : 0u, .no_gpu_arch = "sm_90"},
                    BuildCache(root_ / "cache"), [](DeviceKind) { return Expected<std::shared_ptr<Zygote>>(zygote_); });
    return builder.build(lease);
  }
  static Expected<Built> build(const std::string& statements) { return build(lease_of(statements)); }
  // Returns the verdict and the message of a build and, if it succeeds, of the run.
  static std::string outcome_of(const Lease& lease) {
    const auto built = build(lease);
    if (!built) return "error: " + built.error().message;
    if (built->verdict) return text_of(*built->verdict);
    Lane& lane = (*TestLane::get())->lane();
    const auto result = lane.run(lease, *built);
    if (!result) return "error: " + result.error().message;
    EXPECT_EQ(result->extensions, built->extensions);
    return text_of(result->verdict);
  }
  static std::string outcome_of(const std::string& statements) { return outcome_of(lease_of(statements)); }
  static std::string text_of(const Verdict& verdict) {
    const Evidence* evidence = evidence_of(verdict);
    const std::string message = evidence == nullptr ? std::string() : evidence->message;
    return std::string(to_string(name_of(verdict))) + (message.empty() ? "" : ": " + message);
  }

  static fs::path root_;
  static std::shared_ptr<Zygote> zygote_;
};
fs::path ExtensionManifestTest::root_;
std::shared_ptr<Zygote> ExtensionManifestTest::zygote_;

TEST_F(ExtensionManifestTest, a_failure_that_the_submission_catches_is_raised_in_the_run) {
  const Lease lease = lease_of(
      "first = compiled(1, 'first')\n"
      "try:\n    compiled('nonsense')\n"
      "except RuntimeError as error:\n    text, cause = str(error), error.__cause__\n"
      "last = compiled(0, 'last')\n"
      "assert text.startswith(\"Error building extension 'small': \") and 'nonsense' in text, text\n"
      "assert type(cause).__name__ == 'CalledProcessError' and cause.output.decode() in text, cause\n"
      "class small:\n    one = staticmethod(lambda: first.one() + last.one())\n");
  const auto built = build(lease);
  ASSERT_TRUE(built) << built.error().message;
  ASSERT_FALSE(built->verdict) << text_of(*built->verdict);
  ASSERT_TRUE(built->extensions);
  EXPECT_EQ(built->extensions->calls, 3u);
  EXPECT_EQ(built->extensions->compiled, 2u);
  EXPECT_TRUE(built->extensions->fell_back);
  ASSERT_EQ(built->extensions->failed.size(), 1u);
  EXPECT_EQ(built->extensions->failed[0].name, "small");
  EXPECT_EQ(built->extensions->failed[0].error.find("k.py:13, cpp_sources line 3: ‘nonsense’ was not declared"), 0u)
      << built->extensions->failed[0].error;
  EXPECT_EQ(outcome_of(lease), "passed");
  EXPECT_TRUE(build(lease)->cached);
  EXPECT_EQ(build(lease)->extensions, built->extensions);
}

TEST_F(ExtensionManifestTest, a_failure_that_leaves_the_file_is_a_failed_build) {
  for (const std::string statements :
       {"small = compiled('nonsense')\n",
        "try:\n    small = compiled('nonsense')\nexcept Exception as e:\n    raise "
        "ValueError('no kernel') from e\n",
        "try:\n    small = compiled('nonsense')\nexcept Exception as e:\n    exit(3)\n"}) {
    const auto built = build("good = compiled(5)\n" + statements);
    ASSERT_TRUE(built && built->verdict) << statements;
    EXPECT_EQ(text_of(*built->verdict).find("build_failed: k.py:13, cpp_sources line 3: ‘nonsense’"), 0u)
        << text_of(*built->verdict);
    EXPECT_EQ(built->extensions->calls, 2u);
    EXPECT_EQ(built->extensions->compiled, 1u);
    EXPECT_FALSE(built->extensions->fell_back);
  }
}

TEST_F(ExtensionManifestTest, a_call_whose_arguments_torch_does_not_take_counts_as_failed) {
  const auto caught = [](const std::string& call, const std::string& error) {
    return lease_of(
        "from torch.utils.cpp_extension import load\nlast = compiled(0, 'last')\n"
        "class small:\n    one = staticmethod(lambda: 1 + last.one())\n"
        "try:\n    " +
        call + "\nexcept " + error + ":\n    pass\nelse:\n    assert False\n");
  };
  const std::vector<std::array<std::string, 3>> cases = {
      {"load_inline('first', None)", "AttributeError",
       "load_inline: AttributeError: 'NoneType' object has no attribute 'insert'"},
      {"load_inline('first', None, None, no_implicit_headers=True)", "TypeError",
       "load_inline: TypeError: can only join an iterable"},
      {"load_inline('first', SOURCE, functions=('one',))", "ValueError",
       "load_inline: ValueError: Expected 'functions' to be a list or dict, but was <class 'tuple'>"},
      {"load_inline('first', SOURCE, sources=[])", "TypeError",
       "load_inline: TypeError: load_inline() got an unexpected keyword argument 'sources'"},
      {"load('first', None)", "TypeError", "load: TypeError: 'NoneType' object is not iterable"},
      {"load(name='first', sources='missing.cu')", "FileNotFoundError",
       "load: FileNotFoundError: [Errno 2] No such file or directory: '/kq/work/missing.cu'"}};
  for (const auto& [call, error, text] : cases) {
    Lease lease = caught(call, error);
    const std::string said = "k.py:23: " + text;
    const auto built = build(lease);
    ASSERT_TRUE(built && !built->verdict && built->extensions) << call;
    EXPECT_EQ(built->extensions->calls, 2u);
    EXPECT_EQ(built->extensions->compiled, 1u);
    EXPECT_TRUE(built->extensions->fell_back);
    ASSERT_EQ(built->extensions->failed.size(), 1u);
    EXPECT_EQ(built->extensions->failed[0].name, "first");
    EXPECT_EQ(built->extensions->failed[0].error, said);
    EXPECT_EQ(build(lease)->extensions, built->extensions) << "from the cache";
    lease.submission.trials.need_extensions = true;
    EXPECT_EQ(text_of(*build(lease)->verdict), "build_failed: " + said);
  }
  EXPECT_EQ(outcome_of(caught(cases[0][0], cases[0][1])), "passed");
  EXPECT_EQ(outcome_of("try:\n    small = load_inline('a', 3)\nexcept AttributeError:\n    small = Plain\n"), "passed");
}

TEST_F(ExtensionManifestTest, wrong_arguments_whose_error_leaves_the_file_are_a_failed_build) {
  for (const std::string end : {"finally:\n    pass\n", "except OSError:\n    pass\n",
                                "except Exception as error:\n    raise ValueError('no') from error\n"}) {
    const auto built = build("try:\n    small = load_inline('a', 3)\n" + end);
    ASSERT_TRUE(built && built->verdict) << end;
    EXPECT_EQ(text_of(*built->verdict),
              "build_failed: k.py:19: load_inline: AttributeError: 'int' object has no attribute 'insert'");
    ASSERT_TRUE(built->extensions);
    EXPECT_EQ(built->extensions->calls, 1u);
    EXPECT_FALSE(built->extensions->fell_back);
  }
}

TEST(ExtensionManifest, calls_that_raise_are_so_many_and_no_more) {
  ExtensionManifest manifest;
  std::string text = R"([3, {"key": 1}, {"key": "a"})";
  for (std::size_t i = 0; i < 2 * kRaisedCallsMax; ++i)
    text += R"(, {"name": "m", "error": "wrong", "key": ")" + std::to_string(i) + "\"}";
  const auto calls = parse_raised(text + "]");
  ASSERT_EQ(calls.size(), kRaisedCallsMax);
  EXPECT_EQ(calls[1].key, "1");
  for (const RaisedCall& call : calls) manifest.add_raised(call);
  manifest.add_raised(calls[0]);
  manifest.add_raised({.key = "one more", .name = "m", .error = "wrong"});
  EXPECT_EQ(manifest.summary(true).calls, kRaisedCallsMax);
  EXPECT_EQ(manifest.call_count(), 0u);
  for (const std::string wrong : {"", "{}", "[", "[[[[[[]]]]]]"}) EXPECT_TRUE(parse_raised(wrong).empty()) << wrong;
}

TEST_F(ExtensionManifestTest, a_failure_may_be_caught_in_the_constructor_or_in_forward) {
  const std::string caught =
      "\n        try:\n            return compiled('nonsense')\n        except RuntimeError:\n            return "
      "Plain\n";
  const auto with_model = [&](const std::string& call) {
    return "class Small:\n    def make(self):" + call +
           "    def one(self):\n        return self.make().one()\nsmall = Small()\n";
  };
  EXPECT_EQ(outcome_of(with_model(caught)), "passed");
  EXPECT_EQ(
      outcome_of(with_model("\n        return compiled('nonsense')\n")).find("build_failed: k.py:13, cpp_sources"), 0u);
}

TEST_F(ExtensionManifestTest, calls_of_the_fallback_are_compiled_and_judged) {
  const auto with_fallback = [](const std::string& fallback) {
    return "try:\n    small = compiled('nonsense')\nexcept RuntimeError:\n    small = " + fallback + "\n";
  };
  EXPECT_EQ(outcome_of(with_fallback("compiled(1, 'other')")), "passed");
  const auto twice =
      build(with_fallback("Plain\ntry:\n    small = compiled('also_bad')\nexcept RuntimeError:\n    small "
                          "= compiled(1, 'third')"));
  ASSERT_TRUE(twice && twice->extensions);
  EXPECT_EQ(twice->extensions->calls, 3u);
  EXPECT_EQ(twice->extensions->failed.size(), 2u);
  const auto rejected = build(with_fallback("load_inline('bad', 'void f() { std::thread t; }')"));
  ASSERT_TRUE(rejected && rejected->verdict);
  EXPECT_EQ(name_of(*rejected->verdict), VerdictName::rejected) << text_of(*rejected->verdict);
  EXPECT_EQ(outcome_of(with_fallback("compiled('still_bad')"))
                .find("build_failed: k.py:13, cpp_sources line 3: "
                      "‘still_bad’ was not declared"),
            0u);
}

TEST_F(ExtensionManifestTest, an_except_does_not_hide_what_kq_refuses) {
  const auto caught = [](const std::string& call) {
    return "try:\n    small = " + call + "\nexcept Exception:\n    small = Plain\n";
  };
  EXPECT_EQ(outcome_of(caught("compiled(1, extra_ldflags=['-Wl,-T,x.ld'])")).find("build_failed: extra_ldflags: "), 0u);
  EXPECT_EQ(
      outcome_of(caught("compiled(1, extra_cflags=['-DX=\\u00e9'])")).find("build_failed: k.py:13: load_inline: "), 0u);
  EXPECT_EQ(
      outcome_of(caught("compiled(f'1 + 0 * 0x{os.urandom(3).hex()}')")).find("load_failed: k.py:13: this call of "),
      0u);
}

TEST_F(ExtensionManifestTest, names_and_flags_fail_as_with_torch) {
  const auto caught = [](const std::string& call) {
    return "try:\n    small = " + call +
           "\nexcept RuntimeError as e:\n    text = str(e)\n    small = Plain\nelse:\n    "
           "text = ''\nassert text.startswith(\"Error building extension '\"), text\n";
  };
  EXPECT_EQ(outcome_of(caught("compiled(1, 'no-name')")), "passed");
  EXPECT_EQ(outcome_of(caught("compiled(1, 'no name')")), "passed");
  EXPECT_EQ(outcome_of(caught("compiled(1, extra_cflags=['-fno-such-flag'])")), "passed");
  EXPECT_EQ(outcome_of("small = compiled(1, 'no-name')\n").find("build_failed: k.py:13: the extension's name"), 0u);
}

TEST_F(ExtensionManifestTest, a_library_that_does_not_load_fails_as_with_torch) {
  const std::string declared = "SOURCE = 'long missing();\\n' + SOURCE\n";
  const std::string caught = declared +
                             "try:\n    small = compiled('missing()')\nexcept ImportError as e:\n    text = str(e)\n"
                             "    small = compiled(1, 'other')\nassert 'undefined symbol' in text, text\n";
  const auto built = build(caught);
  ASSERT_TRUE(built && built->extensions) << text_of(*built->verdict);
  EXPECT_EQ(built->extensions->calls, 2u);
  EXPECT_EQ(built->extensions->compiled, 1u);
  EXPECT_TRUE(built->extensions->fell_back);
  EXPECT_EQ(outcome_of(caught), "passed");
  EXPECT_EQ(outcome_of(declared + "small = compiled('missing()')\n"),
            "build_failed: k.py:13: small.so: undefined symbol: _Z7missingv\nsmall.so: undefined symbol: _Z7missingv");
}

TEST_F(ExtensionManifestTest, files_of_load_may_be_latin_1_in_folders_with_blanks) {
  EXPECT_EQ(outcome_of("import tempfile\nfrom torch.utils.cpp_extension import load\n"
                       "modules, folder = [], tempfile.mkdtemp(prefix='my ext ')\nfor i in (0, 1):\n"
                       "    path = os.path.join(folder, f'number_{i}.cpp')\n"
                       "    with open(path, 'wb') as out:\n"
                       "        out.write(('// caf\\xe9\\n' + SOURCE.replace('NUMBER', str(i))).encode('latin-1'))\n"
                       "    modules.append(load('one_name', path, verbose=True))\n"
                       "class small:\n    one = staticmethod(lambda: modules[0].one() + modules[1].one())\n"),
            "passed");
}

TEST_F(ExtensionManifestTest, a_name_may_differ_in_each_process) {
  EXPECT_EQ(outcome_of("small = compiled(1, f'small_{os.getpid()}_{os.urandom(4).hex()}')\n"), "passed");
  EXPECT_EQ(outcome_of("try:\n    small = compiled('bad', f'small_{os.urandom(4).hex()}')\nexcept RuntimeError:\n    "
                       "small = Plain\n"),
            "passed");
}

TEST_F(ExtensionManifestTest, a_submission_may_need_all_its_extensions) {
  Lease lease = lease_of("try:\n    small = compiled('nonsense')\nexcept RuntimeError:\n    small = Plain\n");
  ASSERT_FALSE(build(lease)->verdict);
  lease.submission.trials.need_extensions = true;
  const auto built = build(lease);
  ASSERT_TRUE(built && built->verdict);
  EXPECT_TRUE(built->cached) << "the build is the same";
  EXPECT_EQ(text_of(*built->verdict).find("build_failed: k.py:13, cpp_sources line 3: ‘nonsense’"), 0u);
  EXPECT_NE(evidence_of(*built->verdict)->hint.find("--need-extensions"), std::string::npos);
  Lease good = lease_of("small = compiled(1)\n");
  good.submission.trials.need_extensions = true;
  EXPECT_EQ(outcome_of(good), "passed");
}

TEST_F(ExtensionManifestTest, a_submission_is_traced_so_often_and_no_more) {
  const auto built = build(
      "small, i = None, 0\nwhile small is None:\n    try:\n        small = compiled(f'bad_{i}')\n"
      "    except RuntimeError:\n        i += 1\n");
  ASSERT_TRUE(built && built->verdict);
  EXPECT_EQ(text_of(*built->verdict),
            "build_failed: after 16 calls of load_inline that do not compile, the submission still makes another one");
}

}  // namespace
}  // namespace kq::worker
