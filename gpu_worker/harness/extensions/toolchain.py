"""The toolchain of this machine for extensions: compilers, headers, libraries, and how to run a command."""

import contextlib
import functools
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sysconfig
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

OUTPUT_MAX = 200_000  # of one command
LINKERS = ("mold", "lld", "gold", "bfd")
# The macros that torch.utils.cpp_extension defines.
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
    """The end of a command: its exit code and output."""

    code: int
    text: str


class Stop:
    """Ends the commands that run with it, once it is set, and those that are begun later. A thread may set it while
    other threads run commands.
    """

    def __init__(self) -> None:
        self.is_set = False
        self.sessions: set[int] = set()
        self.lock = threading.Lock()

    def set(self) -> None:
        with self.lock:
            self.is_set = True
            for session in self.sessions:
                os.killpg(session, signal.SIGKILL)

    @contextlib.contextmanager
    def ends(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        """Ends the process, which leads a session, and its children if this is set before the block ends. The process
        must be waited for after the block.
        """
        with self.lock:
            self.sessions.add(process.pid)
            if self.is_set:
                os.killpg(process.pid, signal.SIGKILL)
        try:
            yield
        finally:
            with self.lock:
                self.sessions.discard(process.pid)


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
        """Returns "nvcc 13.0.88, g++ 12.2.0, lld", which a result's row shows."""
        found = [f"nvcc {version_of(self.nvcc)}"] if with_cuda and self.nvcc else []
        return ", ".join([*found, f"g++ {version_of(self.cxx)}", self.linker])


def find_cuda() -> Path | None:
    """Returns a toolkit that has nvcc."""
    roots = [Path(os.environ[name]) for name in ("KQ_CUDA", "CUDA_HOME", "CUDA_PATH") if os.environ.get(name)] + [
        Path("/usr/local/cuda")
    ]
    return next((root for root in roots if (root / "bin/nvcc").exists()), None)


@functools.cache
def find_toolchain() -> Toolchain:
    import torch  # imported here, because find_cuda() must work without torch

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
    """Returns one line about everything outside of a call that shapes its module. It is part of the cache's key, and
    equal on machines that build the same.
    """
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
        ["extensions/6", torch.__version__, git, tools.description(True), sysconfig.get_paths()["include"], *stamps]
    )


def run(
    command: list[str] | str, folder: Path, environment: dict[str, str] | None = None, stop: Stop | None = None
) -> CommandResult:
    """Runs a command to its end, or until it is stopped. The first OUTPUT_MAX bytes of its output are kept in memory,
    because the folder may have no room left for them when a compiler fills it.
    """
    kept = b""
    try:
        with subprocess.Popen(
            command,
            shell=isinstance(command, str),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
            start_new_session=stop is not None,
        ) as process:
            assert process.stdout is not None
            with stop.ends(process) if stop is not None else contextlib.nullcontext():
                while part := process.stdout.read1():  # type: ignore[attr-defined]
                    kept += part[: OUTPUT_MAX - len(kept)]
        code = process.returncode
    except OSError as error:
        return CommandResult(127, str(error))
    text = kept.decode(errors="replace")
    if code in (-signal.SIGKILL, 128 + signal.SIGKILL):
        text += "\nKilled signal"
    return CommandResult(code, text)
