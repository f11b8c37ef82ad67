"""Torch's kernels that most references use, loaded ahead of a problem by a child that waits to be its reference.

A kernel is loaded when it is first launched, and with it the file of torch's that it stands in: 6 to 20 ms each, 80 with cuBLAS and its handle (H200,
torch 2.11). A reference did that while its first job had the GPU, 60 ms in the median; one child for a problem can do it all before, one for each job
cannot. cuDNN is left out: 60 to 300 ms for what a third of all problems need.
"""

from collections.abc import Callable

import torch

SIZE = 64


def load(device: torch.device, ask: Callable[[], None]) -> None:
    """Takes 0.3 s and 0.5 GB of the host's memory, and asks before each part: whoever prepares a measurement meanwhile would feel it."""
    for part in (copies, arithmetic, functions, rows, products):
        ask()
        launch(part, device)


def launch(part: Callable[[torch.Tensor, torch.Tensor], None], device: torch.device) -> None:
    """Who fails here, for want of memory as a rule, is of no use any more: libraries that could not be loaded are broken for good."""
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
    """By cuBLAS."""
    torch.nn.functional.linear(a @ b, a, b[0])
