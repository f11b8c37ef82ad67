"""Constructs models. The random numbers of a large model are drawn on the GPU: on the host one thread draws them, which
took 80 s for the 2.4 billion weights of a mixture of experts, and on an H100 it takes milliseconds.

The reference and the submission must draw alike, because a submission may pack or rename the weights that it draws.
Both therefore start on the host and count what the constructor draws. Where it is about to draw more than
HOST_DRAWS_MAX numbers, it is called again for the GPU. If it fails there, it is called once more on the host, without a
limit.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from harness.children.failures import classify
from harness.children.page import Failure

HOST_DRAWS_MAX = 1 << 24  # less than 0.1 s on the host by one thread, twice for each job
SHOWN_MAX = 200  # characters of a constructor's arguments in an error

# Methods of tensors, and functions of torch.nn.init, whose calls of these methods the counter does not see.
DRAWN_IN_PLACE = (
    "kaiming_uniform_",
    "kaiming_normal_",
    "xavier_uniform_",
    "xavier_normal_",
    "trunc_normal_",
    "orthogonal_",
    "sparse_",
    "normal_",
    "uniform_",
    "random_",
    "bernoulli_",
    "exponential_",
    "cauchy_",
    "log_normal_",
    "geometric_",
)
DRAWN_LIKE = ("rand_like", "randn_like", "randint_like")
DRAWN_OF_SIZES = ("rand", "randn")


class _TooManyDraws(BaseException):
    """Ends a constructor on the host. It is no Exception, so that a constructor does not catch it."""


class _DrawCounter(TorchFunctionMode):
    """Ends the constructor before it has drawn more than HOST_DRAWS_MAX random numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.drawn += _draws_of(getattr(func, "__name__", ""), args, kwargs or {})
        if self.drawn > HOST_DRAWS_MAX:
            raise _TooManyDraws
        return func(*args, **(kwargs or {}))


def construct(
    model_class: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    device: torch.device,
    seed: Callable[[], None],
) -> Any:
    """Constructs a model. `seed` is called before each attempt. Where the constructor does not take the arguments, the
    TypeError says what get_init_inputs() gave.
    """
    try:
        return _constructed(model_class, args, kwargs, device, seed)
    except TypeError as error:
        if _takes(model_class, args, kwargs):
            raise
        raise TypeError(f"{error}; get_init_inputs() gave {_shown(args, kwargs)}") from error


def _constructed(
    model_class: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    device: torch.device,
    seed: Callable[[], None],
) -> Any:
    seed()
    if device.type != "cuda":
        return model_class(*args, **kwargs)
    try:
        with _DrawCounter():
            return model_class(*args, **kwargs)
    except _TooManyDraws:
        seed()
    try:
        with device:
            return model_class(*args, **kwargs)
    except Exception as error:
        if classify(error, Failure.NONE, True) is Failure.OUT_OF_GPU_MEMORY:
            raise
    seed()
    return model_class(*args, **kwargs)


def _takes(model_class: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Returns whether the constructor has a parameter for each argument, and an argument for each parameter."""
    try:
        inspect.signature(model_class).bind(*args, **kwargs)
    except TypeError:
        return False
    except ValueError:  # the constructor has no signature
        return True
    return True


def _shown(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    text = repr(dict(kwargs)) if kwargs and not args else repr([*args, dict(kwargs)] if kwargs else list(args))
    return text if len(text) <= SHOWN_MAX else text[:SHOWN_MAX] + "..."


def _draws_of(name: str, args: Any, kwargs: Mapping[str, Any]) -> int:
    """Returns how many random numbers a function of torch draws, by its name and arguments."""
    if name in DRAWN_IN_PLACE or name in DRAWN_LIKE:
        filled = args[0] if args else kwargs.get("tensor")  # torch.nn.init names its argument
        return filled.numel() if isinstance(filled, torch.Tensor) else 0
    if name in DRAWN_OF_SIZES:
        return math.prod(_sizes(args))
    return 0


def _sizes(args: Iterable[Any]) -> Iterable[int]:
    for value in args:
        if isinstance(value, int):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _sizes(value)
