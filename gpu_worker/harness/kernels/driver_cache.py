"""The code that the CUDA driver and torch compile when a kernel is launched, which Python children on a GPU begin with.

The driver compiles PTX when a kernel of it is launched for the first time, and keeps the code in the folder
CUDA_CACHE_PATH. cuDNN launches such kernels while it searches for the quickest algorithm, and for attention. With an
empty folder the first search of a job takes about 1 s, and 0.1 s with the code in it (H200, torch 2.11). torch
itself writes and compiles the source of a few kernels when they are called, of products over a dimension for example,
and keeps the code in the folder PYTORCH_KERNEL_CACHE_PATH beside the other one; the first of them takes 1.5 s. The
folders of a child are its own and are removed with it, because code that one job leaves must not run in another one.

So a child that runs no code of a job makes an archive of the code (fill), and children that run jobs begin with a copy
of it (begin). The worker keeps the archive (gpu_worker/lane/driver_cache.h).
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import torch
from torch import nn

from harness.children.job import Job

ARCHIVE = "code.zip"  # as in gpu_worker/lane/driver_cache.cc
# The variables with the two folders, which have one parent (sandbox/environment.py).
FOLDERS = ("CUDA_CACHE_PATH", "PYTORCH_KERNEL_CACHE_PATH")
# There are half as many processes as processors, PROCESSES_MAX at most, and fewer where memory is short. Each takes
# about so many bytes of the host's memory, and so many of the GPU's.
PROCESSES_MAX = 8
PROCESS_BYTES = 640 << 20
FREE_GPU_BYTES_MIN = 1 << 30  # with less cuDNN leaves algorithms out, without an error

# cuDNN has other kernels made from PTX for each of these, as 400 searches with each dtype have shown (cuDNN 9.19): the
# numbers of channels in and out, the size of the filter, and whether the channels lie innermost.
CHANNELS = ((3, 64), (32, 64), (6, 16), (128, 10), (64, 3), (5, 7))
USUAL_CHANNELS = ((3, 64), (32, 64))  # the dtypes in HALVES are rare, and have no others
SIZES = (3, 1)
LARGE = ((7, 2), (11, 4))  # sizes and strides of first layers of well-known networks
TRANSPOSED_CHANNELS = (32, 64)
TRANSPOSED_SIZES = (2, 3, 4, 5, 7)  # each has kernels of its own
SPACES: dict[int, tuple[int, ...]] = {1: (512,), 2: (40, 56), 3: (12, 16, 20)}  # of an input, by their number
LARGE_SPACE = (128, 128)  # transposed convolutions of such inputs have other kernels
BATCH = 8
ATTENTION_SHAPE = (2, 8, 128)
HEAD_SIZES = (64, 128)
PRODUCT_SHAPE = (16, 256, 256)  # whose dimensions have kernels of their own
GPU_FAILURES = (torch.OutOfMemoryError, getattr(torch, "AcceleratorError", torch.OutOfMemoryError))


@dataclass(frozen=True)
class Precision:
    """A dtype, and whether cuDNN may round float32 to TF32, as it may by torch's default."""

    dtype: torch.dtype
    may_round: bool = True


TF32 = Precision(torch.float32)
FLOAT32 = Precision(torch.float32, may_round=False)
HALVES = (Precision(torch.float16), Precision(torch.bfloat16))


@dataclass(frozen=True)
class Convolution:
    """A convolution whose quickest algorithm cuDNN searches for."""

    precision: Precision
    dimensions: int
    channels: tuple[int, int]
    size: int
    is_innermost: bool = False  # the channels
    is_transposed: bool = False
    stride: int = 1
    space: tuple[int, ...] | None = None  # the extents of the input; None: those in SPACES

    def run(self, device: torch.device) -> None:
        constructor: Any = getattr(nn, f"Conv{'Transpose' if self.is_transposed else ''}{self.dimensions}d")
        layout = {2: torch.channels_last, 3: torch.channels_last_3d}[self.dimensions] if self.is_innermost else None
        layout = layout or torch.contiguous_format
        model = constructor(*self.channels, self.size, self.stride).to(
            device, self.precision.dtype, memory_format=layout
        )
        x = torch.randn(BATCH, self.channels[0], *(self.space or SPACES[self.dimensions]), device=device)
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.allow_tf32 = self.precision.may_round
        model(x.to(self.precision.dtype, memory_format=layout))


