"""Torch headers."""

from harness.extensions.toolchain import DEFINES, HALF_DEFINES, Toolchain

SLIM = ["torch/types.h", "torch/csrc/Exceptions.h", "torch/csrc/utils/pybind.h"]


SLIM_CUDA = [
    "cuda_runtime.h",
    "cuda.h",
    "cuda_fp16.h",
    "cuda_bf16.h",
    "ATen/cuda/CUDAContext.h",
    "c10/cuda/CUDAGuard.h",
    "c10/cuda/CUDAException.h",
]


# Headers that take in all of torch, and what stands for them: what is missed by that ends in an error, and in the full way.
REPLACED = ("torch/extension.h", "torch/torch.h", "torch/all.h", "torch/python.h")


def header_text(with_cuda: bool) -> str:
    return "".join(f"#include <{name}>\n" for name in SLIM + (SLIM_CUDA if with_cuda else []))


def host_flags(tools: Toolchain, with_cuda: bool) -> list[str]:
    """What a precompiled header and all that use it have in common."""
    return [
        *DEFINES,
        *(HALF_DEFINES if with_cuda else ()),
        *tools.includes(with_cuda),
        "-fPIC",
        "-w",
        "-fmax-errors=20",
    ]


def known_headers(with_cuda: bool) -> list[str]:
    return [*REPLACED, *SLIM, *(SLIM_CUDA if with_cuda else [])]
