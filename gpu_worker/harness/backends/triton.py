"""The backend triton: a Python file as for the backend torch, whose ModelNew launches @triton.jit kernels, or a bare
@triton.jit function, which is launched as X.json says.

Without a GPU triton's interpreter runs the kernels. TRITON_INTERPRET selects it before triton is imported
(zygote/main.py).
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from harness.backends import torch
from harness.backends.context import Call, Context
from harness.children import entry_point
from harness.children.argument_binding import Binding, contract_error
from harness.children.model_file import attribute, import_file
from harness.kernels.kernel_spec import Arg, KernelSpec
from harness.values.value_tree import Leaves


def load(context: Context) -> Call:
    job = context.job
    spec = entry_point.read_contract(job.given / job.entry)
    if spec is None or spec.args is None or spec.names.function or spec.names.class_:
        return torch.load(context)
    context.seed()
    kernel = kernel_of(import_file(job.source / job.entry), spec, job.entry)
    return launcher(kernel, spec, Binding(spec.args, context.signature))


def launcher(kernel: Any, spec: KernelSpec, binding: Binding) -> Call:
    names = parameters(kernel.arg_names, spec.args or ())
    options = launch_options(spec)

    def call(*inputs: Any) -> Any:
        values, outputs = binding.values(inputs)
        kernel[spec.grid](**dict(zip(names, values)), **options)
        return Leaves(outputs)

    return call


def launch_options(spec: KernelSpec) -> dict[str, int]:
    options = {"num_warps": spec.num_warps, "num_stages": spec.num_stages}
    return {name: value for name, value in options.items() if value is not None}


def kernel_of(module: ModuleType, spec: KernelSpec, entry: str) -> Any:
    """Returns the kernel that the contract names, or the first kernel of the file that no other kernel of the file
    calls.
    """
    if spec.kernel_name is not None:
        kernel = attribute(module, spec.kernel_name, entry)
        if not is_kernel(kernel):
            raise contract_error(f"{entry}: {spec.kernel_name} is no @triton.jit function")
        return kernel
    kernels = {
        name: value
        for name, value in vars(module).items()
        if is_kernel(value) and function_of(value).__module__ == module.__name__
    }
    called = {name for kernel in kernels.values() for name in function_of(kernel).__code__.co_names}
    top = [kernel for name, kernel in kernels.items() if name not in called]
    if not top:
        raise contract_error(f"{entry}: has no @triton.jit function")
    return top[0]


def is_kernel(value: Any) -> bool:
    """Returns whether the value was made by @triton.jit, @triton.autotune or @triton.heuristics, compiled or
    interpreted.
    """
    from triton.runtime.jit import KernelInterface

    return isinstance(value, KernelInterface)


def function_of(kernel: Any) -> Any:
    while is_kernel(kernel):
        kernel = kernel.fn
    return kernel


def parameters(wanted: Sequence[str], args: Sequence[Arg]) -> list[str]:
    """Returns the parameter that each argument is for. A meta argument belongs to the parameter of its name. The other
    arguments do too, if all of them are names of parameters; otherwise they fill the remaining parameters in order.
    """
    for arg in args:
        if arg.is_meta and arg.name not in wanted:
            raise contract_error(
                f"meta argument {arg.name} is no parameter of the kernel, which has {', '.join(wanted)}"
            )
    if all(arg.name in wanted for arg in args):
        return [arg.name for arg in args]
    metas = {arg.name for arg in args if arg.is_meta}
    left = [name for name in wanted if name not in metas]
    if len(args) - len(metas) > len(left):
        raise contract_error(f"{len(args)} arguments are given, the kernel has {len(wanted)}: {', '.join(wanted)}")
    rest = iter(left)
    return [arg.name if arg.is_meta else next(rest) for arg in args]
