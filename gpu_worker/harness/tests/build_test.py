"""Tests what build children of a real zygote leave in out/."""

import json
import shutil
import unittest
from pathlib import Path

from harness.extensions.loader_call import CALLS_MAX
from harness.extensions.toolchain import find_cuda
from world import RELU, WorldTest

ADD = """
#include <cuda_fp16.h>
__global__ void add(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] + 1.0f;
}
"""
PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry three(.param .u64 out, .param .u16 n)
{
  ret;
}
"""
SPEC = {
    "launch": {"grid": {"x": 1}, "block": {"x": 32}},
    "args": [
        {"name": "x", "type": "tensor", "tensor_spec": {"shape": [4, 8], "dtype": "float32"}},
        {"name": "out", "type": "tensor", "role": "output", "tensor_spec": {"shape": [4, 8], "dtype": "float32"}},
        {"name": "n", "type": "int", "value": 32},
    ],
}


class Builds(WorldTest):
    def build(self, files: dict[str, str | bytes], **order: object) -> Path:
        child = self.child({"problem.py": RELU, **files}, **{"role": "build", **order})
        self.assertEqual(self.zygote.exit_of(child.id), 0, child.log(1))
        return child.dir / "out"

    def cuda(self, source: str = ADD, spec: object = None) -> Path:
        return self.build(
            {"add.cu": source, "add.json": json.dumps(SPEC if spec is None else spec)}, backend="cuda", entry="add.cu"
        )

    def assert_failed(self, out: Path, words: str) -> None:
        self.assertIn(words, (out / "message").read_text())
        self.assertEqual((out / "status").read_text(), "failed\n")

    def test_python_is_only_read(self) -> None:
        out = self.build(
            {"new.py": "import torch\nopen('/kq/out/ran', 'w')\nS = torch.cuda.Stream\nS()\n", "other.py": "f()\n"}
        )
        self.assertEqual((out / "status").read_text(), "ok\n")
        self.assertEqual(
            (out / "facts").read_text(),
            'file\tnew.py\t2\n1\timport\ttorch\n2\tcall\topen\t"/kq/out/ran\n4\tcall\ttorch.cuda.Stream\n'
            "file\tother.py\t2\n1\tcall\tf\n",
        )
        self.assertFalse((out / "ran").exists())

    def test_what_a_contract_names_is_never_dead(self) -> None:
        source = "import torch\nclass ModelNew: pass\ndef named(x):\n    torch.cuda.Stream()\n"
        self.assertIn("4\tcall\ttorch.cuda.Stream\t\tdead\n", (self.build({"new.py": source}) / "facts").read_text())
        named = self.build({"new.py": source, "new.json": json.dumps({"function_name": "named"})})
        self.assertIn("4\tcall\ttorch.cuda.Stream\n", (named / "facts").read_text())

    def test_a_call_in_what_a_contract_names_is_recorded(self) -> None:
        source = (
            "from torch.utils.cpp_extension import load_inline\ndef entry(x, k):\n"
            "    return load_inline('m', f'int k = {k};').run(x)\n"
        )
        contract = {
            "entry_point": "entry",
            "args": [{"name": "x", "type": "tensor"}, {"name": "k", "type": "int", "value": 3}],
        }
        out = self.build({"new.py": source, "new.json": json.dumps(contract)}, role="record", backend="multi_kernel")
        (call,) = json.loads((out / "calls").read_text())["calls"]
        self.assertEqual((call["cpp"], call["place"]), (["int k = 3;"], "new.py:3"))

    def test_a_call_behind_a_move_to_the_gpu_is_recorded(self) -> None:
        source = (
            "import torch\nfrom torch.utils.cpp_extension import load_inline\nclass ModelNew(torch.nn.Module):\n"
            "    def forward(self, x, *rest):\n"
            "        x = x.cuda().to('cuda').to(torch.device('cuda'), torch.float16).contiguous()\n"
            "        assert x.is_cuda and x.dtype == torch.float16\n"
            "        return load_inline('m', 'int a;').run(x)\n"
        )
        out = self.build({"new.py": source}, role="record", backend="torch_cuda")
        self.assertEqual([call["place"] for call in json.loads((out / "calls").read_text())["calls"]], ["new.py:7"])

    def test_a_syntax_error_has_its_place(self) -> None:
        self.assert_failed(self.build({"new.py": "x = 1\ny = (\n"}), "new.py:2: SyntaxError: '(' was never closed")
        self.assert_failed(
            self.build({"new.py": "The kernel:\n```python\nx = 1\n```\n"}),
            "new.py:1: SyntaxError: invalid syntax; line 2 is a Markdown fence, send only the code inside",
        )

    def test_a_kernel_becomes_a_cubin(self) -> None:
        out = self.cuda()
        self.assertEqual((out / "status").read_text(), "ok\n", (out / "message").read_text())
        self.assertEqual((out / "module.cubin").read_bytes()[:4], b"\x7fELF")
        self.assertEqual(
            (out / "launch").read_text(),
            "kernel\t_Z3addPKfPfi\ngrid\t1\t1\t1\nblock\t32\t1\t1\nshared\t0\n"
            "arg\tx\ttensor\tinput\tfloat32\t4,8\t-\narg\tout\ttensor\toutput\tfloat32\t4,8\t-\n"
            "arg\tn\tint\tinput\tint32\t-\t32\n",
        )

    @unittest.skipUnless(shutil.which("g++"), "no g++ here")
    def test_a_source_is_preprocessed_with_the_toolkits_headers(self) -> None:
        # The wheel of NVRTC lacks some of the headers that g++ would read; cuda.h is the one that includes no other.
        out = self.build(
            {
                "add.cu": '#include "own.h"\n#include <cuda.h>\n\nHANDLE lane() { return CU_STREAM_PER_THREAD; }\n'
                + ADD.replace("#include <cuda_fp16.h>", ""),
                "own.h": "#define HANDLE CUstream\nint own;\n",
                "add.json": json.dumps(SPEC),
            },
            backend="cuda",
            entry="add.cu",
        )
        lines = (out / "source.ii").read_text()
        self.assertIn("CUstream lane() { return ((CUstream)0x2); }", lines)
        self.assertIn('# 1 "own.h"', lines)
        self.assertNotIn("cuStreamCreate", lines)
        self.assertLess(len(lines), 2000)

    def test_kernels_keep_their_c_names_and_templates_are_named(self) -> None:
        self.assertEqual(
            self.kernel_of(self.cuda(f'extern "C" {ADD.replace("#include <cuda_fp16.h>", "").strip()}')), "add"
        )
        template = ADD.replace("__global__", "template <int K> __global__")
        kernel = self.kernel_of(self.cuda(template, {**SPEC, "kernel_name": "add<4>"}))
        self.assertTrue(kernel.startswith("_Z3addILi4"), kernel)

    def test_one_of_several_kernels_by_either_compiler(self) -> None:
        source = (
            '#include <cuda_fp16.h>\nextern "C" __global__ void other() {}\nnamespace my {\ntemplate <class T, int K>'
            + ADD.replace("#include <cuda_fp16.h>", "")
            + "}\n"
        )
        spec = {
            **SPEC,
            "metadata": {
                "kernel_name": "my::add",
                "name_expressions": ["my::add<float, 4>"],
                "compiler_options": ["-O3", "-arch=sm_90a", "-DK0=1"],
            },
        }
        for compiler in ("nvrtc", "nvcc"):
            if compiler == "nvcc" and find_cuda() is None:
                continue
            out = self.cuda(source, {**spec, "compiler": compiler})
            self.assertEqual((out / "status").read_text(), "ok\n", (out / "message").read_text())
            self.assertTrue(self.kernel_of(out).startswith("_ZN2my3addIfLi4"), self.kernel_of(out))
            self.assertIn("sm_90a", (out / "toolchain").read_text())

    def test_scalars_are_as_wide_as_the_kernels_parameters(self) -> None:
        args = [{"name": "out", "type": "tensor", "role": "output", "tensor_spec": {"shape": [4, 8]}}]
        args += [{"name": name, "type": "float", "value": 1.5} for name in "ad"] + [
            {"name": "n", "type": "int", "value": 3},
            {"name": "b", "type": "bool", "value": True},
        ]
        source = (
            'extern "C" __global__ void k(float* out, float a, double d, long long n, bool b) { out[n] = a + d + b; }'
        )
        lines = (self.cuda(source, {"args": args}) / "launch").read_text().splitlines()[4:]
        self.assertEqual([line.split("\t")[4] for line in lines], ["float32", "float32", "float64", "int64", "int8"])
        self.assert_failed(self.cuda(source, {"args": args[1:]}), "add.json: 4 arguments are given, k has 5 parameters")

    def test_ptx_and_cubins_are_taken_as_they_are(self) -> None:
        launch = {
            "args": [
                {"name": "out", "type": "tensor", "role": "output", "tensor_spec": {"shape": [4, 8]}},
                {"name": "n", "type": "int", "value": 3},
            ]
        }
        files: dict[str, str | bytes] = {"add.ptx": PTX, "add.json": json.dumps(launch)}
        out = self.build(files, backend="cuda", entry="add.ptx")
        self.assertEqual((out / "status").read_text(), "ok\n", (out / "message").read_text())
        self.assertEqual(self.kernel_of(out), "three")
        self.assertIn("\tint16\t", (out / "launch").read_text())
        code = (out / "module.cubin").read_bytes()
        again = self.build({**files, "add.cubin": code}, backend="cuda", entry="add.cubin")
        self.assertEqual((again / "launch").read_text(), (out / "launch").read_text())
        older = self.build({**files, "add.cubin": code}, backend="cuda", entry="add.cubin", arch="sm_80")
        self.assert_failed(older, "add.cubin: is for sm_90, the device is sm_80")
        self.assert_failed(
            self.build({**files, "add.cubin": b"MZ"}, backend="cuda", entry="add.cubin"), "add.cubin: is no cubin"
        )
        self.assert_failed(
            self.build({**files, "add.ptx": PTX.replace("ret", "rat")}, backend="cuda", entry="add.ptx"), "add.ptx:6: "
        )

    def kernel_of(self, out: Path) -> str:
        word, name = (out / "launch").read_text().splitlines()[0].split("\t")
        self.assertEqual(word, "kernel")
        return name

    @unittest.skipIf(find_cuda() is None, "no nvcc here, which gives its words to a shell")
    def test_no_name_means_anything_to_a_shell(self) -> None:
        name = 'a$(touch ran; echo "INJ ECTED" >&2; exit 3)`touch ran`'
        files = {f"{name}.cu": ADD, f"{name}.json": json.dumps({**SPEC, "compiler": "nvcc"})}
        out = self.build(files, backend="cuda", entry=f"{name}.cu")
        self.assertEqual((out / "status").read_text(), "ok\n", (out / "message").read_text())
        self.assertFalse((out.parent / "work/ran").exists())
        files[f"{name}.cu"] = ADD.replace("x[i]", "y[i]")
        self.assert_failed(self.build(files, backend="cuda", entry=f"{name}.cu"), 'identifier "y" is undefined')

    def test_a_call_that_was_written_down_by_a_liar_is_none(self) -> None:
        call = {"name": "m", "inline": True, "cpp": ["int f();"], "implicit_headers": False, "functions": [["f", "f"]]}
        out = self.build({"call.json": json.dumps({**call, "name": "m$(touch ran)"})}, role="compile")
        self.assert_failed(out, "m$(touch ran)")
        self.assertFalse((out.parent / "work/ran").exists())
        out = self.build({"call.json": json.dumps({**call, "functions": [["f), abort(", "f"]]})}, role="compile")
        self.assertEqual((out / "status").read_text(), "refused\n")
        self.assertIn("is not the name of a function", (out / "message").read_text())

    def trace(self, source: str, failed: dict[str, object] | None = None) -> Path:
        files: dict[str, str | bytes] = {"new.py": "from torch.utils.cpp_extension import load_inline\n" + source}
        if failed is not None:
            files["kq_extensions.json"] = json.dumps({"failed": failed})
        return self.build(files, role="record", backend="torch")

    def test_a_trace_raises_at_a_call_that_is_known_not_to_compile(self) -> None:
        caught = (
            "try:\n    load_inline('m', 'int a;')\nexcept RuntimeError as error:\n"
            "    assert str(error) == \"Error building extension 'm': words\"\n    load_inline('n', 'int b;')\n"
        )
        first = json.loads((self.trace(caught) / "calls").read_text())
        self.assertEqual([call["name"] for call in first["calls"]], ["m"])
        failed: dict[str, object] = {first["keys"][0]: {"kind": "build", "text": "words"}}
        out = self.trace(caught, failed)
        second = json.loads((out / "calls").read_text())
        self.assertEqual([call["name"] for call in second["calls"]], ["m", "n"])
        self.assertEqual((out / "uncaught").read_text(), "")
        for statements in (
            "load_inline('m', 'int a;')\n",
            "try:\n    load_inline('m', 'int a;')\nexcept Exception as error:\n    raise ValueError from error\n",
        ):
            self.assertEqual((self.trace(statements, failed) / "uncaught").read_text(), first["keys"][0])

    def test_an_error_that_a_model_raises_in_place_of_the_compilers_leaves_the_file(self) -> None:
        model = (
            "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x, *rest):\n        try:\n"
            "            load_inline('m', 'int a;')\n        except Exception as error:\n            {}\n"
            "        return x\n"
        )
        first = json.loads((self.trace(model.format("pass")) / "calls").read_text())
        failed: dict[str, object] = {first["keys"][0]: {"kind": "build", "text": "words"}}
        for statement, is_uncaught in (
            ("raise RuntimeError(f'no kernel: {error}')", True),
            ("raise", True),
            ("return x.no_such_method()", False),
            ("return torch.relu(x)", False),
        ):
            out = self.trace(model.format(statement), failed)
            self.assertEqual((out / "uncaught").read_text(), first["keys"][0] if is_uncaught else "", statement)

    def test_a_call_in_another_file_of_the_submission_is_recorded(self) -> None:
        files = {
            "new.py": "import torch, helper\nclass ModelNew(torch.nn.Module):\n    def forward(self, x, *rest):\n"
            "        return helper.module().run(x)\n",
            "helper.py": "from torch.utils.cpp_extension import load_inline\ndef module():\n"
            "    return load_inline('m', 'int a;')\n",
        }
        out = self.build(files, role="record", backend="torch")
        self.assertEqual([call["place"] for call in json.loads((out / "calls").read_text())["calls"]], ["helper.py:3"])

    def test_more_calls_than_there_may_be_are_told(self) -> None:
        calls = (
            "for i in range({}):\n    try:\n        load_inline(f'm{{i}}', f'int a{{i}};')\n"
            "    except Exception:\n        pass\n"
        )
        self.assertEqual((self.trace(calls.format(CALLS_MAX)) / "complaint").read_text(), "")
        out = self.trace(calls.format(CALLS_MAX + 1))
        self.assertEqual(
            (out / "complaint").read_text(), f"new.py:4: load_inline and load are called more than {CALLS_MAX} times"
        )
        of_one_source = calls.replace("a{{i}}", "a").format(2 * CALLS_MAX)
        self.assertEqual((self.trace(of_one_source) / "complaint").read_text(), "")

    def test_a_call_whose_arguments_torch_does_not_take_is_noted(self) -> None:
        caught = (
            "for _ in range(2):\n    try:\n        load_inline('m\\udce9', None)\n"
            "    except AttributeError:\n        pass\n"
        )
        out = self.trace(caught)
        (noted,) = json.loads((out / "raised").read_text())
        error = "new.py:4: load_inline: AttributeError: 'NoneType' object has no attribute 'insert'"
        self.assertEqual((noted["name"], noted["error"]), ("m?", error))
        self.assertEqual((out / "uncaught").read_text(), "")
        out = self.trace("load_inline('m', None)\n")
        self.assertEqual((out / "uncaught").read_text(), json.loads((out / "raised").read_text())[0]["key"])
        out = self.trace(
            "for i in range(20):\n    try:\n        load_inline(str(i), None)\n"
            "    except AttributeError:\n        pass\n"
        )
        self.assertEqual(len(json.loads((out / "raised").read_text())), CALLS_MAX)

    def test_a_call_that_kq_refuses_is_told_although_the_file_catches_it(self) -> None:
        out = self.trace("try:\n    load_inline('m', '', extra_cflags=['-DX=\u00e9'])\nexcept Exception:\n    pass\n")
        self.assertIn("characters that are not printable ASCII", (out / "complaint").read_text())

    def test_flags_that_a_compiler_does_not_know_are_the_sources_failure(self) -> None:
        call = {"name": "m", "inline": True, "cpp": [""], "implicit_headers": False, "functions": []}
        for flag, status in (("--no-such-flag", "failed\n"), ("-fdump-tree-all", "refused\n")):
            out = self.build({"call.json": json.dumps({**call, "cflags": [flag]})}, role="compile")
            self.assertEqual((out / "status").read_text(), status, (out / "message").read_text())

    def compile_small(self, source: str, place: str = "new.py:7", **more: object) -> Path:
        call = {"name": "m", "inline": True, "cpp": [source], "implicit_headers": False, "place": place}
        return self.build({"call.json": json.dumps({**call, **more})}, role="compile")

    def test_what_is_larger_than_a_build_may_write_is_no_error_of_the_source(self) -> None:
        out = self.compile_small("char large[128 << 20] = {1};", is_python_module=False)
        self.assertEqual((out / "status").read_text(), "disk\n", (out / "message").read_text())
        self.assertIn("new.py:7: the compiler writes more than a build may write", (out / "message").read_text())
        self.assertFalse((out / "final").exists())

    def test_a_library_that_would_not_load_is_told_without_loading_it(self) -> None:
        entry = '#include <Python.h>\nextern "C" PyObject* PyInit_m() { return PyLong_FromLong(NUMBER); }\n'
        declared = "namespace my { long missing(int); }\n" + entry.replace("NUMBER", "my::missing(1)")
        for source, more, words in (
            (declared, {}, "m.so: undefined symbol: _ZN2my7missingEi"),
            (declared, {"is_python_module": False}, "m.so: undefined symbol: _ZN2my7missingEi"),
            ("int f() { return 1; }", {}, "dynamic module does not define module export function (PyInit_m)"),
        ):
            with self.subTest(words, **more):
                out = self.compile_small(source, **more)
                self.assertEqual((out / "status").read_text(), "not_loadable\n", (out / "message").read_text())
                self.assertEqual((out / "message").read_text(), f"new.py:7: {words}\n{words}")
                self.assertFalse((out / "module.so").exists())
        for source, more in (
            (entry.replace("NUMBER", "1"), {}),
            ("int f() { return 1; }", {"is_python_module": False}),
            ("long missing(int) __attribute__((weak));\n" + entry.replace("NUMBER", "missing ? 1 : 2"), {}),
            (entry.replace("NUMBER", '!crypt("key", "salt")'), {"ldflags": ["-lcrypt"]}),
        ):
            out = self.compile_small(source, **more)
            self.assertEqual((out / "status").read_text(), "ok\n", (out / "message").read_text())

    def test_files_that_a_submission_writes_are_loaded_from_a_folder_with_blanks(self) -> None:
        source = (
            "import os, tempfile\nfrom torch.utils.cpp_extension import load\n"
            "folder = tempfile.mkdtemp(prefix='my ext ')\npaths = []\n"
            "for i in (1, 2):\n"
            "    paths.append(os.path.join(folder, f'm{i}.cpp'))\n"
            "    with open(paths[-1], 'wb') as out:\n"
            "        out.write(f'#include <Python.h>\\n// caf\\xe9 {i}\\n'\n"
            "            'extern \"C\" PyObject* PyInit_m() { return PyLong_FromLong(1); }'.encode('latin-1'))\n"
            "    load('m', paths[-1], verbose=True)\n"
        )
        recorded = self.build({"new.py": source}, role="record", backend="torch")
        calls = json.loads((recorded / "calls").read_text())
        self.assertEqual(len(set(calls["keys"])), 2, (recorded / "complaint").read_text())
        for call in calls["calls"]:
            self.assertIn("// caf\u00e9", call["files"][0][1])
            out = self.build({"call.json": json.dumps(call)}, role="compile")
            self.assertEqual((out / "status").read_text(), "ok\n", (out / "message").read_text())

    def test_a_library_that_would_not_load_raises_what_torch_raises(self) -> None:
        statements = "from torch.utils.cpp_extension import load_inline\nload_inline('m', ''{})\n"
        for more, kind, words in (
            ("", "ImportError", "m.so: undefined symbol: f"),
            (", is_python_module=False", "OSError", "Could not load this library: m.so"),
        ):
            caught = statements.format(more).replace("load_inline('m'", "try:\n    load_inline('m'") + (
                f"except {kind} as error:\n    assert str(error) == {words!r}\n    load_inline('n', '')\n"
            )
            first = json.loads((self.trace(caught) / "calls").read_text())
            out = self.trace(caught, {first["keys"][0]: {"kind": "load", "text": "m.so: undefined symbol: f"}})
            self.assertEqual([call["name"] for call in json.loads((out / "calls").read_text())["calls"]], ["m", "n"])

    def test_what_does_not_compile_has_its_place(self) -> None:
        self.assert_failed(self.cuda(ADD.replace("x[i]", "y[i]")), 'add.cu:5: identifier "y" is undefined')
        self.assert_failed(self.cuda('#include "/etc/shadow"\n' + ADD), "add.cu:1: ")
        self.assert_failed(self.cuda("// __global__ void add()\nint x;"), "has no __global__")
        self.assert_failed(self.cuda(ADD, {**SPEC, "kernel_name": "sub"}), "sub")

    def test_only_harmless_options_are_passed_on(self) -> None:
        fine = ["--use_fast_math", "-DN=4", "--std=c++17", "--maxrregcount=64", "-lineinfo", "--fmad=false"]
        self.assertEqual((self.cuda(ADD, {**SPEC, "compiler_options": fine}) / "status").read_text(), "ok\n")
        for option in (
            "-I/etc",
            "--pre-include=/etc/passwd",
            "-default-stream=per-thread",
            "-DN=4 -I/etc",
            "--device-as-default-execution-space",
            3,
        ):
            self.assert_failed(self.cuda(ADD, {**SPEC, "compiler_options": [option]}), "add.json: compiler_options is")

    def test_a_bad_launch_file_is_said_in_words(self) -> None:
        cases = [
            ([], "add.json: is no object"),
            ({}, "add.json: args is null, expected a list of arguments"),
            ({"args": [3]}, "add.json: args[0] is 3, expected an object"),
            (
                {"args": [{"name": "x", "type": "str"}]},
                "argument x is a str, which no CUDA kernel takes; expected tensor, int, float, bool",
            ),
            ({"args": [{"name": "x", "type": "int", "value": 1.5}]}, "args[0].value is 1.5, expected of type int"),
            ({"args": [], "launch": {"grid": {"x": 0}}}, "launch.grid.x is 0, expected a whole number of at least 1"),
            ({"args": [], "launch": {"grid": 3}}, "launch.grid is 3"),
        ]
        for spec, words in cases:
            with self.subTest(words):
                self.assert_failed(self.cuda(ADD, spec), words)
        out = self.build({"add.cu": ADD}, backend="cuda", entry="add.cu")
        self.assert_failed(out, "add.json: a CUDA kernel needs this file")


if __name__ == "__main__":
    unittest.main()
