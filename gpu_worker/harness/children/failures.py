"""Turns an exception in a child into one of the few failures that a child may report of itself, and into one short
text.
"""

import traceback

import torch

from harness.children.page import TEXT_MAX, Failure
from harness.without_gpu.missing import is_missing_language, what_is_missing
from harness.without_gpu.triton_interpreter import root_of

MESSAGE_MAX = 1500

# Words in the messages of torch, triton and CUDA that tell the failure where the exception's type does not.
HOST_MEMORY = ("can't allocate memory", "cannot allocate memory", "std::bad_alloc", "cudaErrorMemoryAllocation: host")
GPU_MEMORY = (
    "cuda error: out of memory",
    "cuda out of memory",
    "cuda_error_out_of_memory",
    "cublas_status_alloc_failed",
)
GPU_FAULTS = (
    "illegal memory access",
    "illegal address",
    "misaligned address",
    "illegal instruction",
    "unspecified launch failure",
    "launch failed",
    "device-side assert",
    "hardware stack error",
    "invalid program counter",
    "operation not supported on global/shared address space",
    "uncorrectable ecc",
)


class Failed(Exception):
    """A failure whose kind is known where it is raised."""

    def __init__(self, failure: Failure, text: str) -> None:
        super().__init__(text)
        self.failure = failure


def classify(error: BaseException, otherwise: Failure, on_gpu: bool, source: str = "") -> Failure:
    """Returns the failure that an exception means; `otherwise` if the exception tells nothing of its own. `source` is
    the folder of the job's files.
    """
    if isinstance(error, Failed):
        return error.failure
    if isinstance(error, torch.OutOfMemoryError):
        return Failure.OUT_OF_GPU_MEMORY
    if isinstance(error, MemoryError):
        return Failure.OUT_OF_HOST_MEMORY
    words = str(error).lower()
    if any(word in words for word in HOST_MEMORY):
        return Failure.OUT_OF_HOST_MEMORY
    if on_gpu and any(word in words for word in GPU_MEMORY):
        return Failure.OUT_OF_GPU_MEMORY
    if on_gpu and any(word in words for word in GPU_FAULTS):
        return Failure.GPU_FAULT
    if is_missing_language(error) or (not on_gpu and what_is_missing(error, source)):
        return Failure.UNSUPPORTED_HERE
    return otherwise


def describe(error: BaseException, source: str, failure: Failure = Failure.NONE) -> str:
    """Returns "TypeError: message (add.py:12)"; the place is the last one in the files below `source`, which is within
    the kernel where triton's interpreter ran it. Before it stands what this machine lacks if the failure is
    unsupported_here.
    """
    if isinstance(error, Failed):
        return str(error)[:TEXT_MAX]
    if failure is Failure.UNSUPPORTED_HERE:
        return f"{what_is_missing(error, source)}; it said {describe(error, source)}"[:TEXT_MAX]
    error = root_of(error)
    place = place_of(error, source)
    # The text of a SyntaxError has its place as well, in another form.
    message = str(error.msg if isinstance(error, SyntaxError) and place else error).strip()
    if isinstance(error, ModuleNotFoundError) and "." not in (error.name or "."):
        message += "; modules of its own are found only if they were submitted with it"
    if len(message) > MESSAGE_MAX:
        message = message[: MESSAGE_MAX // 2] + " ... " + message[-MESSAGE_MAX // 2 :]
    return f"{type(error).__name__}: {message}" + (f" ({place})" if place else "")


def place_of(error: BaseException, source: str) -> str:
    """Returns "add.py:12", or an empty text if no frame of the traceback lies below `source`."""
    error = root_of(error)
    if isinstance(error, SyntaxError) and error.filename and error.filename.startswith(source):
        return f"{error.filename.rpartition('/')[2]}:{error.lineno}"
    places = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(source)]
    return f"{places[-1].filename.rpartition('/')[2]}:{places[-1].lineno}" if places else ""
