"""cuda: module.cubin, which the build made of X.cu, launched as X.json says.

What an argument of the kernel is:

    input tensor    the parameter of forward() of that name, or else the reference's state of that name
    output tensor   the next output of the reference, in the order of the arguments
    inout tensor    an input of that name, changed in place; where the reference returns more than there are output tensors, it is an
                    output too, and works on a copy of the input
    scalar          its value; where it has none, the parameter of forward() of that name
"""

import ctypes
from collections.abc import Callable
from typing import Any

import torch

from harness.backends.context import Context
from harness.cuda_driver import Kernel
from harness.failures import Failed
from harness.kernel_spec import Arg, BadSpec, KernelSpec, read_spec
from harness.page import Failure
from harness.tensors import Spec

# More shared memory than this must be asked for.
SHARED_WITHOUT_ASKING = 48 << 10

Slot = ctypes.c_uint64  # of any parameter: none is larger, and smaller ones read its first bytes
Fill = Callable[[tuple[Any, ...], list[torch.Tensor]], int]  # (arguments, outputs) of a call -> a pointer


def load(context: Context) -> Callable[..., list[torch.Tensor]]:
    job = context.job
    if not job.on_gpu:
        raise Failed(Failure.UNSUPPORTED_HERE, "a CUDA kernel needs a GPU")
    try:
        spec = read_spec((job.source / job.entry).with_suffix(".json"))
    except BadSpec as error:
        raise Failed(Failure.LOAD_FAILED, str(error)) from error
    binding = Binding(context, spec)
    names = dict(line.split("\t") for line in (job.source / "kernels").read_text().splitlines())
    name = next(iter(names.values())) if spec.kernel_name is None else names[spec.kernel_name]
    kernel = Kernel((job.source / "module.cubin").read_bytes(), name, spec.shared_mem_bytes, SHARED_WITHOUT_ASKING)

    def call(*arguments: Any) -> list[torch.Tensor]:
        outputs = context.output_views()
        binding.fill(arguments, outputs)
        kernel.launch(spec.grid, spec.block, spec.shared_mem_bytes, binding.parameters)
        return outputs

    return call


class Binding:
    """The kernel's parameters: fixed ones filled once, pointers before every launch. Raises Failed for what does not fit the problem."""

    def __init__(self, context: Context, spec: KernelSpec) -> None:
        self._context = context
        self._fills: list[tuple[Slot, Fill]] = []
        self._inout_is_output = self._count_outputs(spec)
        self._outputs_bound = 0
        slots = [self._bind(arg) for arg in spec.args]
        self.parameters = (ctypes.c_void_p * len(slots))(*(ctypes.addressof(slot) for slot in slots))
        self._slots = slots  # what the parameters point at

    def fill(self, arguments: tuple[Any, ...], outputs: list[torch.Tensor]) -> None:
        for slot, fill in self._fills:
            slot.value = fill(arguments, outputs)

    def _count_outputs(self, spec: KernelSpec) -> bool:
        wanted = len(self._context.outputs)
        plain = sum(arg.role == "output" for arg in spec.args)
        changed = sum(arg.role == "inout" for arg in spec.args)
        if wanted not in (plain, plain + changed):
            raise bad(f"the kernel has {plain} output and {changed} inout tensors, the reference returns {wanted}")
        return wanted != plain

    def _bind(self, arg: Arg) -> Slot:
        if arg.type != "tensor":
            return scalar_slot(arg, self._value(arg))
        slot = Slot()
        if arg.role == "output":
            index = self._next_output(arg)
            self._fills.append((slot, lambda arguments, outputs: outputs[index].data_ptr()))
        else:
            self._bind_input(arg, slot)
        return slot

    def _bind_input(self, arg: Arg, slot: Slot) -> None:
        names = [argument.name for argument in self._context.arguments]
        if arg.name in names:
            position = names.index(arg.name)
            given = self._context.arguments[position].spec
            if given is None:
                raise bad(f"argument {arg.name} is a number of forward(), not a tensor")
            check(arg, given)
            if arg.role == "inout" and self._inout_is_output:
                index = self._next_output(arg)
                self._fills.append(
                    (slot, lambda arguments, outputs: outputs[index].copy_(arguments[position]).data_ptr())
                )
            else:
                self._fills.append((slot, lambda arguments, outputs: arguments[position].data_ptr()))
        elif arg.name in self._context.states and arg.role == "input":
            state = self._context.states[arg.name]
            check(arg, Spec(state.dtype, state.shape))
            slot.value = state.data_ptr()
        else:
            raise bad(
                f"argument {arg.name} is neither a parameter of forward() ({', '.join(names)}) nor a state of the reference "
                f"({', '.join(list(self._context.states)[:20]) or 'it has none'})"
            )

    def _next_output(self, arg: Arg) -> int:
        index = self._outputs_bound
        self._outputs_bound += 1
        check(arg, self._context.outputs[index])
        return index

    def _value(self, arg: Arg) -> Any:
        if arg.value is not None:
            return arg.value
        for argument in self._context.arguments:
            if argument.name == arg.name and argument.spec is None and argument.value is not None:
                return argument.value
        raise bad(f"argument {arg.name} has no value, and forward() has no number of that name")


def scalar_slot(arg: Arg, value: Any) -> Slot:
    """Integers fill the slot with their sign, so that 32 and 64 bits read right; a float is one of 32 bits unless it says float64."""
    slot = Slot()
    if arg.type == "int":
        ctypes.c_int64.from_buffer(slot).value = int(value)
    elif arg.type == "bool":
        slot.value = int(bool(value))
    elif arg.dtype == "float64":
        ctypes.c_double.from_buffer(slot).value = float(value)
    else:
        ctypes.c_float.from_buffer(slot).value = float(value)
    return slot


def check(arg: Arg, given: Spec) -> None:
    dtype = str(given.dtype).removeprefix("torch.")
    if arg.dtype not in ("", dtype) or (arg.shape is not None and arg.shape != tuple(given.shape)):
        said = f"{arg.dtype}{list(arg.shape) if arg.shape is not None else ''}"
        raise bad(f"argument {arg.name} is said to be {said}, the problem has {given}")


def bad(text: str) -> Failed:
    return Failed(Failure.LOAD_FAILED, text)
