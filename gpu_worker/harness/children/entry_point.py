"""What of a submission's module is called: class ModelNew, or what X.json beside it names.

    function_name           that function, with the arguments of forward()
    class_name              constructed as ModelNew is, and called; or its method_name

With "args" in X.json the function, or the method, gets those instead, in their order. Where it returns nothing, what it wrote is the output.
"""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.children.argument_binding import Binding, ProblemSignature
from harness.children.failures import Failed
from harness.children.model_file import attribute
from harness.children.page import Failure
from harness.kernels.kernel_spec import BadSpec, KernelSpec, read_names, spec_path

ENTRY = "ModelNew"


def read_contract(entry: Path) -> KernelSpec | None:
    """X.json of X.py, where there is one. Raises Failed."""
    try:
        return read_names(spec_path(entry))
    except BadSpec as error:
        raise Failed(Failure.LOAD_FAILED, str(error)) from error


def find_target(module: ModuleType, spec: KernelSpec | None, entry: str, backend: str) -> tuple[Any, bool]:
    """The function or class, and whether it is to be constructed."""
    if backend == "multi_kernel":
        name = spec.names.entry_point if spec is not None else None
        if name is None:
            raise Failed(
                Failure.LOAD_FAILED,
                f"{entry}: backend multi_kernel needs an entry_point in {Path(entry).stem}.json: the function that is called",
            )
        return attribute(module, name, entry), False
    if spec is not None and spec.names.function is not None:
        return attribute(module, spec.names.function, entry), False
    return attribute(module, (spec.names.class_ if spec is not None else None) or ENTRY, entry), True


def method_of(model: Any, spec: KernelSpec | None) -> Callable[..., Any]:
    name = spec.names.method if spec is not None else None
    method: Callable[..., Any] = model
    if name is None or name == "forward":
        return method
    if not hasattr(model, name):
        raise AttributeError(f"class {type(model).__name__} has no method {name}")
    method = getattr(model, name)
    return method


def with_arguments(
    function: Callable[..., Any], spec: KernelSpec | None, signature: ProblemSignature
) -> Callable[..., Any]:
    """To be called with forward()'s arguments, whatever the function takes."""
    if spec is None or spec.args is None:
        return function
    binding = Binding(spec.args, signature)

    def call(*inputs: Any) -> Any:
        values, outputs = binding.values(inputs)
        result = function(*values)
        return outputs if result is None and outputs else result

    return call
