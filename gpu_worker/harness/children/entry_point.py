"""Which function or class of a submission's module is called: class ModelNew, class Model of a file without ModelNew,
or what the contract X.json beside X.py names.

    function_name           the function, called with the arguments of forward()
    class_name              the class, constructed as ModelNew is, and called, or its method_name called

    takes_named             whether the last argument of forward() is a dict, whose members are passed by name

With "args" in X.json the function or method is called with those arguments, in their order, but without the outputs if
it takes fewer. If it returns nothing, the tensors that it wrote are the outputs. This module runs in submission and
tracing children.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.children.argument_binding import Binding, ProblemSignature
from harness.children.failures import Failed
from harness.children.model_file import attribute
from harness.children.page import Failure
from harness.kernels.kernel_spec import BadSpec, KernelSpec, read_names, spec_path
from harness.values.value_tree import Leaves

ENTRY = "ModelNew"
OTHER_ENTRY = "Model"


def read_contract(entry: Path) -> KernelSpec | None:
    """Returns the contract X.json of X.py, or None without one. Raises Failed."""
    try:
        return read_names(spec_path(entry))
    except BadSpec as error:
        raise Failed(Failure.LOAD_FAILED, str(error)) from error


def find_target(module: ModuleType, spec: KernelSpec | None, entry: str, backend: str) -> tuple[Any, bool]:
    """Returns the function or class, and whether it is a class to construct."""
    if backend == "multi_kernel":
        name = spec.names.entry_point if spec is not None else None
        if name is None:
            raise Failed(
                Failure.LOAD_FAILED,
                f"{entry}: backend multi_kernel needs an entry_point in {Path(entry).stem}.json: "
                "the function that is called",
            )
        return attribute(module, name, entry), False
    if spec is not None and spec.names.function is not None:
        return attribute(module, spec.names.function, entry), False
    name = spec.names.class_ if spec is not None else None
    if name is None and not hasattr(module, ENTRY) and hasattr(module, OTHER_ENTRY):
        name = OTHER_ENTRY
    return attribute(module, name or ENTRY, entry), True


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
    """Returns a function of forward()'s arguments that calls `function` with the arguments of the contract."""
    if spec is not None and spec.takes_named:
        return lambda *inputs: function(*inputs[:-1], **inputs[-1])
    if spec is None or spec.args is None:
        return function
    binding = Binding(spec.args, signature)
    takes_outputs = takes_all(function, len(spec.args))
    is_passed = [takes_outputs or arg.role != "output" for arg in spec.args]

    def call(*inputs: Any) -> Any:
        values, outputs = binding.values(inputs)
        if not takes_outputs:
            values, outputs = [value for value, passed in zip(values, is_passed) if passed], []
        result = function(*values)
        return Leaves(outputs) if result is None and outputs else result

    return call


def takes_all(function: Callable[..., Any], count: int) -> bool:
    """Returns whether a function takes that many positional arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    is_any = any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters)
    return is_any or sum(parameter.kind in places for parameter in parameters) >= count
