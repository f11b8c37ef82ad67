"""Compiles the C++ eval program of a problem with `lang: cu`, by nvcc."""

import subprocess
from pathlib import Path
from typing import Any

from harness.extensions.toolchain import find_toolchain

PROGRAM = "eval.out"
COMPILE_LIMIT_S = 120.0
ERROR_CHARACTERS = 4_000
FLAGS = (
    "-std=c++20",
    "-DNDEBUG",
    "-O3",
    "-Xcompiler=-Wno-psabi",
    "-Xcompiler=-fno-strict-aliasing",
    "--expt-extended-lambda",
    "--expt-relaxed-constexpr",
    "-forward-unknown-to-host-compiler",
)


class CompileFailed(Exception):
    """Says why there is no program."""


def compile_program(folder: Path, config: dict[str, Any], arch: str) -> None:
    """Makes PROGRAM in the folder of the problem's files, whose sources are then removed from there, so that the
    submission cannot read them while it runs. Raises CompileFailed.
    """
    nvcc = find_toolchain().nvcc
    if not nvcc:
        raise CompileFailed("this machine has no nvcc, which a problem with lang cu needs: set KQ_CUDA to a toolkit")
    words = [nvcc, *FLAGS]
    if arch.startswith("sm_"):
        words.append(f"-gencode=arch=compute_{arch[3:]},code={arch}")
    words += [f"-I{path}" for path in config.get("include_dirs") or []]
    words += [f"-D{name}={value}" for name, value in (config.get("defines") or {}).items()]
    words += [str(flag) for flag in config.get("compile_flags") or []]
    words += [str(name) for name in config.get("sources") or []] + ["-o", PROGRAM]
    try:
        ended = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, errors="replace", timeout=COMPILE_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise CompileFailed(f"nvcc took longer than {COMPILE_LIMIT_S:.0f} s") from error
    if ended.returncode != 0:
        raise CompileFailed((ended.stderr or ended.stdout).strip()[-ERROR_CHARACTERS:] or "nvcc failed without a word")
    for path in folder.iterdir():
        if path.suffix in (".cu", ".cuh", ".h", ".hpp", ".cpp"):
            path.unlink()
