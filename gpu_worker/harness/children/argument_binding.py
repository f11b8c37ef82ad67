"""Binds the arguments of a contract to values, for a Python function or a Triton kernel. The rules are those of
gpu_worker/child/launcher/binding.h. This module runs in a submission child.

Tensors that are read are views into the window, made for each call. Tensors that are written are allocated anew for
each call.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.children.failures import Failed
from harness.children.page import Failure
from harness.children.tensors import TensorSpec
from harness.kernels.kernel_spec import Arg

NAMES_SHOWN_MAX = 20
NOT_NUMBERS = (TensorSpec, list, tuple, dict)


@dataclass(frozen=True)
class ProblemSignature:
    """What the problem's forward() takes and returns: inputs by parameter name, outputs, and the states of the
    reference.
    """

    inputs: Mapping[str, Any]  # a TensorSpec for a tensor, else the value
    outputs: Sequence[TensorSpec]
    states: Mapping[str, torch.Tensor]
    device: torch.device


class Binding:
    """The arguments of one contract. values(inputs) returns the arguments of one call, and those of them that are
    written, in the order of the reference's outputs.
    """

    def __init__(self, args: Sequence[Arg], signature: ProblemSignature) -> None:
        self._args = args
        self._signature = signature
        plain = sum(arg.role == "output" for arg in args)
        changed = sum(arg.role == "inout" for arg in args)
        wanted = len(signature.outputs)
        # A function may write no argument; then its return values are the outputs.
        if plain + changed > 0 and wanted not in (plain, plain + changed):
            raise contract_error(
                f"the kernel has {plain} output and {changed} inout tensors, the reference returns {wanted}"
            )
        self._inout_is_output = wanted != plain
        outputs = iter(signature.outputs)
        self._written: list[TensorSpec | None] = [next(outputs) if self._is_output(arg) else None for arg in args]
        self._names = list(signature.inputs)
        for arg, made in zip(args, self._written):
            self._check(arg, made)

    def values(self, inputs: Sequence[Any]) -> tuple[list[Any], list[torch.Tensor]]:
        given = dict(zip(self._names, inputs))
        values: list[Any] = []
        outputs: list[torch.Tensor] = []
        for arg, made in zip(self._args, self._written):
            value = self._value(arg, made, given)
            values.append(value)
            if made is not None:
                outputs.append(value)
        return values, outputs

    def _is_output(self, arg: Arg) -> bool:
        return arg.role == "output" or (arg.role == "inout" and self._inout_is_output)

    def _value(self, arg: Arg, made: TensorSpec | None, given: Mapping[str, Any]) -> Any:
        if made is not None:
            if arg.role == "inout":
                return given[arg.name].clone()
            return torch.empty(made.shape, dtype=made.dtype, device=self._signature.device)
        if arg.type == "tensor":
            return given[arg.name] if arg.name in given else self._signature.states[arg.name]
        return given[arg.name] if arg.value is None else arg.value

    def _check(self, arg: Arg, made: TensorSpec | None) -> None:
        """Raises Failed if the argument does not fit the problem; the text says why."""
        given = self._signature.inputs.get(arg.name)
        if arg.type != "tensor":
            if arg.value is None and (
                arg.name not in self._signature.inputs or given is None or isinstance(given, NOT_NUMBERS)
            ):
                raise contract_error(f"argument {arg.name} has no value, and forward() has no number of that name")
            return
        if made is not None:
            self._compare(arg, made)
        if arg.role == "output":
            return
        if arg.name in self._signature.inputs:
            if not isinstance(given, TensorSpec):
                raise contract_error(f"argument {arg.name} is {kind_of(given)} of forward(), not a tensor")
            self._compare(arg, given)
            if made is not None and given != made:
                raise contract_error(f"argument {arg.name} is an input and an output of different sizes")
        elif arg.name in self._signature.states and arg.role == "input":
            state = self._signature.states[arg.name]
            self._compare(arg, TensorSpec(state.dtype, state.shape))
        else:
            names = ", ".join(self._names[:NAMES_SHOWN_MAX])
            states = ", ".join(list(self._signature.states)[:NAMES_SHOWN_MAX]) or "it has none"
            raise contract_error(
                f"argument {arg.name} is neither a parameter of forward() ({names}) "
                f"nor a state of the reference ({states})"
            )

    def _compare(self, arg: Arg, given: TensorSpec) -> None:
        dtype = str(given.dtype).removeprefix("torch.")
        if (not arg.dtype or arg.dtype == dtype) and (arg.shape is None or tuple(given.shape) == arg.shape):
            return
        declared = arg.dtype if arg.shape is None else f"{arg.dtype}{list(arg.shape)}"
        raise contract_error(f"argument {arg.name} is said to be {declared}, the problem has {given}")


def kind_of(value: Any) -> str:
    return f"a {type(value).__name__}" if isinstance(value, (list, tuple, dict)) else "a number"


def contract_error(text: str) -> Failed:
    return Failed(Failure.LOAD_FAILED, text)