@dataclass(frozen=True)
class Attention:
    """Attention, for which torch may take cuDNN's kernels."""

    precision: Precision
    head_size: int

    def run(self, device: torch.device) -> None:
        heads = torch.randn(*ATTENTION_SHAPE, self.head_size, device=device).to(self.precision.dtype)
        nn.functional.scaled_dot_product_attention(heads, heads, heads, is_causal=True)


@dataclass(frozen=True)
class Product:
    """The product of numbers over a dimension, whose kernel torch compiles itself."""

    dimension: int

    def run(self, device: torch.device) -> None:
        torch.ones(PRODUCT_SHAPE, device=device).prod(self.dimension)


Call = Convolution | Attention | Product


def calls() -> list[Call]:
    found: list[Call] = [Convolution(FLOAT32, 2, USUAL_CHANNELS[0], SIZES[0])]
    for precision, channels in ((TF32, CHANNELS), *((half, USUAL_CHANNELS) for half in HALVES)):
        found += [
            Convolution(precision, 2, each, size, is_innermost)
            for each in channels
            for size in SIZES
            for is_innermost in (False, True)
        ]
    found += [
        Convolution(TF32, dimensions, TRANSPOSED_CHANNELS, size, is_innermost, is_transposed=True)
        for dimensions in SPACES
        for size in TRANSPOSED_SIZES
        for is_innermost in (False, True)
        if dimensions > 1 or not is_innermost
    ]
    found += [
        Convolution(TF32, 2, USUAL_CHANNELS[0], size, is_innermost, stride=stride)
        for size, stride in LARGE
        for is_innermost in (False, True)
    ]
    found += [
        Convolution(TF32, 2, TRANSPOSED_CHANNELS, SIZES[0], is_innermost, is_transposed=True, space=LARGE_SPACE)
        for is_innermost in (False, True)
    ]
    found += [Product(dimension) for dimension in range(len(PRODUCT_SHAPE))]
    return found + [Attention(half, size) for half in HALVES for size in HEAD_SIZES]


def fill(job: Job) -> int:
    """Has the driver compile its code, in several processes, and writes the archive to out/. Returns the exit code of
    the child, which is 0 only if the archive is complete.
    """
    folder = parent()
    bounds = PROCESSES_MAX, len(os.sched_getaffinity(0)) // 2, available_bytes() // (2 * PROCESS_BYTES)
    count = max(1, min(bounds))
    processes = [fork(calls()[i::count], job) for i in range(count)]
    ends = [os.waitpid(process, 0)[1] for process in processes]
    if any(ends):
        return 1
    pack(folder, job.out / ARCHIVE)
    return 0


def parent() -> Path:
    """Returns the folder with the folders of this process. Makes them, because torch does not make its own."""
    folders = [Path(os.environ[name]) for name in FOLDERS]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    return folders[0].parent


def available_bytes() -> int:
    """Returns the bytes of memory that the host can give to new processes."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))


def fork(part: list[Call], job: Job) -> int:
    """Returns the number of a process that makes the calls and ends with exit code 0 if all were made."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            run_all(part, job)
            code = 0
        except BaseException as error:
            print(f"kq: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(code)
    return process


def run_all(part: list[Call], job: Job) -> None:
    """Makes the calls. A call that this GPU does not support is left out. Raises an error where memory is short or the
    GPU fails.
    """
    if job.on_gpu and torch.cuda.mem_get_info(job.device)[0] < FREE_GPU_BYTES_MIN:
        raise MemoryError("the GPU has too little free memory")
    for call in part:
        try:
            with torch.no_grad():
                call.run(job.device)
            if job.on_gpu:
                torch.cuda.synchronize(job.device)
        except GPU_FAILURES:
            raise
        except RuntimeError as error:
            print(f"kq: {call} is left out: {error}", file=sys.stderr, flush=True)


def pack(folder: Path, archive: Path) -> None:
    """Writes an archive of all files, which is empty if the driver has compiled nothing."""
    with ZipFile(archive, "w") as zip_file:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                zip_file.write(path, path.relative_to(folder))


def begin(shared: Path | None) -> None:
    """Makes the folders of this process and unpacks the archive in `shared`, which a child must do before it
    initialises CUDA. A child whose archive is damaged begins with what could be unpacked, and the rest is compiled.
    """
    folder = parent()
    if shared is None:
        return
    try:
        with ZipFile(shared / ARCHIVE) as archive:
            archive.extractall(folder)
    except Exception as error:
        print(f"kq: the driver's code is not unpacked: {error}", file=sys.stderr)
