"""Loads the torch kernels that most jobs use. A pre-forked child does so while it waits for its job.

CUDA loads a kernel when it is first launched, together with the file of torch that holds it, which takes milliseconds
each, and most with cuBLAS and cuDNN. Without this module a job would do that while it holds the GPU.
"""

from collections.abc import Callable, Sequence

import torch

SIZE = 64

Part = Callable[[torch.Tensor, torch.Tensor], None]


def load(device: torch.device, may_begin: Callable[[], bool], parts: Sequence[Part]) -> None:
    """Launches the kernels in parts. `may_begin` is called before each part, since loading would disturb a measurement
    that begins meanwhile; where it returns False, no further part is launched. All parts together take 0.4 s and 0.6 GB
    of host memory. The device's memory is as it was afterwards, but for the code.
    """
    for part in parts:
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
        raise SystemExit(f"kq: kernels could not be loaded ahead: {error}") from error


def copies(a: torch.Tensor, b: torch.Tensor) -> None:
    a.copy_(b.clone().to(torch.bfloat16))
    a.to(torch.float16)


def arithmetic(a: torch.Tensor, b: torch.Tensor) -> None:
    a + b, a - b, a * 2.0, a / 2.0, 1.0 / a, -a, torch.where(a < b, a, b)
    a.abs(), a.exp(), a.pow(2), a.abs().sqrt(), a.abs().rsqrt(), a.clamp(0.0, 1.0), a.clamp(min=0.0)


def functions(a: torch.Tensor, b: torch.Tensor) -> None:
    for function in (torch.relu, torch.sigmoid, torch.tanh, torch.nn.functional.silu, torch.nn.functional.gelu):
        function(a)


def rows(a: torch.Tensor, b: torch.Tensor) -> None:
    a.sum(-1), a.mean(-1), a.var(-1), a.amax(-1), a.max(-1), a.argmax(-1), a.softmax(-1)
    torch.nn.functional.layer_norm(a, (SIZE,))


def products(a: torch.Tensor, b: torch.Tensor) -> None:
    """These products run in cuBLAS."""
    torch.nn.functional.linear(a @ b, a, b[0])


def convolutions(a: torch.Tensor, b: torch.Tensor) -> None:
    """These convolutions run in cuDNN."""
    torch.nn.functional.conv2d(a.view(1, 4, 32, 32), b[0, :36].view(1, 4, 3, 3))


# Each part with the kernels that more jobs use comes first. Products come before the rest because they take longest.
PARTS: tuple[Part, ...] = (products, copies, arithmetic, functions, rows)
# A third of the problems need cuDNN.
RARER_PARTS: tuple[Part, ...] = (convolutions,)
