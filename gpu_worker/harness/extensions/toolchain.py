"""What extensions are compiled with on this machine: compilers, headers, libraries, and how to run one of them."""

import functools
import hashlib
import os
import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

OUTPUT_MAX = 200_000  # of what one compiler says
LINKERS = ("mold", "lld", "gold", "bfd")
# As torch.utils.cpp_extension has them.
DEFINES = ("-DTORCH_API_INCLUDE_EXTENSION_H",)
HALF_DEFINES = (
    "-D__CUDA_NO_HALF_OPERATORS__",
    "-D__CUDA_NO_HALF_CONVERSIONS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__",
)
STANDARD = "-std=c++17"


@dataclass(frozen=True)
class CommandResult:
    """How a compiler ended."""

    code: int
    text: str


@dataclass(frozen=True)
class Toolchain:
    cxx: str
    nvcc: str  # empty: none
    cuda: Path | None
    linker: str
    torch_root: Path

    def includes(self, with_cuda: bool) -> list[str]:
        paths = [self.torch_root / "include", self.torch_root / "include/torch/csrc/api/include"]
        if with_cuda and self.cuda is not None:
            paths += [path for path in (self.cuda / "include", self.cuda / "include/cccl") if path.is_dir()]
        return [word for path in [*paths, Path(sysconfig.get_paths()["include"])] for word in ("-isystem", str(path))]

    def libraries(self, with_cuda: bool) -> list[str]:
        words = [f"-L{self.torch_root / 'lib'}", "-lc10", *(["-lc10_cuda"] if with_cuda else []), "-ltorch_cpu"]
        words += [*(["-ltorch_cuda"] if with_cuda else []), "-ltorch", "-ltorch_python"]
        if with_cuda and self.cuda is not None:
            words += [f"-L{path}" for path in (self.cuda / "lib64", self.cuda / "lib") if path.is_dir()] + ["-lcudart"]
        return words

    def description(self, with_cuda: bool) -> str:
        """ "nvcc 13.0.88, g++ 12.2.0, lld": what a row says."""
        found = [f"nvcc {version_of(self.nvcc)}"] if with_cuda and self.nvcc else []
        return ", ".join([*found, f"g++ {version_of(self.cxx)}", self.linker])


def find_cuda() -> Path | None:
    """A toolkit with nvcc."""
    roots = [Path(os.environ[name]) for name in ("KQ_CUDA", "CUDA_HOME", "CUDA_PATH") if os.environ.get(name)] + [
        Path("/usr/local/cuda")
    ]
    return next((root for root in roots if (root / "bin/nvcc").exists()), None)


@functools.cache
def find_toolchain() -> Toolchain:
    import torch  # here, so that who looks for the toolkit alone need not

    cuda = find_cuda()
    linker = next((name for name in LINKERS if shutil.which(f"ld.{name}")), "bfd")
    return Toolchain(
        cxx=shutil.which("g++") or "",
        nvcc=str(cuda / "bin/nvcc") if cuda is not None else "",
        cuda=cuda,
        linker=linker,
        torch_root=Path(torch.__file__).parent,
    )


@functools.cache
def version_of(program: str) -> str:
    if not program:
        return ""
    try:
        text = subprocess.run(
            [program, "--version"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            timeout=20,
        ).stdout.decode(errors="replace")
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = (
        re.search(r"V(\d+\.\d+\.\d+)", text)
        or re.search(r"\) (\d+\.\d+\.\d+)", text)
        or re.search(r"(\d+\.\d+[.\d]*)", text)
    )
    return found.group(1) if found else ""


def identity() -> str:
    """Everything outside of a call that shapes what is made of it, in one line: part of the cache's key, and equal on machines that make the same."""
    import torch

    tools = find_toolchain()
    headers = [
        tools.torch_root / "version.py",
        tools.torch_root / "include/torch/extension.h",
        tools.torch_root / "include/ATen/Functions.h",
    ]
    if tools.cuda is not None:
        headers += [tools.cuda / "include/cuda_runtime_api.h", tools.cuda / "include/cuda_fp16.h"]
    stamps = [hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in headers if path.exists()]
    git = getattr(torch.version, "git_version", "") or ""
    return " ".join(
        ["extensions/3", torch.__version__, git, tools.description(True), sysconfig.get_paths()["include"], *stamps]
    )


def run(command: list[str] | str, folder: Path, environment: dict[str, str] | None = None) -> CommandResult:
    """To its end; what it says is cut off, and goes to a file so that nobody waits for a pipe."""
    log = folder / f"log-{os.urandom(6).hex()}"
    try:
        with open(log, "wb") as out:
            code = subprocess.run(
                command, shell=isinstance(command, str), cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
            ).returncode  # fmt: skip
    except OSError as error:
        return CommandResult(127, str(error))
    with open(log, "rb") as out:
        text = out.read(OUTPUT_MAX).decode(errors="replace")
    log.unlink()
    return CommandResult(code, text)
