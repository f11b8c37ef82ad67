"""Starts the libraries that most jobs use. A pre-forked child does so while it waits for its job.

The first product of a process takes 0.08 s, because cuBLAS starts and CUDA loads the library's code, and the first
convolution takes 0.07 s in cuDNN. Without this module a job would do that while it holds the GPU. Other kernels of
torch, which take milliseconds each, are left out: while a child loads them, the job that runs loads its own more
slowly, and more is lost than won.
"""

from collections.abc import Callable

import torch

SIZE = 64

Part = Callable[[torch.Tensor, torch.Tensor], None]


def start(device: torch.device, may_begin: Callable[[], bool]) -> None:
    """Launches a kernel of each library. `may_begin` is called before each part, since loading would disturb a
    measurement that begins meanwhile; where it returns False, no further part is launched. Afterwards the device's
    memory is as it was, but for the libraries' code.
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
        raise SystemExit(f"kq: a library could not be started: {error}") from error


def products(a: torch.Tensor, b: torch.Tensor) -> None:
    """These products run in cuBLAS."""
    torch.nn.functional.linear(a @ b, a, b[0])


def convolutions(a: torch.Tensor, b: torch.Tensor) -> None:
    """These convolutions run in cuDNN."""
    torch.nn.functional.conv2d(a.view(1, 4, 32, 32), b[0, :36].view(1, 4, 3, 3))


# Convolutions come last, because a third of the problems need them.
PARTS: tuple[Part, ...] = (products, convolutions)
