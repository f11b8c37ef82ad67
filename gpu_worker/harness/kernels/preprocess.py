"""Preprocesses a CUDA source with g++ and the toolkit's headers. The guard reads the result beside the source itself.

Macros of headers are replaced in the result, so that a name which only a macro composes is seen. There is no result
without a compiler, without an include, or if g++ rejects the source; the guard has read the source already.
"""

import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

LIMIT_S = 15
OUTPUT_MAX = 64 << 20  # the most bytes that g++ may write; headers are most of them
PIECE_BYTES = 1 << 16
KEPT_MAX = 2 << 20  # the most bytes of the submission's own lines
MARK = re.compile(rb'^# (\d+) "((?:[^"\\]|\\.)*)"')
# A source with #line directives is not preprocessed: its lines could pretend to be of a header.
INCLUDE = re.compile(rb"^[ \t]*(?:#|%:)[ \t]*include", re.M)
LINE_DIRECTIVE = re.compile(rb"^[ \t]*(?:#|%:)[ \t]*(?:line\b|\d)", re.M)
CPP = (".cu", ".cuh", ".cc", ".cpp", ".cxx", ".c", ".h", ".hpp", ".hh", ".inl")


def preprocessed(source: Path, includes: Iterable[Path], defines: Iterable[str]) -> bytes | None:
    """Returns the lines that come from the source and from files beside it, with marks `# LINE "NAME"`."""
    compiler = shutil.which("g++")
    beside = [path for path in source.parent.iterdir() if path.is_file()]
    texts = [path.read_bytes() for path in beside if path.name.endswith(CPP)]
    if compiler is None or not any(map(INCLUDE.search, texts)) or any(map(LINE_DIRECTIVE.search, texts)):
        return None
    command = [
        compiler,
        "-E",
        "-x",
        "c++",
        "-std=gnu++17",
        "-D__CUDACC__",
        "-D__NVCC__",
        *defines,
        f"-I{source.parent}",
    ]
    command += [f"-I{path}" for path in includes] + [str(source)]
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    except OSError:
        return None
    assert process.stdout is not None
    try:
        output = read_until(process.stdout.fileno(), time.monotonic() + LIMIT_S)
        if output is None or process.wait(1) != 0:
            return None
    except subprocess.TimeoutExpired:
        return None
    finally:
        process.stdout.close()  # g++ is several processes: those that are left end when they write
        process.kill()
        process.wait()
    kept = b"".join(own_lines(output, {path.name for path in beside}, source.parent))
    return kept if len(kept) <= KEPT_MAX else None


def read_until(pipe: int, end_s: float) -> bytes | None:
    """Reads a pipe to its end. Returns None if there are more than OUTPUT_MAX bytes, or if the pipe has not ended by
    `end_s`.
    """
    output = bytearray()
    while (left_s := end_s - time.monotonic()) > 0 and select.select([pipe], [], [], left_s)[0]:
        piece = os.read(pipe, PIECE_BYTES)
        if not piece:
            return bytes(output)
        output += piece
        if len(output) > OUTPUT_MAX:
            break
    return None


def own_lines(output: bytes, names: set[str], folder: Path) -> Iterator[bytes]:
    is_own = False
    for line in output.splitlines(keepends=True):
        mark = MARK.match(line)
        if mark is None:
            if is_own:
                yield line
            continue
        path = Path(mark.group(2).decode(errors="replace"))
        is_own = path.name in names and path.parent == folder
        if is_own:
            yield b'# %d "%s"\n' % (int(mark.group(1)), path.name.encode())
