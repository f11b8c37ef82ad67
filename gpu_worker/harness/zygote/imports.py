"""What the zygote imports, once for all children, and how it does so without opening a GPU."""

import contextlib
import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

VISIBLE_GPUS = "CUDA_VISIBLE_DEVICES"


def import_everything(device: str) -> dict[str, str | list[str]]:
    """Imports what children need, modules of the harness included, because the mount view of a child may not hold their
    files. Returns the versions that the control process is told.
    """
    import numpy  # noqa: F401
    import torch
    import triton

    import_extensions()
    from harness.backends import BACKENDS
    from harness.children import child  # noqa: F401
    from harness.extensions import toolchain, torch_prefix
    from harness.kernels import (
        device_code,  # noqa: F401
        nvrtc,  # noqa: F401
        triton_precompile,  # noqa: F401
    )
    from harness.without_gpu import triton_interpreter  # noqa: F401

    identity = toolchain.identity()
    return {
        "prefixes": torch_prefix.usual_prefixes(device, toolchain.find_toolchain()),
        "toolchain": identity,
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        "triton": triton.__version__,
        "cuda": torch.version.cuda or "",
        "packages": packages_hash(sys.path),
        "compilers": device_code.compilers(identity),
        # The list holds cuda on every machine. Without NVRTC a CUDA job ends as unsupported_here with its reason,
        # instead of waiting for a worker that never comes.
        "backends": [*BACKENDS, "eval_program"],
    }


def packages_hash(path: list[str]) -> str:
    """Returns a hash that is equal where all packages have equal versions. The hash is of the names of the dist-info
    folders; reading the metadata in them would take 0.2 s.
    """
    installed = {entry.name for folder in path for entry in Path(folder).glob("*.dist-info")}
    return hashlib.sha256("\n".join(sorted(installed)).encode()).hexdigest()


def import_extensions() -> None:
    """Imports torch.utils.cpp_extension, whose load_inline children replace. The import asks whether there is a GPU,
    which would initialise CUDA, so the question is answered without asking CUDA.
    """
    with told_that_there_is_a_gpu("cuda"):
        try:
            import torch.utils.cpp_extension  # noqa: F401
        except ImportError:
            pass  # torch needs setuptools for load_inline; without setuptools there is nothing to replace


def import_compiler() -> None:
    """Imports what the first torch.compile of a process imports, which takes 1 s, and 4 s from a cold disk. Without it
    torch.compile works as well, so that a torch whose modules have other names loses time only.
    """
    with contextlib.suppress(ImportError):
        import torch._dynamo.backends.inductor
        import torch._dynamo.repro.after_dynamo
        import torch._inductor.codegen.triton
        import torch._inductor.compile_fx  # noqa: F401


@contextlib.contextmanager
def told_that_there_is_a_gpu(device: str) -> Iterator[None]:
    """Makes torch.cuda.is_available() return whether `device` is cuda, without asking CUDA: some modules keep the
    answer that they get when they are imported.
    """
    import torch

    is_available = torch.cuda.is_available
    torch.cuda.is_available = lambda: device == "cuda"
    try:
        yield
    finally:
        torch.cuda.is_available = is_available


@contextlib.contextmanager
def without_visible_gpus() -> Iterator[None]:
    """Lets torch find no GPU, so that it opens none: a process that has opened one can fork no child that uses it."""
    kept = os.environ.get(VISIBLE_GPUS)
    os.environ[VISIBLE_GPUS] = ""
    try:
        yield
    finally:
        if kept is None:
            del os.environ[VISIBLE_GPUS]
        else:
            os.environ[VISIBLE_GPUS] = kept


def prepare_triton(device: str) -> None:
    """Makes triton ready in this process: for a GPU what each job needs of its cache, else its interpreter."""
    from harness.kernels import triton_precompile
    from harness.without_gpu import triton_interpreter

    if device == "cuda":
        triton_precompile.prepare()
    else:
        triton_interpreter.prepare()
