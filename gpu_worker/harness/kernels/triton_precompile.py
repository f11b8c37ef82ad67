"""Triton's kernels, compiled before their job has a device.

Three processes take part, all forks of the zygote of a worker with a GPU:

    the zygote           prepare(): what is the same for all jobs of a machine
    the record child     run(): calls the submission as a submission child would, on tensors without memory, with a driver of triton's that has no GPU;
                         triton compiles each kernel that is launched for the architecture of the job. out/kq_triton.zip has what its cache holds then
    the submission child fill_common(), fill(): put that where triton looks, before anything of the submission is imported

Triton itself computes the names of what is compiled, from the same source, versions and environment in either child; what is not found is compiled
as ever. So nothing here can make a job fail: a call that depends on values of tensors, or on something torch cannot do without a GPU, ends the
run of the record child, and what was compiled until then counts.

What the record child leaves was made beside code of the job, and goes to that very source alone.
"""

import contextlib
import encodings.cp437  # noqa: F401  zipfile reads names with it: each child would import it
import json
import os
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import torch

from harness.backends import BACKENDS
from harness.backends.context import Context
from harness.children.argument_binding import ProblemSignature
from harness.children.job import Job
from harness.children.model_file import Problem, parameter_names
from harness.children.tensors import TensorSpec, cast, cast_model, outputs_of
from harness.extensions.tracing_child import pretend_gpu

ARCHIVE = "kq_triton.zip"
LIMIT_S = 15.0  # of processor time, after which no kernel is begun; the record child ends at ahead_limit_ms of build/builder.h
KERNELS_MAX = 64
GPU = torch.device("cuda", 0)
SHARED_BYTES = {
    80: 166_912,
    86: 101_376,
    89: 101_376,
    90: 232_448,
    100: 232_448,
    120: 101_376,
}  # that a block may have, by architecture
FAKE_BASE = 1 << 32
REGISTERS = 32  # of a kernel, for who asks: a driver would know
ARCHITECTURES = (80, 86, 89, 90, 100, 103, 120)
GROUP = "__grp__"  # of triton's cache: a file that tells where the others of a kernel are
TUNED = ".autotune.json"  # times of launches that took none

# Files of triton's cache that every job of this machine needs, by their path in it.
_common: dict[str, bytes] = {}


def prepare() -> None:
    """In the zygote. The hash of triton, which is part of every name in its cache, takes 0.4 s, the first look at an argument of a launch 75 ms of
    imports, the module for the driver a run of the compiler."""
    from triton.backends.compiler import GPUTarget
    from triton.backends.nvidia import driver
    from triton.compiler import make_backend
    from triton.runtime.build import compile_module_from_src
    from triton.runtime.cache import triton_key
    from triton.runtime.jit import mangle_type

    triton_key()
    mangle_type(0)
    for arch in ARCHITECTURES:
        backend = make_backend(GPUTarget("cuda", arch, 32))
        backend.hash()
        backend.parse_options({}).hash()
    try:
        with temporary_cache() as directory, modules_not_loaded():
            source = Path(driver.dirname, "driver.c").read_text()
            compile_module_from_src(source, "cuda_utils", driver.library_dirs(), driver.include_dirs, driver.libraries)
            _common.update({str(path.relative_to(directory)): path.read_bytes() for path in files_of(directory)})
    except Exception as error:  # each job makes its own then
        print(f"kq: triton's module for the driver is not made ahead: {error}", file=sys.stderr)


def compiler_description(arch: str) -> str:
    """What compiles for it: "triton 3.6.0, ptxas 12.8"."""
    import triton
    from triton.backends.nvidia.compiler import get_ptxas

    return f"triton {triton.__version__}, ptxas {get_ptxas(number_of(arch)).version}"


def number_of(arch: str) -> int:
    return int("".join(c for c in arch.removeprefix("sm_") if c.isdigit()) or "90")


@contextlib.contextmanager
def temporary_cache() -> Iterator[Path]:
    from triton import knobs

    with tempfile.TemporaryDirectory() as directory, knobs.cache.scope():
        knobs.cache.dir = directory
        yield Path(directory)


