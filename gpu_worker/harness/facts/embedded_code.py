"""Source in another language inside a Python source: the CUDA C++ of load_inline and its kin, as facts of guard/facts.h.

Each line of such a text is a fact of its own with its line in the Python file, so that what is found in it is told where it stands.
"""

import ast
import re

CODE_BYTES_MAX = 2 << 20  # of all such texts of one file
PIECE_MAX = 700  # characters of a text's line in one fact; escaping makes up to four of one
HOLE = "$"  # stands for what is put into a text when it runs

MARKS = re.compile(
    r"__global__|__device__|#\s*include|#\s*define|extern\s+\"C\"|cudaStream|cuStream|<<<|TORCH_LIBRARY|PYBIND11_MODULE|torch::Tensor|at::Tensor|"
    r"getStreamFromPool|dlsym|cudaGraph"
)
# What sentences do not have: a call that ends a statement, a body, a directive.
SHAPE = re.compile(r"\)\s*;\s*(?:\n|$|\}|/)|\)\s*(?:const\s*)?\{|^[ \t]*#[ \t]*(?:include|define)", re.M)
PYTHON = re.compile(r"(?:^|[;\n])[ \t]*(?:import[ \t]+\w|from[ \t]+[\w.]+[ \t]+import[ \t])")

# Calls that compile or parse a text of C or CUDA, whichever library they are of.
COMPILERS = re.compile(
    r"(?:^|\.)(?:load_inline|RawKernel|RawModule|SourceModule|nvrtcCreateProgram|cdef|ElementwiseKernel|ReductionKernel|compile_to_ptx|_load_kernel)$"
)
# Which of load_inline's arguments are sources.
SOURCES = frozenset({"cpp_sources", "cuda_sources", "source", "code", "src", "operation", "preamble", "csource"})


def looks_like_cpp(text: str) -> bool:
    """Whether a text looks like C++ rather than a sentence about it."""
    return len(text) > 8 and MARKS.search(text) is not None and SHAPE.search(text) is not None


def parse_embedded_python(text: str) -> ast.Module | None:
    """A text that is a Python source with imports: the source itself."""
    if len(text) < 8 or "import" not in text or PYTHON.search(text) is None or not ("\n" in text or ";" in text):
        return None
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def code_lines(text: str, line: int, block: int) -> list[str]:
    """Lines of facts: line, kind, the escaped piece with its end of line, and the number of the text."""
    found = []
    for offset, source in enumerate(text.split("\n")):
        source += "\n"
        for at in range(0, len(source), PIECE_MAX // 4):
            found.append(f"{line + offset}\tcode\t{escaped(source[at : at + PIECE_MAX // 4])}\t{block}")
    return found


def escaped(piece: str) -> str:
    return "".join(
        ESCAPES.get(c) or (c if " " <= c <= "~" else "".join(f"\\x{b:02x}" for b in c.encode(errors="replace")))
        for c in piece
    )


ESCAPES = {"\n": "\\n", "\t": "\\t", "\\": "\\\\"}
