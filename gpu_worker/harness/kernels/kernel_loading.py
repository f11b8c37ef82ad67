"""Loads the kernels that most jobs use. A pre-forked child does so while it waits for its job.

CUDA loads the code of a kernel when a process launches it for the first time, which takes 5 to 20 ms for a kernel of
torch. The first product of a process takes 80 ms, because cuBLAS starts as well, and the first convolution 70 ms in
cuDNN. Without this module a job would do all that while it holds the GPU: 0.1 s of its first call and as much of its
reference's, in the median of a sweep (H200, torch 2.11). Other processes that load kernels at the same time take a
tenth longer.
"""

from collections.abc import Callable

import torch
from torch.nn import functional

SIZE = 64

Part = Callable[[torch.Tensor, torch.Tensor], object]


def load(device: torch.device, may_begin: Callable[[], bool]) -> None:
    """Launches kernels. `may_begin` is called before each part, since loading would disturb a measurement that begins
    meanwhile; where it returns False, no further part is launched. Afterwards the device's memory is as it was, but for
    the loaded code.
    """
    for part in PARTS:
        if not may_begin():
            return
        launch(part, device)


def launch(part: Part, device: torch.device) -> None:
    """Launches one part. A child that fails here, usually for lack of memory, must end: a library that could not be
    loaded stays broken.
    """
    try:
        with torch.no_grad():
            part(torch.rand(SIZE, SIZE, device=device), torch.randn(SIZE, SIZE, device=device))
        if device.type == "cuda":
            torch.cuda.synchronize()
            torch._C._cuda_clearCublasWorkspaces()
            torch.cuda.empty_cache()
    except Exception as error:
        raise SystemExit(f"kq: kernels could not be loaded: {error}") from error


def products(a: torch.Tensor, b: torch.Tensor) -> object:
    """These products run in cuBLAS."""
    return functional.linear(a @ b, a, b[0])


def image(a: torch.Tensor) -> torch.Tensor:
    """Returns the same numbers as one image with four channels."""
    return a.view(1, 4, 32, 32)


# Each part takes 20 ms at most, but for the first product and the first convolution. What more problems need comes
# first. Fourteen more parts shortened the first calls of a sweep by 3 %, and a child was ready 0.2 s later.
PARTS: tuple[Part, ...] = (
    products,
    lambda a, b: functional.conv2d(image(a), b[0, :36].view(1, 4, 3, 3), b[0, :1]),
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: torch.relu(a),
    lambda a, b: a.mean(1),
    lambda a, b: a.sum(1),
    lambda a, b: a / b,
    lambda a, b: functional.batch_norm(image(a), b[0, :4], a[0, :4], training=True),
    lambda a, b: functional.batch_norm(image(a), b[0, :4], a[0, :4]),
    lambda a, b: functional.softmax(a, 1),
    lambda a, b: a.max(1),
    lambda a, b: torch.sigmoid(a),
    lambda a, b: a.clamp(0, 1),
)