@contextlib.contextmanager
def modules_not_loaded() -> Iterator[None]:
    """Modules of triton's are compiled and not loaded: that takes a driver."""
    from triton.runtime import build

    load = build._load_module_from_path
    build._load_module_from_path = lambda name, path: types.SimpleNamespace(launch=None)
    try:
        yield
    finally:
        build._load_module_from_path = load


def files_of(directory: Path) -> list[Path]:
    return [path for path in sorted(directory.rglob("*")) if path.is_file()]


# The record child


def run(job: Job) -> int:
    cache = Path(os.environ["TRITON_CACHE_DIR"])
    sys.path.insert(0, str(job.source))
    try:
        with modules_not_loaded(), fake_gpu(job.arch):
            call_submission(replace(job, device=GPU))
    except BaseException as error:
        print(
            f"kq: triton's kernels were compiled ahead as far as this: {type(error).__name__}: {str(error)[:500]}",
            file=sys.stderr,
        )
    pack(cache, job.out / ARCHIVE)
    return 0


class CompileLimitReached(BaseException):
    """No code of a job catches it."""


def call_submission(job: Job) -> None:
    """One call of the submission, as submission.py makes it."""
    problem = Problem(job.source / job.problem)
    model = cast_model(problem.model_class(*problem.init_inputs()).to(job.device), job.precision)
    with torch.device(job.device):
        inputs = problem.get_inputs()
    inputs = [
        cast(contiguous_like(x.to(job.device)), job.precision) if isinstance(x, torch.Tensor) else x for x in inputs
    ]
    with torch.no_grad():
        submission = BACKENDS[job.backend](
            Context(
                job=job, seed=lambda: None, states=states_of(model), signature=signature_of(model, inputs, job.device)
            )
        )
        submission(*inputs)


