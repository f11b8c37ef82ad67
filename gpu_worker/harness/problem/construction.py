"""Constructs models. The weights of a large model are drawn on the GPU: on the host one thread draws them, which takes
30 ns for each number (2.4 billion numbers: 80 s), and on an H100 it takes milliseconds.

The reference and the submission must draw alike, because a submission may pack or rename the weights that it draws.
Both therefore draw on the GPU where the reference's state has at least DEVICE_ELEMENTS_MIN elements and the code works
there, and otherwise on the host. Small models stay on the host, because a GPU loads its random number kernels first.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from harness.children.failures import classify
from harness.children.page import Failure

DEVICE_ELEMENTS_MIN = 1 << 24  # half a second of drawing on the host

Construct = Callable[..., Any]


def construct_reference(
    model_class: Construct,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    device: torch.device,
    seed: Callable[[], None],
) -> Any:
    """Constructs the reference. `seed` is called before each attempt."""
    is_large = device.type == "cuda" and _elements_of(model_class, args, kwargs) >= DEVICE_ELEMENTS_MIN
    return _construct(model_class, args, kwargs, device if is_large else None, seed)


def construct_submission(
    model_class: Construct,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    device: torch.device,
    seed: Callable[[], None],
    states: Mapping[str, torch.Tensor],
) -> Any:
    """Constructs a submission. `states` are the reference's parameters and buffers."""
    is_large = device.type == "cuda" and sum(state.numel() for state in states.values()) >= DEVICE_ELEMENTS_MIN
    return _construct(model_class, args, kwargs, device if is_large else None, seed)


def _construct(
    model_class: Construct,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    device: torch.device | None,
    seed: Callable[[], None],
) -> Any:
    if device is not None:
        seed()
        try:
            with torch.device(device):
                return model_class(*args, **kwargs)
        except Exception as error:
            if classify(error, Failure.NONE, True) is Failure.OUT_OF_GPU_MEMORY:
                raise
    seed()
    return model_class(*args, **kwargs)


def _elements_of(model_class: Construct, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:
    """Returns the number of elements of the model's state, found without memory for them; 0 if that is not possible."""
    try:
        with torch.device("meta"):
            state = model_class(*args, **kwargs).state_dict()
        return sum(value.numel() for value in state.values() if isinstance(value, torch.Tensor))
    except Exception:
        return 0  # code that needs values, such as a constructor that calls item()
