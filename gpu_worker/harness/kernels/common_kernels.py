"""Loads the torch kernels that most references use. A pre-forked child does so while it waits to be the reference of
the next problem.

CUDA loads a kernel when it is first launched, together with the file of torch that holds it, which takes milliseconds
each, and most with cuBLAS. Without this module a reference would do that while its first job holds the GPU. One child
for each problem can afford the time and memory; one for each job cannot. cuDNN is left out, because it takes longest
and a third of the problems need it.
"""

from collections.abc import Callable

import torch

SIZE = 64


def load(device: torch.device, ask: Callable[[], None]) -> None:
    """Launches the kernels in parts and calls `ask` before each part, since loading would disturb a measurement that
    begins meanwhile. Takes 0.3 s and 0.5 GB of host memory.
    """
    for part in (copies, arithmetic, functions, rows, products):
        ask()
        launch(part, device)


def launch(part: Callable[[torch.Tensor, torch.Tensor], None], device: torch.device) -> None:
    """Launches one part. A child that fails here, usually for lack of memory, must end: a library that could not be
    loaded stays broken.
    """
    try:
        with torch.no_grad():
            part(torch.rand(SIZE, SIZE, device=device), torch.randn(SIZE, SIZE, device=device))
        if device.type == "cuda":
            torch.cuda.synchronize()
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
