"""Tests that a launch finds what was precompiled: kernels are compiled in one process, and found in another without
compiling anything.

Both processes stand for children, as forks of a process that has imported triton. The second one has triton's own
driver, except for loading the kernels, which takes a GPU.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import triton
from backends_test import BARE, BARE_SPEC, TRITON
from harness.backends import BACKENDS
from harness.backends.context import Context
from harness.children.job import Job
from harness.children.tensors import cast
from harness.kernels import triton_precompile
from torch._subclasses.fake_tensor import FakeTensorMode
from triton.backends.nvidia import driver
from triton.runtime import build
from world import RELU

LINEAR = RELU.replace("return torch.relu(x)", "return torch.relu(self.linear(x))").replace(
    "    def forward",
    "    def __init__(self):\n        super().__init__()\n        self.linear = torch.nn.Linear(8, 8)\n    def forward",
)
CONFIGS = "[triton.Config({'BLOCK': 16}), triton.Config({'BLOCK': 32}, num_warps=2)]"
TUNED = TRITON.replace(
    "@triton.jit", f"@triton.autotune({CONFIGS}, key=['n'], cache_results=True)\n@triton.jit"
).replace(", BLOCK=16)", ")")
TUNED = TUNED.replace("(triton.cdiv(x.numel(), 16),)", "lambda m: (triton.cdiv(32, m['BLOCK']),)")


class CompiledAhead(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        # The linker asks for a driver library, but for no symbol in it.
        cls.libraries = tempfile.TemporaryDirectory()
        empty = [
            "gcc",
            "-shared",
            "-x",
            "c",
            "/dev/null",
            "-Wl,-soname,libcuda.so.1",
            "-o",
            f"{cls.libraries.name}/libcuda.so.1",
        ]
        subprocess.run(empty, check=True)
        mock.patch.dict(os.environ, {"TRITON_LIBCUDA_PATH": cls.libraries.name}).start()
        triton_precompile.prepare()
        FakeTensorMode()  # imports for a second what the forks then share

    @classmethod
    def tearDownClass(cls) -> None:
        mock.patch.stopall()
        cls.libraries.cleanup()

    def setUp(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="kq-ahead."))
        self.addCleanup(shutil.rmtree, self.root)

    def ahead(self, new: str, more: dict[str, str] | None = None, **changes: Any) -> Job:
        """Returns a job whose tracing child has ended."""
        files = {"problem.py": RELU, "new.py": new, **(more or {})}
        for name in ("src", "work", "out"):
            (self.root / name).mkdir()
        for name, text in files.items():
            (self.root / "src" / name).write_text(text)
        job = Job(
            **{
                **{
                    "role": "record",
                    "device": torch.device("cuda"),
                    "backend": "triton",
                    "source": self.root / "src",
                    "given": self.root / "src",
                    "work": self.root / "work",
                },
                **{
                    "out": self.root / "out",
                    "entry": "new.py",
                    "problem": "problem.py",
                    "precision": None,
                    "arch": "sm_90",
                    **changes,
                },
            }
        )
        self.assertEqual(in_child(lambda: triton_precompile.run(job), self.root / "first"), 0)
        if (archive := job.out / triton_precompile.ARCHIVE).exists():
            shutil.copy(archive, job.source)
        return job

    def launched(self, job: Job) -> dict[str, Any]:
        return in_child(lambda: launch(job), self.root / "second")

    def assert_found(self, job: Job, kernels: int) -> dict[str, Any]:
        found = self.launched(job)
        self.assertEqual((found["error"], found["new"], found["compiled"]), ("", [], 0))
        self.assertEqual(len(found["kernels"]), kernels)
        return found

    def test_a_kernel_that_a_module_launches(self) -> None:
        found = self.assert_found(self.ahead(TRITON), 1)
        self.assertEqual([name for name, _ in found["modules"]], ["cuda_utils", "__triton_launcher"])

    def test_a_bare_kernel(self) -> None:
        found = self.assert_found(self.ahead(BARE, {"new.json": json.dumps(BARE_SPEC)}), 1)
        self.assertEqual(found["kernels"], [["relu_kernel", 8, 2]])

    def test_every_configuration_of_an_autotuner_and_no_time(self) -> None:
        job = self.ahead(TUNED)
        found = self.launched(job)
        self.assertEqual((found["error"], found["kernels"]), ("", [["relu_kernel", 4, 3], ["relu_kernel", 2, 3]]))
        self.assertEqual([Path(path).name for path in found["new"]], ["relu_kernel.autotune.json"])

    def test_parameters_and_precision_of_a_module(self) -> None:
        new = LINEAR.replace(
            "class Model", TRITON.replace("class ModelNew", "class Relu") + "\nclass ModelNew"
        ).replace("torch.relu(", "Relu()(")
        self.assert_found(self.ahead(new, {"problem.py": LINEAR}, precision=torch.float16), 1)

    def test_what_depends_on_values_ends_it_and_what_was_compiled_stays(self) -> None:
        job = self.ahead(
            TRITON.replace(
                "        return out", "        if out.sum().item() > 0:\n            out = out + 0\n        return out"
            )
        )
        self.assert_found(job, 1)

    def test_more_kernels_than_a_build_should_compile(self) -> None:
        with mock.patch.object(triton_precompile, "KERNELS_MAX", 1):
            job = self.ahead(TUNED)
        found = self.launched(job)
        self.assertEqual((found["compiled"], found["error"]), (1, "it would compile"))

    def test_an_archive_that_is_none(self) -> None:
        job = self.ahead("x = 1\n")
        self.assertFalse((job.out / triton_precompile.ARCHIVE).exists())
        (job.source / triton_precompile.ARCHIVE).write_bytes(b"PK\x03\x04")
        (job.source / "new.py").write_text(TRITON)
        self.assertEqual(self.launched(job)["error"], "it would compile")

    def test_a_file_in_the_cache_is_never_written_again(self) -> None:
        """Each workload unpacks the archive, when the process runs code of the libraries in it. The kernel drops the
        relocated pages of a mapped library that is written again.
        """
        with tempfile.TemporaryDirectory() as directory:
            archive, cache = Path(directory) / "kq.zip", Path(directory) / "cache"
            with zipfile.ZipFile(archive, "w") as zip_file:
                zip_file.writestr("hash/__triton_launcher.so", "code")
            triton_precompile.unpack(archive, cache)
            library = cache / "hash" / "__triton_launcher.so"
            before = library.stat()
            triton_precompile.unpack(archive, cache)
            after = library.stat()
            self.assertEqual((before.st_ino, before.st_mtime_ns), (after.st_ino, after.st_mtime_ns))


class WouldCompile(BaseException):
    pass


def in_child(work: Callable[[], Any], cache: Path) -> Any:
    """Returns what `work` returns in a fork that has this folder as triton's cache."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.environ["TRITON_CACHE_DIR"] = str(cache)
        answer = None
        try:
            answer = work()
        finally:
            os.write(writer, json.dumps(answer).encode())
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer_file:
        answer = json.load(answer_file)
    os.waitpid(pid, 0)
    return answer


