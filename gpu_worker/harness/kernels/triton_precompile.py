"""Compiles Triton kernels before their job has a device, so that a job does not wait for compilers.

Three processes take part, all of them forks of the zygote of a worker with a GPU:

    zygote             prepare() caches what is equal for all jobs of a machine.
    tracing child      run() calls the submission once, as a submission child would, with fake tensors that have no
                       memory and a driver of triton that has no GPU. Triton compiles each launched kernel for the
                       architecture of the job; out/kq_triton.zip holds triton's cache afterwards.
    submission child   unpack_common() and unpack_job_cache() put the files where triton looks for them, before any
                       code of the submission is imported.

Triton computes the names of its cache from the source, the versions and the environment, which are equal in both
children; a kernel that is not found is compiled as usual. A failure in the tracing child therefore never fails a job: a
call that depends on values of tensors, or that torch cannot make without a GPU, ends the trace, and what was compiled
until then is used.

Code of the job takes part in making the archive, so the archive is used for that very source only.
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
from torch.utils._pytree import tree_map

from harness.backends import BACKENDS
from harness.backends.context import Context
from harness.children.argument_binding import ProblemSignature
from harness.children.job import Job
from harness.children.model_file import Problem, parameter_names
from harness.children.tensors import TensorSpec, cast_model, moved
from harness.extensions.tracing_child import pretend_gpu
from harness.sandbox import job_files
from harness.values.value_tree import describe_result

ARCHIVE = job_files.TRITON_ARCHIVE
# Seconds of processor time after which no further kernel is compiled. The tracing child is killed at ahead_limit_ms of
# gpu_worker/compile/builder.h.
LIMIT_S = 15.0
KERNELS_MAX = 64
GPU = torch.device("cuda", 0)
# The bytes of shared memory that a block may have, by architecture.
SHARED_BYTES = {
    80: 166_912,
    86: 101_376,
    89: 101_376,
    90: 232_448,
    100: 232_448,
    120: 101_376,
}
FAKE_BASE = 1 << 32
REGISTERS = 32  # registers that a kernel is said to have; only a driver would know
ARCHITECTURES = (80, 86, 89, 90, 100, 103, 120)
GROUP = "__grp__"  # a file of triton's cache that lists the other files of a kernel
TUNED = ".autotune.json"  # measured times of an autotuner, which are meaningless here

# Files of triton's cache that every job of this machine needs, by their path in the cache.
_common: dict[str, bytes] = {}


def prepare() -> None:
    """Does once in the zygote what each child would repeat: triton's hash of itself, the imports at its first launch,
    and a run of the C compiler for its driver module.
    """
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
    except Exception as error:  # each job then makes its own module
        print(f"kq: triton's driver module cannot be precompiled: {error}", file=sys.stderr)


def compiler_description(arch: str) -> str:
    """Returns the compilers for an architecture: "triton 3.6.0, ptxas 12.8"."""
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
    """Lets triton compile its C modules without loading them, since loading takes a driver."""
    from triton.runtime import build

    load = build._load_module_from_path
    build._load_module_from_path = lambda name, path: types.SimpleNamespace(launch=None)
    try:
        yield
    finally:
        build._load_module_from_path = load


def files_of(directory: Path) -> list[Path]:
    return [path for path in sorted(directory.rglob("*")) if path.is_file()]


# --- the tracing child


def run(job: Job) -> int:
    cache = Path(os.environ["TRITON_CACHE_DIR"])
    job_files.prepare(job, job.entry)
    try:
        with modules_not_loaded(), fake_gpu(job.arch):
            call_submission(replace(job, device=GPU))
    except BaseException as error:
        print(
            f"kq: the precompilation of Triton kernels ended: {type(error).__name__}: {str(error)[:500]}",
            file=sys.stderr,
        )
    pack(cache, job.out / ARCHIVE)
    return 0


class CompileLimitReached(BaseException):
    """Ends the trace. The class is derived from BaseException, so that code of a job does not catch it."""


def call_submission(job: Job) -> None:
    """Makes one call of the submission, as children/submission.py does."""
    problem = Problem(job.source / job.problem)
    args, kwargs = problem.init_arguments()
    model = cast_model(problem.model_class(*args, **kwargs).to(job.device), job.precision)
    with torch.device(job.device):
        inputs = problem.get_inputs()
    device = torch.device(job.device)
    inputs = tree_map(lambda x: moved(x, device, job.precision) if isinstance(x, torch.Tensor) else x, list(inputs))
    with torch.no_grad():
        submission = BACKENDS[job.backend](
            Context(
                job=job, seed=lambda: None, states=states_of(model), signature=signature_of(model, inputs, job.device)
            )
        )
        submission(*inputs)


def states_of(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: value for name, value in model.state_dict().items() if isinstance(value, torch.Tensor)}


def signature_of(model: torch.nn.Module, inputs: list[Any], device: torch.device) -> ProblemSignature:
    given = {
        name: spec(value) if isinstance(value, torch.Tensor) else value
        for name, value in zip(parameter_names(model.forward, len(inputs)), inputs)
    }
    try:
        rows, _ = describe_result(model(*inputs))
        outputs = [spec(output) for _, output in rows if isinstance(output, torch.Tensor)]
    except Exception:  # the model depends on values of tensors; only a contract needs its outputs
        outputs = []
    return ProblemSignature(given, outputs, states_of(model), device)


def spec(tensor: torch.Tensor) -> TensorSpec:
    return TensorSpec(tensor.dtype, tensor.shape)


@contextlib.contextmanager
def fake_gpu(arch: str) -> Iterator[None]:
    """Makes torch and triton work as on a GPU, with tensors that have a shape and a device and no memory."""
    import triton
    from torch._subclasses import fake_tensor

    # torch itself sets this where it finds no GPU
    fake_tensor.FakeTensorMode.avoid_device_init = True  # type: ignore[assignment]
    fake_tensor.init_gpu_context = lambda device: None  # type: ignore[assignment]
    # Triton compiles for the alignment of a tensor's address, and storages are aligned.
    fake_tensor.FakeTensor.data_ptr = fake_address  # type: ignore[assignment, method-assign]
    torch.nn.Module._apply = apply_without_swap  # type: ignore[method-assign]
    torch.compile = uncompiled
    pretend_gpu(arch)
    install_driver(arch)
    limit_compiles(triton.compiler)
    with fake_tensor.FakeTensorMode(allow_non_fake_inputs=True):
        yield


def uncompiled(model: Any = None, **_: Any) -> Any:
    """Replaces torch.compile, as a call and as a decorator with options."""
    return model if model is not None else lambda inner: inner


def fake_address(tensor: torch._C.TensorBase) -> int:
    """Returns an address for a tensor without memory: storages are aligned, and the tensor's offset in its storage
    counts.
    """
    return FAKE_BASE + int(tensor.storage_offset()) * tensor.element_size()


def apply_without_swap(
    module: torch.nn.Module, function: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True
) -> torch.nn.Module:
    """Replaces Module._apply, which cannot swap tensors without memory."""
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
    """Limits the number of compiled kernels and the time that they take."""
    kernels, compile = iter(range(KERNELS_MAX)), compiler.compile

    def compile_some(*args: Any, **kwargs: Any) -> Any:
        # the time of this process and of ptxas and the C compiler
        if sum(os.times()[:4]) > LIMIT_S or next(kernels, None) is None:
            raise CompileLimitReached(f"the limit is {KERNELS_MAX} kernels and {LIMIT_S:.0f} s")
        return compile(*args, **kwargs)

    compiler.compile = compile_some  # type: ignore[attr-defined]


def install_driver(arch: str) -> None:
    """Installs a triton driver for the architecture. Kernels are compiled, and so are the C functions that launch them;
    nothing is launched.
    """
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
            # without a compiler, or a driver library to link with, the job makes its own
            with contextlib.suppress(Exception):
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
        """Stands in for an autotuner's measurement: every configuration is compiled, and all are equally fast."""
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


