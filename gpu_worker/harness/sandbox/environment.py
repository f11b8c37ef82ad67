"""The environment variables of a child. A child has those that are listed here, and no other of the worker's."""

import os
from pathlib import Path

# Variables that a child keeps from the zygote where they are set.
KEPT = (
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_MAX_COPY_CONNECTIONS",
    "CUDA_DEVICE_ORDER",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "KQ_CUDA",
    "LD_LIBRARY_PATH",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "PYTORCH_NVML_BASED_CUDA_CHECK",
    "TRITON_INTERPRET",
)
# The settings of NCCL, and of the libraries that replace it, are kept as well: they say what works on this machine.
KEPT_PREFIXES = ("NCCL_", "NVSHMEM_", "TORCH_SYMM_MEM_")


def child_environment(work: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in KEPT or name.startswith(KEPT_PREFIXES)}
    cuda = kept.get("KQ_CUDA") or kept.get("CUDA_HOME") or "/usr/local/cuda"
    return {
        **kept,
        "PATH": f"{cuda}/bin:/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "USER": "kq",
        "LOGNAME": "kq",
        "HOME": str(work),
        "TMPDIR": str(work),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TRITON_CACHE_DIR": str(work / "triton"),
        "TORCH_EXTENSIONS_DIR": str(work / "torch_extensions"),
        "TORCHINDUCTOR_CACHE_DIR": str(work / "inductor"),
        # harness/kernels/driver_cache.py makes both.
        "CUDA_CACHE_PATH": str(work / "compiled" / "driver"),
        "PYTORCH_KERNEL_CACHE_PATH": str(work / "compiled" / "torch"),
    }


def apply(environment: dict[str, str]) -> None:
    for name in set(os.environ) - set(environment):
        del os.environ[name]
    os.environ.update(environment)
