"""What a machine, above all one without a GPU, lacks for code that failed on it. Such a failure says nothing about the
code, so that it ends as unsupported_here; every other failure is the code's own.
"""

import ast
import re
import traceback
from pathlib import Path
from types import FrameType

import torch

from harness.without_gpu import triton_interpreter

# Modules of GPU languages and of libraries of GPU kernels. Another worker may have what this one lacks.
LANGUAGES = frozenset(
    "apex bitblas cuda cudnn cupy cute cutlass cutlass_library deep_gemm flash_attn flashinfer helion hidet jax jaxlib "
    "mojo numba nvmath pycuda quack taichi thunderkittens tilelang tk transformer_engine tvm warp xformers".split()
)
# Parts of triton that only other versions of triton have.
TRITON_PARTS = ("triton.experimental", "triton.language.extra", "triton.tlx", "triton.tools")

# Words of torch, triton and CUDA about a GPU, a driver or a toolkit that is not there.
NEEDS_A_GPU = (
    "0 active drivers",
    "torch not compiled with cuda",
    "found no nvidia driver",
    "no cuda gpus are available",
    "no cuda-capable device",
    "cuda driver initialization failed",
    "cuda driver version is insufficient",
    "libcuda.so",
    "invalid device string: 'cuda",
    "cuda_home environment variable is not set",
)
# Words of torch about an operator that has no code for a CPU, or none for this dtype.
NEEDS_AN_OPERATOR = re.compile(r"from the 'CPU' backend|\"\w*cpu\w*\" not implemented for '\w+'")
# The words in which a file says that it wants a GPU, as CHECK_CUDA macros do.
WANTS_A_GPU = re.compile(r"\b(is_cuda|kcuda|cuda|gpus?|nvidia)\b", re.IGNORECASE)
# Mistakes in the code, whatever words they hold.
MISTAKES = (NameError, AttributeError, SyntaxError, ImportError, LookupError)

DEVICE_TYPES = re.compile(r"\b(cuda|cpu|gpu)\b")
DEVICE_QUESTIONS = frozenset({"is_cuda", "is_cpu", "get_device", "is_available"})


def what_is_missing(error: BaseException, source: str) -> str:
    """Returns one sentence that says what this machine lacks and where the code would run; an empty text if the error
    is the code's own. `source` is the folder of the job's files.
    """
    if isinstance(error, ImportError) and is_language(error.name or ""):
        return f"this worker lacks the Python module {error.name}: a worker with a GPU that has the module can run it"
    if triton_interpreter.is_limit(error):
        return (
            "this worker has no GPU, and triton's interpreter cannot stand in for one here: a worker with a GPU can "
            "run it"
        )
    words = str(error)
    if NEEDS_AN_OPERATOR.search(words) and not isinstance(error, MISTAKES):
        return "torch has no code for this operator on a CPU: a worker with a GPU can run it"
    if any(word in words.lower() for word in NEEDS_A_GPU) or wants_a_gpu(error, source):
        return "this worker has no GPU, which the code asks for: a worker with a GPU can run it"
    return ""


def is_missing_language(error: BaseException) -> bool:
    """Returns whether the error is that a GPU language is not installed here, be it with a GPU or without. On a GPU,
    what an installed module raises while it is imported is the code's own.
    """
    return isinstance(error, ModuleNotFoundError) and is_language(error.name or "")


def is_language(module: str) -> bool:
    return module.partition(".")[0] in LANGUAGES or module.startswith(TRITON_PARTS)


def wants_a_gpu(error: BaseException, source: str) -> bool:
    """Returns whether the code refused to run because its tensors are not on a GPU: it says so in its words, or the
    statement that raised the error asks for the device.
    """
    if isinstance(error, MISTAKES):
        return False
    words = str(error).strip().partition("\n")[0]
    return bool(WANTS_A_GPU.search(words)) or asks_for_device(error, source)


def asks_for_device(error: BaseException, source: str) -> bool:
    """Returns whether the last statement of the job's files in the traceback is an assertion about the device of a
    tensor, a raise under such a condition, or a call that is given such a condition.
    """
    places = [
        (frame, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename.startswith(source)
    ]
    if not places:
        return False
    frame, line = places[-1]
    try:
        tree = ast.parse(Path(frame.f_code.co_filename).read_bytes())
    except (OSError, ValueError, SyntaxError, RecursionError):
        return False
    statements = enclosing(tree, line)
    match statements[-1:]:
        case [ast.Assert(test=test)]:
            conditions = [test]
        case [ast.Raise()]:
            conditions = [one.test for one in statements if isinstance(one, (ast.If, ast.While))]
        case [ast.Expr(value=ast.Call(args=arguments))]:
            conditions = arguments
        case _:
            return False
    return any(is_about_device(condition, frame) for condition in conditions)


def enclosing(tree: ast.AST, line: int) -> list[ast.AST]:
    """Returns the statements around a line, the outermost first, those outside the line's own function left out."""
    around: list[ast.AST] = []
    node: ast.AST | None = tree
    while node is not None:
        node = next((child for child in ast.iter_child_nodes(node) if _holds(child, line)), None)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            around = []
        elif node is not None:
            around.append(node)
    return around


def _holds(node: ast.AST, line: int) -> bool:
    if isinstance(node, ast.match_case):
        return any(_holds(statement, line) for statement in node.body)
    if not isinstance(node, (ast.stmt, ast.ExceptHandler)):
        return False
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def is_about_device(condition: ast.expr, frame: FrameType) -> bool:
    """Returns whether a condition asks on which device something is: x.is_cuda, x.device.type == "cuda", or a
    comparison with a name that holds such a device.
    """
    for node in ast.walk(condition):
        if isinstance(node, ast.Attribute) and node.attr in DEVICE_QUESTIONS:
            return True
        if isinstance(node, ast.Compare):
            for part in ast.walk(node):
                value = part.value if isinstance(part, ast.Constant) else None
                if isinstance(part, ast.Name):
                    value = frame.f_locals.get(part.id, frame.f_globals.get(part.id))
                if isinstance(value, (str, torch.device)) and DEVICE_TYPES.match(str(value)):
                    return True
    return False