# --- the submission child


def unpack_common() -> None:
    """Writes the files that every job needs into triton's cache, which lies in the child's own work folder."""
    cache = Path(os.environ["TRITON_CACHE_DIR"])
    for name, content in _common.items():
        (cache / name).parent.mkdir(parents=True, exist_ok=True)
        (cache / name).write_bytes(content)


def unpack_job_cache(job: Job) -> None:
    """Unpacks what was compiled for this job. Code of the job took part in making it, so it can harm nothing but the
    job itself.
    """
    if (job.given / ARCHIVE).exists():
        try:
            unpack(job.given / ARCHIVE, Path(os.environ["TRITON_CACHE_DIR"]))
        except Exception as error:
            print(f"kq: {ARCHIVE} cannot be used: {error}", file=sys.stderr)


def unpack(archive: Path, cache: Path) -> None:
    """Extracts the files that the cache does not have. A file that it has may be a library which this process runs, and
    whose relocated pages the kernel drops when the file is written again.
    """
    with ZipFile(archive) as zip_file:
        names = [name for name in zip_file.namelist() if not (cache / name).exists()]
        files = [Path(zip_file.extract(name, cache)) for name in names]
    # a group file has absolute paths, which were those of another folder
    for group in (file for file in files if file.name.startswith(GROUP)):
        names = json.loads(group.read_text())["child_paths"]
        group.write_text(json.dumps({"child_paths": {name: str(group.parent / name) for name in names}}))