def contiguous_like(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


def states_of(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: value for name, value in model.state_dict().items() if isinstance(value, torch.Tensor)}


def signature_of(model: torch.nn.Module, inputs: list[Any], device: torch.device) -> ProblemSignature:
    given = {
        name: spec(value) if isinstance(value, torch.Tensor) else value
        for name, value in zip(parameter_names(model.forward, len(inputs)), inputs)
    }
    try:
        outputs = [spec(output) for output in outputs_of(model(*inputs))]
    except Exception:  # it looks at values: whoever needs no contract does not need to know
        outputs = []
    return ProblemSignature(given, outputs, states_of(model), device)


def spec(tensor: torch.Tensor) -> TensorSpec:
    return TensorSpec(tensor.dtype, tensor.shape)


@contextlib.contextmanager
def fake_gpu(arch: str) -> Iterator[None]:
    """Tensors have a form and a device, which may be a GPU that is not there, and triton takes them for tensors of that GPU."""
    import triton
    from torch._subclasses import fake_tensor

    fake_tensor.FakeTensorMode.avoid_device_init = True  # type: ignore[assignment]  # as torch does where it finds no GPU
    fake_tensor.init_gpu_context = lambda device: None  # type: ignore[assignment]
    # Where a tensor begins, storages are aligned: what triton compiles depends on it.
    fake_tensor.FakeTensor.data_ptr = fake_address  # type: ignore[method-assign]
    torch.nn.Module._apply = apply_without_swap  # type: ignore[method-assign]
    torch.compile = lambda model=None, **_: model if model is not None else lambda inner: inner  # type: ignore[assignment]
    pretend_gpu(arch)
    install_driver(arch)
    limit_compiles(triton.compiler)
    with fake_tensor.FakeTensorMode(allow_non_fake_inputs=True):
        yield


def fake_address(tensor: torch._C.TensorBase) -> int:
    """What data_ptr() is."""
    return FAKE_BASE + int(tensor.storage_offset()) * tensor.element_size()


def apply_without_swap(
    module: torch.nn.Module, function: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True
) -> torch.nn.Module:
    """Module._apply, which cannot exchange tensors without memory."""
    for child in module.children() if recurse else ():
        child._apply(function)
    for name, parameter in module._parameters.items():
        if parameter is not None:
            module._parameters[name] = torch.nn.Parameter(function(parameter.detach()), parameter.requires_grad)
    for name, buffer in module._buffers.items():
        if buffer is not None:
            module._buffers[name] = function(buffer)
    return module


def limit_compiles(compiler: types.ModuleType) -> None:
    """No more kernels, and for no longer, than a build should take."""
    kernels, compile = iter(range(KERNELS_MAX)), compiler.compile

    def compile_some(*args: Any, **kwargs: Any) -> Any:
        if sum(os.times()[:4]) > LIMIT_S or next(kernels, None) is None:  # its own and that of ptxas and the C compiler
            raise CompileLimitReached(f"{KERNELS_MAX} kernels or {LIMIT_S:.0f} s")
        return compile(*args, **kwargs)

    compiler.compile = compile_some  # type: ignore[attr-defined]


def install_driver(arch: str) -> None:
    """Triton's driver for the GPU that is pretended: kernels are compiled, and so are the C stubs that launch them; nothing is launched."""
    import triton.testing
    from triton.backends.compiler import GPUTarget
    from triton.backends.nvidia.driver import CudaDriver, CudaLauncher

    number = number_of(arch)
    shared = SHARED_BYTES.get(number, SHARED_BYTES[90])
    properties = {"max_shared_mem": shared, "max_num_regs": 65536, "multiprocessor_count": 132, "warpSize": 32}

    class Utils:
        get_device_properties = staticmethod(lambda device: properties)
        load_binary = staticmethod(lambda *_: (None, None, REGISTERS, 0, 1024))

        def __getattr__(self, name: str) -> Callable[..., None]:
            return lambda *_: None

    class Launcher:
        def __init__(self, source: Any, metadata: Any) -> None:
            with contextlib.suppress(Exception):  # no compiler, or no driver to link with: the job makes its own
                CudaLauncher(source, metadata)

        def __call__(self, *args: Any, **kwargs: Any) -> None:
            pass

    class Driver(CudaDriver):
        def __init__(self) -> None:
            self.utils = Utils()
            self.launcher_cls = Launcher
            self.get_current_device = lambda: 0
            self.set_current_device = lambda device: None
            self.get_current_stream = lambda device=None: 0
            self.get_device_capability = lambda device=None: divmod(number, 10)

        def get_current_target(self) -> GPUTarget:
            return GPUTarget("cuda", number, 32)

        def get_benchmarker(self) -> Callable[..., Any]:
            return measure

    def measure(launch: Callable[[], Any], *_: Any, quantiles: Any = None, **__: Any) -> Any:
        """Of an autotuner: every configuration is compiled, none is better."""
        launch()
        return 1.0 if quantiles is None else [1.0] * len(quantiles)

    triton.testing.do_bench = triton.testing.do_bench_cudagraph = measure
    triton.runtime.driver.set_active(Driver())


def pack(cache: Path, archive: Path) -> None:
    files = [path for path in files_of(cache) if not path.name.endswith(TUNED)]
    if not files:
        return
    with ZipFile(archive, "w") as zip_file:
        for path in files:
            zip_file.write(path, path.relative_to(cache))


# The submission child


def unpack_common() -> None:
    """What every job needs of what triton looks for, where it looks: in the child's own directory, which stays its to write to."""
    cache = Path(os.environ["TRITON_CACHE_DIR"])
    for name, content in _common.items():
        (cache / name).parent.mkdir(parents=True, exist_ok=True)
        (cache / name).write_bytes(content)


def unpack_job_cache(job: Job) -> None:
    """What was compiled for this job. Its own code had a hand in it, so whatever that does to this process is the job's doing."""
    if (job.source / ARCHIVE).exists():
        try:
            unpack(job.source / ARCHIVE, Path(os.environ["TRITON_CACHE_DIR"]))
        except Exception as error:
            print(f"kq: {ARCHIVE} is no use: {error}", file=sys.stderr)


def unpack(archive: Path, cache: Path) -> None:
    with ZipFile(archive) as zip_file:
        files = [Path(zip_file.extract(name, cache)) for name in zip_file.namelist()]
    for group in (file for file in files if file.name.startswith(GROUP)):  # whole paths, which were another directory's
        names = json.loads(group.read_text())["child_paths"]
        group.write_text(json.dumps({"child_paths": {name: str(group.parent / name) for name in names}}))