def launch(job: Job) -> dict[str, Any]:
    """Makes a call as a submission child on a GPU does."""
    cache = Path(os.environ["TRITON_CACHE_DIR"])
    found: dict[str, Any] = {"error": "", "kernels": [], "modules": [], "compiled": 0}

    class Module:
        PyCUtensorMap = cuOccupancyMaxActiveClusters = set_printf_fifo_size = fill_tma_descriptor = None
        get_device_properties = staticmethod(lambda device: {"max_shared_mem": 232448})
        load_binary = staticmethod(lambda *_: (0, 0, 0, 0, 1024))
        launch = staticmethod(lambda *_: None)

    def load(name: str, path: str) -> type[Module]:
        found["modules"].append((name, path))
        return Module

    def compile_nothing(*_: Any, **__: Any) -> None:
        found["compiled"] += 1
        raise WouldCompile("it would compile")

    build._load_module_from_path = load
    build._build = triton.compiler.ASTSource.make_ir = compile_nothing
    triton.knobs.compilation.listener = lambda *, metadata, **_: found["kernels"].append(
        (metadata["name"], metadata["num_warps"], metadata["num_stages"])
    )
    triton_precompile.unpack_common()
    triton_precompile.unpack_job_cache(job)
    before = set(cache.rglob("*"))
    gpu = driver.CudaDriver()
    gpu.get_current_device = lambda: 0
    gpu.get_device_capability = lambda device: (9, 0)
    gpu.get_current_stream = lambda device: 0
    gpu.get_benchmarker = lambda: lambda call, quantiles: (call(), [1.0, 1.0, 1.0])[1]
    triton.runtime.driver.set_active(gpu)
    sys.path.insert(0, str(job.source))
    try:
        call(job)
    except BaseException as error:
        found["error"] = str(error)
    found["new"] = [str(path) for path in set(cache.rglob("*")) - before if path.is_file()]
    return found


def call(job: Job) -> None:
    """Host tensors stand for those of a GPU, because a launch looks only at their type and address."""
    problem = triton_precompile.Problem(job.source / job.problem)
    args, kwargs = problem.init_arguments()
    model = triton_precompile.cast_model(problem.model_class(*args, **kwargs), job.precision)
    inputs = [cast(x, job.precision) for x in problem.get_inputs()]
    host = types.SimpleNamespace(**{**vars(job), "device": torch.device("cpu")})
    signature = triton_precompile.signature_of(model, inputs, host.device)
    with torch.no_grad():
        BACKENDS[job.backend](Context(job=host, seed=lambda: None, states={}, signature=signature))(*inputs)
